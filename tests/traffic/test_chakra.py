"""Chakra's traces: what is read, and what is refused."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.config import Config
from simulator.driver import Simulation
from tests.traffic.encoded import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    COMP,
    METADATA,
    REDUCE_SCATTER,
    SEND,
    content,
    delimited,
    node,
    recv,
    send,
    together,
    trace,
    whole,
)
from tests.traffic.graphs import doing, edges, rows, same
from topos.fattree import FatTree
from topos.network import NonBlocking
from traffic import textfile
from traffic.chakra import read_chakra, traces_of
from traffic.collectives import collective
from traffic.workload import read_files


def lay(folder, *files):
    for rank, data in enumerate(files):
        (folder / f"t.{rank}.et").write_bytes(data)
    return str(folder / "t")


@pytest.fixture
def read(tmp_path):
    """What the graph of traces with these nodes does, by rank."""
    return lambda *ranks: doing(read_chakra(lay(tmp_path, *(trace(*nodes) for nodes in ranks)), "chakra:it"))


def test_a_send_and_its_receive_are_one_flow_and_what_depends_on_either_waits_for_it(read):
    found = read(
        [send(0, 1, 10, tag=7), send(1, 1, 20, tag=8, data=[0]), recv(2, 1, 5)],
        [recv(0, 0, 20, tag=8), recv(5, 0, 10, tag=7), send(6, 0, 5, data=[5]), node(7, COMP, micros=3, ctrl=[0])],
        [],
    )  # fmt: skip
    assert found.num_hosts == 3
    assert rows(found) == [(0, 1, 10, 0), (0, 1, 20, 0), (1, 0, 5, 0), (1, 1, 0, 3e-6)]
    assert edges(found) == [(1, 0), (2, 0), (3, 1)]


def test_a_receive_that_depends_on_something_delays_what_depends_on_it(read):
    found = read([send(0, 1)], [node(1, COMP, micros=7), recv(2, 0, data=[1]), node(3, COMP, micros=1, data=[2])])
    assert rows(found) == [(0, 1, 10, 0), (1, 1, 0, 7e-6), (1, 1, 0, 1e-6)]
    assert edges(found) == [(2, 0), (2, 1)]


def test_nodes_may_come_before_those_that_they_depend_on_and_say_so_twice(read):
    found = read([node(9, COMP, micros=2, data=[4, 4], ctrl=[4]), node(4, COMP, micros=1)])
    assert edges(found) == [(0, 1)]


def test_memory_and_metadata_take_no_time_and_what_waits_waits_through_them(read):
    for kind in range(4):
        found = read([node(0, COMP, micros=1), node(1, kind, micros=9, data=[0]), node(2, COMP, micros=2, ctrl=[1])])
        assert [row[3] for row in rows(found)] == [1e-6, 2e-6]
        assert edges(found) == [(1, 0)]


def test_no_bytes_are_one_byte_and_to_oneself_is_nothing_to_send(read):
    assert rows(read([send(0, 1, 0), recv(1, 0, 3), send(2, 0, 3)], [recv(0, 0, 0)])) == [(0, 1, 1, 0)]


COMPUTING = st.lists(
    st.tuples(st.integers(1, 10**9), st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40))), min_size=1
)


@given(COMPUTING, st.lists(st.integers(0, (1 << 64) - 1), min_size=100, max_size=100, unique=True))
def test_what_is_encoded_is_read_back(tmp_path_factory, some, ids):
    nodes, waits = [], set()
    for place, (micros, data, ctrl) in enumerate(some[:100]):
        data, ctrl = ({n for n in deps if n < place} for deps in (data, ctrl))
        nodes.append(node(ids[place], COMP, micros=micros, data=[ids[n] for n in data], ctrl=[ids[n] for n in ctrl]))
        waits |= {(place, n) for n in data | ctrl}
    found = doing(read_chakra(lay(tmp_path_factory.mktemp("many"), trace(*nodes))))
    assert rows(found) == [(0, 0, 0, micros * 1000 / 1e9) for micros, _, _ in some[:100]]
    assert edges(found) == sorted(waits)


@given(st.integers(2, 9), st.integers(1, 10**12))
def test_an_all_reduce_is_our_ring_and_all_to_all_ours(tmp_path_factory, ranks, size):
    for what, ours in ((ALL_REDUCE, "ring"), (ALL_TO_ALL, "all-to-all")):
        prefix = lay(tmp_path_factory.mktemp("all"), *([trace(together(3, what, size))] * ranks))
        assert same(doing(read_chakra(prefix)), collective(f"{ours}:{ranks},{size}", NonBlocking(ranks), 1))


def test_reducing_and_scattering_is_half_a_ring_and_gathering_one_of_all_that_ranks_put_in(read):
    for what, size in ((REDUCE_SCATTER, 251), (ALL_GATHER, 1001)):
        found = read(*[[together(0, what, 1001)]] * 4)
        assert len(found) == 12
        assert found.level.max() == 2
        assert set(rows(found)) == {(n, (n + 1) % 4, size, 0) for n in range(4)}


def test_collectives_of_a_rank_wait_for_their_turn_and_not_for_other_ranks(read):
    """Rank 0 computes, all reduces, and computes; rank 1 gathers when it has its part of that."""
    found = read(
        [node(0, COMP, micros=5), together(1, ALL_REDUCE, data=[0]), node(2, COMP, micros=6, data=[1])],
        [together(0, ALL_REDUCE)],
    )
    computing = np.flatnonzero(found.computes).tolist()
    assert found.delay_s[computing].tolist() == [5e-6, 6e-6]
    first = [n for n, row in enumerate(rows(found)) if row[:3] == (0, 1, 500)]
    second = [n for n, row in enumerate(rows(found)) if row[:3] == (1, 0, 500)]
    assert edges(found) == sorted(
        [(first[0], 0), (computing[1], first[1]), (computing[1], second[1])]
        + [(late, early) for late in (first[1], second[1]) for early in (first[0], second[0])]
    )


def test_groups_go_by_their_names_and_one_rank_alone_has_nothing_to_send(read):
    one, other = {"pg_name": "7"}, {"pg_name": "row"}
    found = read(
        [together(0, ALL_TO_ALL, 20, **one), together(1, ALL_TO_ALL, 40, pg_name="0")],
        [together(0, ALL_TO_ALL, 40), together(1, ALL_TO_ALL, 6, **other)],
        [together(0, ALL_TO_ALL, 20, **one), together(1, ALL_TO_ALL, 40)],
        [together(0, ALL_TO_ALL, 40, pg_name="0")],
    )
    assert set(rows(found)) == {(0, 2, 10, 0), (2, 0, 10, 0)} | {
        (a, b, 10, 0) for a in range(4) for b in range(4) if a != b
    }
    assert len(found) == 14


def dims(*flags):
    return content(10, content(1, b"involved_dim") + content(28, content(1, bytes(flags))))


@pytest.mark.parametrize(
    ("ranks", "says"),
    [
        ([[send(3, 1)], []], "t.0.et node 3: rank 0 sends to rank 1 with tag 0, which never receives that"),
        ([[recv(3, 1)], []], "t.0.et node 3: rank 0 waits for rank 1 with tag 0, which never sends: that would hang"),
        ([[send(0, 2)], []], "t.0.et node 0: its comm_dst is none of the ranks 0 to 1"),
        ([[node(0, SEND, comm_dst=1)], []], "node 0 has no comm_size that can be true"),
        ([[together(0, BROADCAST)]] * 2, "t.0.et node 0: comm_type 5 is not simulated, but ALL_REDUCE, ALL_GATHER"),
        ([[together(0, ALL_REDUCE) + dims(1, 0)]] * 2, "over some dimensions of a network .* is not simulated"),
        ([[together(0, ALL_REDUCE)], []], "t.0.et would hang in collective 1 of all ranks: nothing in the first"),
        ([[together(n, ALL_REDUCE, pg_name="5") for n in (0, 1)], [together(0, ALL_REDUCE, pg_name="5")]],
         "would hang in collective 2 of group '5'"),
        ([[together(0, ALL_REDUCE)], [together(4, ALL_GATHER)]],
         "all ranks: ALL_GATHER of 1000 bytes in the first, and ALL_REDUCE of 1000 bytes in the second"),
        ([[node(0, 8)]], "t.0.et node 0: there is no type 8 of nodes"),
        ([[node(7, COMP), node(7, COMP)]], "t.0.et node 7: there is another node of this id"),
        ([[node(7, COMP, data=[8])]], "t.0.et node 7 depends on node 8, which is not there"),
        ([[node(0, COMP, micros=1, data=[0])]], "in a circle"),
        # Each waits for the other's message before it sends its own; and two collectives, each after the other.
        ([[recv(0, 1), send(1, 1, data=[0])], [recv(0, 0), send(1, 0, data=[0])]], "in a circle"),
        ([[together(0, ALL_REDUCE), together(1, ALL_GATHER, data=[0])],
          [together(0, ALL_REDUCE, data=[1]), together(1, ALL_GATHER)]], "in a circle"),
        ([[node(0, COMP, micros=10**12 + 1)]], "has a delay that makes no sense"),
        ([[]], "chakra:it has no node in any rank"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_sentence(read, ranks, says):
    with pytest.raises(ValueError, match=says) as told:
        read(*ranks)
    assert "\n" not in str(told.value)


def test_a_collective_over_all_dimensions_is_one(read):
    for flags in ((1, 1), ()):
        assert len(read(*[[together(0, ALL_REDUCE) + dims(*flags)]] * 2)) == 4


@pytest.mark.parametrize(
    "data",
    [b"", b"\x7fELF" * 40, trace(whole(1, 0))[:-1], delimited(whole(1, 5)), delimited(METADATA) + b"\xff" * 11,
     delimited(METADATA) + b"\x80", trace(content(4, b"\xff"))],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_one_sentence(tmp_path, data):
    with pytest.raises(ValueError, match=r"t\.0\.et is no Chakra trace: ") as told:
        read_chakra(lay(tmp_path, data))
    assert "\n" not in str(told.value)


GOOD = trace(
    node(0, COMP, micros=5), send(1, 1, data=[0]), recv(2, 1, ctrl=[1]), together(3, ALL_REDUCE, data=[2], pg_name="0")
) + delimited(node(4, 1) + dims(1))

OTHER = trace(recv(1, 0), send(2, 0), together(3, ALL_REDUCE))


@pytest.mark.parametrize(
    ("limit", "most", "says"),
    [
        ("traffic.chakra.MAX_NODES", 5, "t.1.et and those of lower ranks have more than 5 nodes, or"),
        ("traffic.chakra.MAX_WAITS", 3, "t.1.et and those of lower ranks have more than .* nodes, or 3 dependencies"),
        ("traffic.chakra.MAX_FILE_BYTES", 250, "t.1.et and those of lower ranks have more than"),
        ("traffic.chakra.MAX_FILE_BYTES", 50, "t.0.et is larger than"),
        ("traffic.chakra.MAX_NODE_BYTES", 9, "t.0.et is no Chakra trace: a node of more than 9 bytes"),
        ("traffic.graph.MAX_NODES", 9, "would be .* flows with .* waits, some .* GB in memory"),
    ],
)  # fmt: skip
def test_what_is_too_large_is_refused(read, monkeypatch, limit, most, says):
    ranks = [[together(n, ALL_REDUCE, data=[n - 1] * (n > 0)) for n in range(3)]] * 2
    assert len(read(*ranks)) == 12
    monkeypatch.setattr(limit, most)
    with pytest.raises(ValueError, match=says):
        read(*ranks)


def test_a_rank_that_is_missing_is_told_and_no_trace_is_none(tmp_path):
    prefix = lay(tmp_path, *[trace(together(0, ALL_REDUCE))] * 4)
    for other in ("t.01.et", "t.x.et", "t.1.et.bak", "tt.7.et"):
        (tmp_path / other).touch()
    assert [path.name for path in traces_of(prefix)] == [f"t.{rank}.et" for rank in range(4)]
    (tmp_path / "t.2.et").unlink()
    with pytest.raises(ValueError, match=r"there is .*t\.3\.et, and no trace of rank 2"):
        read_chakra(prefix)
    with pytest.raises(ValueError, match=r"other\.0\.et is not there"):
        read_chakra(str(tmp_path / "other"))
    with pytest.raises(ValueError, match=r"x\.0\.et is not there"):
        read_chakra(str(tmp_path / "none" / "x"))
    os.mkfifo(tmp_path / "pipe.0.et")
    with pytest.raises(ValueError, match="is not a regular file"):
        read_chakra(str(tmp_path / "pipe"))


def test_traces_that_came_with_a_job_are_read_and_none_on_the_disk(tmp_path, monkeypatch):
    mine = lay(tmp_path, *[trace(together(0, ALL_REDUCE))] * 3)
    came = trace(together(0, ALL_GATHER)).decode("latin-1")
    for rank in range(2):
        monkeypatch.setitem(textfile.given, f"{mine}.{rank}.et", came)
    assert len(doing(read_chakra(mine))) == 2


def test_it_is_traffic_like_any_other(tmp_path):
    prefix = lay(tmp_path, *[trace(together(0, ALL_REDUCE, 1600))] * 16)
    taken = read_files(f"chakra:{prefix} + stride:4", FatTree(4), 1)
    assert list(taken) == [f"{prefix}.{rank}.et" for rank in range(16)]
    one, other = (
        collective(spec, FatTree(4), 3, placement="random", repeats=2) for spec in (f"chakra:{prefix}", "ring:16,1600")
    )
    assert same(doing(one), doing(other))
    lay(tmp_path, *[trace(together(0, ALL_REDUCE))] * 17)
    with pytest.raises(ValueError, match="has 17 ranks, and the network 16 hosts"):
        collective(f"chakra:{prefix}", FatTree(4), 3)


@pytest.mark.parametrize("engine", ["maxmin", "aimd"])
def test_what_depends_on_the_network_and_on_computing_runs_to_its_end(tmp_path, engine):
    prefix = lay(tmp_path, GOOD, OTHER)
    found = Simulation(Config("hedera-gff", f"chakra:{prefix}", seconds=0.1, engine=engine)).run()
    assert found.collective().ended == found.collective().flows == 6
    assert found.collective().completion_s is not None
