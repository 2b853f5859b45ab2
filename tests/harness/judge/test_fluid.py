import numpy as np
import pytest

from harness.judge.fluid import FluidFlow, fluid
from harness.judge.prediction import PathChange, RoutedFlow
from harness.run.observation import Outage
from topos.fattree import FatTree
from topos.links import path_links
from topos.nonblocking import NonBlocking

TREE = FatTree(4)


def flow(src, dst, start, mbit, *changes):
    return FluidFlow(RoutedFlow(src, dst, tuple(PathChange(t, core) for t, core in changes)), start, mbit)


def test_flows_share_while_they_are_there_together():
    """Two of 10 Mbit into one host of 10 Mb/s, the second a second later: the first has it alone, then half each."""
    found = fluid(NonBlocking(16), [flow(0, 2, 0, 10), flow(1, 2, 0.5, 10)], (0, 2), 4, 10)
    assert found.end.tolist() == pytest.approx([1.5, 2.0])
    assert found.total_mbps == pytest.approx(10)


def test_one_that_takes_its_turn_begins_when_it_did():
    found = fluid(NonBlocking(16), [flow(0, 2, 0, 10), flow(0, 3, 1.25, 10)], (0, 3), 3, 10)
    assert found.end.tolist() == pytest.approx([1.0, 2.25])
    assert found.total_mbps == pytest.approx(20 / 3)


def test_what_does_not_end_has_no_end_and_what_lasts_neither():
    found = fluid(NonBlocking(16), [flow(0, 2, 0, 100), flow(1, 2, 0, None)], (0, 2), 2, 10)
    assert np.isnan(found.end).all()
    assert found.total_mbps == pytest.approx(10)


def test_only_the_window_counts():
    found = fluid(NonBlocking(16), [flow(0, 2, 0, 15)], (1, 3), 4, 10)
    assert found.end.tolist() == pytest.approx([1.5])
    assert found.total_mbps == pytest.approx(10 * 0.5 / 2)


def test_paths_count_from_when_they_were_taken():
    """Cores 0 and 1 are above one aggregation switch, so both flows climb one link, until one is moved."""
    stays = flow(0, 4, 0, 10, (0, 0))
    moved = flow(1, 8, 0, 10, (0, 1), (1, 2))
    found = fluid(TREE, [stays, moved], (0, 2), 5, 10)
    assert found.end.tolist() == pytest.approx([1.5, 1.5])


def test_an_unknown_path_is_held_to_its_hosts_alone():
    assert fluid(TREE, [flow(0, 4, 0, 10), flow(1, 8, 0, 10)], (0, 1), 5, 10).end.tolist() == pytest.approx(
        [1, 1]
    )


def test_a_broken_link_carries_nothing():
    up = int(path_links(TREE, [0], [4], [0])[0][1])
    outages = [Outage(0.5, frozenset([up])), Outage(1.5, frozenset())]
    found = fluid(TREE, [flow(0, 4, 0, 10, (0, 0))], (0, 3), 5, 10, outages)
    assert found.end.tolist() == pytest.approx([2.0])
