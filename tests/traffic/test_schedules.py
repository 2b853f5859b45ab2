"""GOAL text and connection matrices of htsim: what is read, and what is refused."""

import numpy as np
import pytest

from simulator.config import Config
from simulator.driver import simulate
from tests.traffic.graphs import edges, rows
from topos.fattree import FatTree
from traffic.collectives import collective
from traffic.schedules import goal_in, read_htsim
from traffic.workload import read_files, workload

TWO = "num_ranks 2\nrank 0 {\n%s\n}\nrank 1 {\n%s\n}\n"


def goal(first, second=""):
    return goal_in(TWO % (first, second), "it", "goal:it")


def test_a_send_and_its_receive_are_one_flow_and_what_requires_either_waits_for_it():
    found = goal(
        "l1: send 10b to 1 tag 7\n// a comment\nl2: send 20b to 1 tag 8 cpu 1 nic 2\nl2 requires l1\nrecv 5b from 1",
        "/* two\nlines */\na: recv 10b from 0 tag 7\nb: send 5b to 0 tag 0\nb requires a\nrecv 20b from 0 tag 8",
    )  # fmt: skip
    assert rows(found) == [(0, 1, 10, 0.0), (0, 1, 20, 0.0), (1, 0, 5, 0.0)]
    assert edges(found) == [(1, 0), (2, 0)]


def test_computing_before_one_flow_alone_is_its_delay_and_else_a_node():
    one = goal("c: calc 1500\nl: send 1b to 1\nl requires c", "recv 1b from 0")
    assert rows(one) == [(0, 1, 1, 1.5e-6)]
    two = goal(
        "c: calc 1500\nl: send 1b to 1\nl requires c\nm: send 1b to 1\nm requires c", "recv 1b from 0\nrecv 1b from 0"
    )
    assert rows(two) == [(0, 0, 0, 1.5e-6), (0, 1, 1, 0.0), (0, 1, 1, 0.0)]
    assert edges(two) == [(1, 0), (2, 0)]


def test_what_irequires_another_starts_when_that_may():
    # b may start after a; c when b may, and not when b has ended.
    found = goal(
        "a: calc 1000\nb: calc 9000\nc: calc 5\nd: calc 5\nb requires a\nc irequires b\nd requires c\nd requires b"
    )
    starts, follows = {}, edges(found)
    for node in np.argsort(found.level, kind="stable").tolist():
        waited = [before for waiting, before in follows if waiting == node]
        starts[node] = max((starts[one] + found.delay_s[one] for one in waited), default=0.0)
    delay = found.delay_s.tolist()
    c = delay.index(5e-9)
    assert starts[c] == pytest.approx(1e-6)
    assert starts[len(delay) - 1] == pytest.approx(1e-5)


def test_a_receive_that_requires_something_delays_what_requires_it():
    found = goal("send 3b to 1", "c: calc 7\nr: recv 3b from 0\nr requires c\ns: calc 1\ns requires r")
    assert rows(found) == [(0, 1, 3, 0.0), (1, 1, 0, 7e-9), (1, 1, 0, 0.0), (1, 1, 0, 1e-9)]
    assert edges(found) == [(2, 0), (2, 1), (3, 2)]


def test_no_bytes_are_one_byte_and_to_oneself_is_computing():
    found = goal("send 0b to 1\nsend 5b to 0\nrecv 5b from 0", "recv 0b from 0")
    assert rows(found) == [(0, 1, 1, 0.0), (0, 0, 0, 0.0)]
    assert goal("calc 999999999999999").delay_s.tolist() == [999999.999999999]


def test_ends_are_marked_by_sends_to_nobody_and_a_line_s_comment_opens_no_other():
    with pytest.warns(UserWarning, match="it: 1 sends of 0 bytes"):
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
    ],
)  # fmt: skip
def test_goal_that_makes_no_sense_is_refused(first, second, says):
    with pytest.raises(ValueError, match=says) as told:
        goal(first, second)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is no GOAL text"),
        ("num_ranks 999999999", "from 1 to 1,000,000 ranks"),
        ("num_ranks 1\nrank 0 {\ncalc 1", "ends within rank 0"),
    ],
)
def test_what_is_no_goal_text_is_refused_in_one_sentence(text, says):
    with pytest.raises(ValueError, match=says):
        goal_in(text, "it", "goal:it")


def test_it_is_traffic_like_any_other(tmp_path):
    path = tmp_path / "mine.goal"
    path.write_text(TWO % ("send 1b to 1", "recv 1b from 0"))
    assert read_files(f"goal:{path} + stride:4", FatTree(4), 1) == {str(path): path.read_text()}
    found = collective(f"goal:{path}", FatTree(4), 3, repeats=2)
    assert found.num_hosts == 16
    path.write_text("num_ranks 17\nrank 0 {\ncalc 1\n}\n")
    with pytest.raises(ValueError, match="has 17 ranks, and the network 16 hosts"):
        collective(f"goal:{path}", FatTree(4), 3)


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
    work = workload(f"htsim:{path}", 16, seconds=1.0, subflows=2, repeats=2)
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
    with pytest.raises(ValueError, match=says) as told:
        htsim(FLOWS.replace(old, new, 1))
    assert "\n" not in str(told.value)
