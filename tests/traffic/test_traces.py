"""Files of other simulators: what is read, and what is refused."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.config import Config
from simulator.driver import simulate
from tests.refused import refused
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
from traffic import user_files
from traffic.collectives import make_collective
from traffic.traces import find_traces, read_chakra, read_goal, read_htsim
from traffic.workload import make_workload, read_files

TWO = "num_ranks 2\nrank 0 {\n%s\n}\nrank 1 {\n%s\n}\n"


@pytest.fixture
def goal(tmp_path):
    """The graph of a text, or of what two ranks do."""

    def read_text(first, second=""):
        (tmp_path / "it").write_text(first if first.startswith("num_ranks") else TWO % (first, second))
        return read_goal(tmp_path / "it")

    return read_text


def test_in_goal_a_send_and_its_receive_are_one_flow_and_what_requires_either_waits_for_it(goal):
    found = goal(
        "l1: send 10b to 1 tag 7\n// a comment\nl2: send 20b to 1 tag 8 cpu 1 nic 2\nl2 requires l1\nrecv 5b from 1",
        "/* two\nlines */\na: recv 10b from 0 tag 7\nb: send 5b to 0 tag 0\nb requires a\nrecv 20b from 0 tag 8",
    )  # fmt: skip
    assert rows(found) == [(0, 1, 10, 0.0), (0, 1, 20, 0.0), (1, 0, 5, 0.0)]
    assert edges(found) == [(1, 0), (2, 0)]


def test_computing_before_one_flow_alone_is_its_delay_and_else_a_node(goal):
    one = goal("c: calc 1500\nl: send 1b to 1\nl requires c", "recv 1b from 0")
    assert rows(one) == [(0, 1, 1, 1.5e-6)]
    two = goal(
        "c: calc 1500\nl: send 1b to 1\nl requires c\nm: send 1b to 1\nm requires c", "recv 1b from 0\nrecv 1b from 0"
    )
    assert rows(two) == [(0, 0, 0, 1.5e-6), (0, 1, 1, 0.0), (0, 1, 1, 0.0)]
    assert edges(two) == [(1, 0), (2, 0)]


def test_what_irequires_another_starts_when_that_may(goal):
    # b may start after a; c when b may, and not when b has ended.
    found = goal(
        "a: calc 1000\nb: calc 9000\nc: calc 5\nd: calc 5\nb requires a\nc irequires b\nd requires c\nd requires b"
    )
    starts, follows = {}, edges(found)
    for number in np.argsort(found.level, kind="stable").tolist():
        waited = [before for waiting, before in follows if waiting == number]
        starts[number] = max((starts[one] + found.delay_s[one] for one in waited), default=0.0)
    delay = found.delay_s.tolist()
    c = delay.index(5e-9)
    assert starts[c] == pytest.approx(1e-6)
    assert starts[len(delay) - 1] == pytest.approx(1e-5)


def test_a_receive_that_requires_something_delays_what_requires_it(goal):
    found = goal("send 3b to 1", "c: calc 7\nr: recv 3b from 0\nr requires c\ns: calc 1\ns requires r")
    assert rows(found) == [(0, 1, 3, 0.0), (1, 1, 0, 7e-9), (1, 1, 0, 0.0), (1, 1, 0, 1e-9)]
    assert edges(found) == [(2, 0), (2, 1), (3, 2)]


def test_no_bytes_are_one_byte_and_to_oneself_is_computing(goal):
    found = goal("send 0b to 1\nsend 5b to 0\nrecv 5b from 0", "recv 0b from 0")
    assert rows(found) == [(0, 1, 1, 0.0), (0, 0, 0, 0.0)]
    assert goal("calc 999999999999999").delay_s.tolist() == [999999.999999999]


def test_ends_are_marked_by_sends_to_nobody_and_a_line_s_comment_opens_no_other(goal):
    with pytest.warns(UserWarning, match="1 sends of 0 bytes"):
        found = goal("a: send 7b to 1 // not /* so\nm: send 0b to 9999999 tag 4\nm requires a", "recv 7b from 0 /* */")
    assert rows(found) == [(0, 1, 7, 0.0), (0, 0, 0, 0.0)]


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("send 1b to 1", "", "line 3: rank 0 sends to rank 1 with tag 0, which never receives"),
        ("recv 1b from 1", "", "line 3: rank 0 waits for rank 1 with tag 0, which never sends: that would hang"),
        ("send 1b to 1", "recv 2b from 0", "for 2 bytes, and 1 are sent"),
        ("send 1b to 2", "", "there is no rank 2, only 0 to 1"),
        ("send 1b from 1", "", "one sends to a rank"),
        ("recv 1b from -1", "", "any rank or with any tag are not simulated"),
        ("a: calc 1\na: calc 2", "", "line 4: the label 'a' is there already"),
        ("b requires a\na: calc 1", "", "no label 'b' before it"),
        ("calc 1" + "0" * 15, "", "is neither send"),
        ("", "", "has no operation"),
        ("a: calc 1\nb: calc 1\na requires b\nb requires a", "", "in a circle"),
        # Each waits for the other's message before it sends its own.
        ("r: recv 1b from 1\ns: send 1b to 1\ns requires r", "r: recv 1b from 0\ns: send 1b to 0\ns requires r",
         "in a circle"),
        ("calc 1\n}\nrank 0 {", "", "rank 0 is there already"),
        ("calc 1\n}\ncalc 2", "", "'calc 2' is in no rank"),
        ("num_ranks", "", "is no GOAL text"),
        ("num_ranks 999999999", "", "1,000,000 ranks"),
        ("num_ranks 1\nrank 0 {\ncalc 1", "", "ends within rank 0"),
    ],
)  # fmt: skip
def test_goal_that_makes_no_sense_is_refused(goal, first, second, says):
    with refused(says):
        goal(first, second)


def test_goal_text_is_traffic_like_any_other(tmp_path):
    path = tmp_path / "mine.goal"
    path.write_text(TWO % ("send 1b to 1", "recv 1b from 0"))
    assert read_files(f"goal:{path} + stride:4", FatTree(4), 1) == {str(path): path.read_text()}
    found = make_collective(f"goal:{path}", FatTree(4), 3, repeats=2)
    assert found.num_hosts == 16
    path.write_text("num_ranks 17\nrank 0 {\ncalc 1\n}\n")
    with pytest.raises(ValueError, match="has 17 ranks, and the network 16 hosts"):
        make_collective(f"goal:{path}", FatTree(4), 3)


FLOWS = """Nodes 16
Connections 4
Triggers 0
# a comment
0->5 id 1 start 0 size 2000000
0->5 id 1 msg 4 start 2500000 size 1000
5->9 id 3 start 3e6 size 1000000 prio 4
0->5  start 0 size 70\r
"""


@pytest.fixture
def htsim(tmp_path):
    path = tmp_path / "it.cm"
    return lambda text: (path.write_text(text), read_htsim(path, "htsim:it"))[1]


def test_starts_are_picoseconds_and_an_id_is_a_connection(htsim):
    found = htsim(FLOWS)
    assert rows(found) == [(0, 5, 2_000_000, 0.0), (0, 5, 1000, 2.5e-6), (5, 9, 1_000_000, 3e-6), (0, 5, 70, 0.0)]
    assert edges(found) == []
    assert found.lane.tolist() == [0, 0, 0, 1], "one connection of each id"
    assert found.num_hosts == 16


def test_flows_of_htsim_are_connections_of_their_own(tmp_path):
    path = tmp_path / "it.cm"
    path.write_text("Nodes 4\nConnections 3\n0->3 start 0 size 1000000\n0->3 start 0 size 1000000\n"
                    "1->3 id 9 start 4e9 size 2000000\n")  # fmt: skip
    assert read_files(f"htsim:{path}", FatTree(4), 1) == {str(path): path.read_text()}
    work = make_workload(f"htsim:{path}", 16, seconds=1.0, subflows=2, repeats=2)
    sends = ~work.graph.computes
    ports = set(zip(work.graph.src[sends], work.standing.src_port[sends], strict=True))
    assert len(ports) == 6, "and stay so, in sub-flows and over again"
    for scheme in ("nonblocking", "spray"):
        found = simulate(Config(scheme, f"htsim:{path}", seconds=1.0, engine="maxmin"))
        # 125 bytes a microsecond: 4 ms of the first two alone, then all three share host 3's link.
        assert found.end_s.tolist() == pytest.approx([0.022, 0.022, 0.032], abs=1e-3), scheme
        assert found.collective().least_s == pytest.approx(0.032)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Connections 4", "Connections 5", "says Connections 5, and has 4"),
        ("Nodes 16\n", "", "line 4: a flow from 0 to 5: there are 0 nodes"),
        ("5->9", "5->16", "line 7: a flow from 5 to 16: there are 16 nodes"),
        ("size 70", "size 0", "line 8: a flow has a start, and a size above 0"),
        ("start 2500000", "start nan", "line 6: .* is neither"),
        ("Triggers 0", "Triggers 1", "line 3: triggers and failures are not read"),
        (FLOWS, "Nodes 2\nConnections 0\n", "says Connections 0, and has 0"),
    ],
)
def test_a_connection_matrix_that_makes_no_sense_is_refused(htsim, old, new, says):
    with refused(says):
        htsim(FLOWS.replace(old, new, 1))


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


@pytest.mark.slow
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


@pytest.mark.slow
@given(st.integers(2, 9), st.integers(1, 10**12))
def test_an_all_reduce_is_our_ring_and_all_to_all_ours(tmp_path_factory, ranks, size):
    for what, ours in ((ALL_REDUCE, "ring"), (ALL_TO_ALL, "all-to-all")):
        prefix = lay(tmp_path_factory.mktemp("all"), *([trace(together(3, what, size))] * ranks))
        assert same(doing(read_chakra(prefix)), make_collective(f"{ours}:{ranks},{size}", NonBlocking(ranks), 1))


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
def test_traces_that_make_no_sense_are_refused(read, ranks, says):
    with refused(says):
        read(*ranks)


def test_a_collective_over_all_dimensions_is_one(read):
    for flags in ((1, 1), ()):
        assert len(read(*[[together(0, ALL_REDUCE) + dims(*flags)]] * 2)) == 4


@pytest.mark.parametrize(
    "data",
    [b"", b"\x7fELF" * 40, trace(whole(1, 0))[:-1], delimited(whole(1, 5)), delimited(METADATA) + b"\xff" * 11,
     delimited(METADATA) + b"\x80", trace(content(4, b"\xff"))],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_one_sentence(tmp_path, data):
    with refused(r"t\.0\.et is no Chakra trace: "):
        read_chakra(lay(tmp_path, data))


@pytest.mark.parametrize(
    ("limit", "most", "says"),
    [
        ("traffic.traces.MAX_TRACE_NODES", 5, "t.1.et and those of lower ranks have more than 5 nodes, or"),
        ("traffic.traces.MAX_WAITS", 3, "t.1.et and those of lower ranks have more than .* nodes, or 3 dependencies"),
        ("traffic.traces.MAX_FILE_BYTES", 250, "t.1.et and those of lower ranks have more than"),
        ("traffic.traces.MAX_FILE_BYTES", 50, "t.0.et is larger than"),
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
    assert [path.name for path in find_traces(prefix)] == [f"t.{rank}.et" for rank in range(4)]
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
        monkeypatch.setitem(user_files.job_files, f"{mine}.{rank}.et", came)
    assert len(doing(read_chakra(mine))) == 2


def test_traces_are_traffic_like_any_other(tmp_path):
    prefix = lay(tmp_path, *[trace(together(0, ALL_REDUCE, 1600))] * 16)
    taken = read_files(f"chakra:{prefix} + stride:4", FatTree(4), 1)
    assert list(taken) == [f"{prefix}.{rank}.et" for rank in range(16)]
    one, other = (
        make_collective(spec, FatTree(4), 3, placement="random", repeats=2)
        for spec in (f"chakra:{prefix}", "ring:16,1600")
    )
    assert same(doing(one), doing(other))
    lay(tmp_path, *[trace(together(0, ALL_REDUCE))] * 17)
    with pytest.raises(ValueError, match="has 17 ranks, and the network 16 hosts"):
        make_collective(f"chakra:{prefix}", FatTree(4), 3)
