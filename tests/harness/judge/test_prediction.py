import pytest

from harness.judge.prediction import PathChange, RoutedFlow, predict
from topos.fattree import FatTree
from topos.nonblocking import NonBlocking

TREE = FatTree(4)


def flow(src, dst, *changes):
    return RoutedFlow(src, dst, tuple(PathChange(t, core) for t, core in changes))


def test_two_flows_on_one_uplink_share_it():
    flows = [flow(0, 4, (0, 0)), flow(1, 8, (0, 1))]  # cores 0 and 1 are above the same aggregation switch
    assert predict(TREE, flows, (1, 5), 10).total_mbps == pytest.approx(10)


def test_a_path_change_counts_from_when_it_happened():
    flows = [flow(0, 4, (0, 0)), flow(1, 8, (0, 1), (3, 2))]
    assert predict(TREE, flows, (1, 5), 10).total_mbps == pytest.approx(0.5 * 10 + 0.5 * 20)
    assert predict(TREE, flows, (3.5, 5), 10).total_mbps == pytest.approx(20)


def test_stride_on_a_spanning_tree_is_a_quarter():
    flows = [flow(h, (h + 4) % 16, (0, 0)) for h in range(16)]
    assert predict(TREE, flows, (0, 1), 10).total_mbps == pytest.approx(40)


def test_the_control_is_limited_by_receivers_only():
    flows = [flow(0, 1), flow(2, 1), flow(3, 4)]
    assert predict(NonBlocking(16), flows, (0, 1), 10).total_mbps == pytest.approx(20)


def test_before_its_first_path_a_flow_has_that_path():
    assert flow(0, 4, (2, 3)).core_at(0.5) == 3
    assert flow(0, 1).core_at(0.5) == 0
