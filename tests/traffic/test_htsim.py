"""Connection matrices of htsim: what is read, and what is refused."""

import pytest

from simulator.config import Config
from simulator.driver import simulate
from tests.traffic.graphs import edges, rows
from topos.fattree import FatTree
from traffic.schedules import read_htsim
from traffic.workload import read_files, workload

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
def read(tmp_path):
    path = tmp_path / "it.cm"
    return lambda text: (path.write_text(text), read_htsim(path, "htsim:it"))[1]


def test_starts_are_picoseconds_and_an_id_is_a_connection(read):
    found = read(FLOWS)
    assert rows(found) == [(0, 5, 2_000_000, 0.0), (0, 5, 1000, 2.5e-6), (5, 9, 1_000_000, 3e-6), (0, 5, 70, 0.0)]
    assert edges(found) == []
    assert found.lane.tolist() == [0, 0, 0, 1], "one connection of each id"
    assert found.num_hosts == 16


def test_it_is_traffic_whose_flows_are_connections_of_their_own(tmp_path):
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
def test_what_makes_no_sense_is_refused_in_one_sentence(read, old, new, says):
    with pytest.raises(ValueError, match=says) as told:
        read(FLOWS.replace(old, new, 1))
    assert "\n" not in str(told.value)
