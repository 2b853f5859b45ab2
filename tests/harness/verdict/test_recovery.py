"""What a failure did, on a made-up run small enough to count by hand: two flows from pod 0 to pod 1."""

from math import inf

import pytest

from harness.run.observation import Outage
from harness.run.spec import RunSpec
from harness.verdict.fair import PathChange, RoutedFlow, fair
from harness.verdict.recovery import Recovery
from results.parts import Failure
from topos.fattree import FatTree
from topos.faults import parse
from topos.nonblocking import NonBlocking

TREE = FatTree(4)
CORE_0 = parse("switch:4_1_1@1", TREE, 12).links(TREE)
EDGE = parse("switch:0_0_1@1", TREE, 12).links(TREE)
SPEC = RunSpec("ecmp", "stride:4", seconds=12, link_mbps=10, fail=("switch:4_1_1@4:8",))


def flow(src, dst, *changes):
    return RoutedFlow(src, dst, tuple(PathChange(t, core) for t, core in changes))


def seconds(*mbps, start=0.0):
    return [(start + second, rate) for second, rate in enumerate(mbps)]


def record(outages, flows, acknowledgements, per_second, topo=TREE):
    recovery = Recovery(topo, SPEC, outages, flows, acknowledgements, [(-inf, inf)] * len(flows))
    phases = recovery.phases(lambda window: 1.0, lambda window: fair(topo, flows, window, 10, outages).total_mbps)
    return recovery, recovery.failures(per_second), phases


def test_a_flow_on_what_fails_counts_nothing_until_it_is_moved():
    flows = [flow(0, 4, (0, 0), (6, 1)), flow(2, 8, (0, 2))]
    outages = [Outage(4, CORE_0), Outage(8, frozenset())]
    assert fair(TREE, flows, (0, 4), 10, outages).total_mbps == pytest.approx(20)
    assert fair(TREE, flows, (4, 6), 10, outages).total_mbps == pytest.approx(10)
    assert fair(TREE, flows, (2, 10), 10, outages).total_mbps == pytest.approx(20 - 10 * 2 / 8)


def test_a_flow_that_is_never_moved_counts_again_when_it_is_mended():
    outages = [Outage(4, CORE_0), Outage(8, frozenset())]
    assert fair(TREE, [flow(0, 4, (0, 0))], (2, 10), 10, outages).total_mbps == pytest.approx(5)


def test_hit_moved_and_moving_again():
    flows = [flow(0, 4, (0.0, 0), (4.03, 1)), flow(2, 8, (0, 2))]
    back = [flow(4, 0, (0.0, 2)), flow(8, 2, (0.0, 0), (4.2, 3))]  # its acknowledgements went by core 0
    per_second = [seconds(9, 9, 9, 9, 1, 0, 5, 9, start=0.05), seconds(9, 9, 9, 9, 4, 9, start=0.2)]
    recovery, failures, _ = record([Outage(4, CORE_0)], flows, back, per_second)
    (failure,) = failures
    assert failure == Failure(
        t=4,
        broken=tuple(f"{pod}_2_1-4_1_1" for pod in range(4)),
        mended=(),
        affected=2,
        cut_off=0,
        rerouted_s=0.2,
        # Until 4.06 s a queue may still have been emptied; the next second had nothing.
        moving_s=pytest.approx(3.05),
    )
    assert recovery.cut_off == set()


def test_a_flow_that_nobody_moves_is_not_said_to_be_moved():
    flows, back = [flow(0, 4, (0.0, 0), (4.5, 0))], [flow(4, 0, (0.0, 1))]
    _, failures, _ = record([Outage(4, CORE_0)], flows, back, [seconds(9, 9, 9, 9, 0, 0, 0)])
    assert (failures[0].rerouted_s, failures[0].moving_s) == (None, None)


def test_moved_only_after_the_next_event_is_not_moved():
    flows, back = [flow(0, 4, (0.0, 0), (9.0, 1))], [flow(4, 0, (0.0, 1))]
    _, failures, _ = record([Outage(4, CORE_0), Outage(8, frozenset())], flows, back, [seconds(9)])
    assert failures[0].rerouted_s is None


def test_hosts_without_a_path_are_cut_off_and_awaited_when_it_is_mended():
    flows, back = [flow(0, 4, (0.0, 0)), flow(8, 12, (0.0, 0))], [flow(4, 0, (0.0, 0)), flow(12, 8, (0.0, 0))]
    per_second = [seconds(9, 9, 9, 9, 0, 0, 0, 0, 0, 3, start=0.5), seconds(*[9] * 10)]
    recovery, failures, phases = record([Outage(4, EDGE), Outage(8, frozenset())], flows, back, per_second)
    broken, mended = failures
    assert (broken.affected, broken.cut_off, broken.rerouted_s, broken.moving_s) == (1, 1, None, None)
    assert (mended.affected, mended.moving_s) == (0, 2.5)
    assert recovery.cut_off == {"0 to 4"}
    assert [phase.best_mbps for phase in phases] == pytest.approx([20, 10, 20])
    assert [phase.maxmin_mbps for phase in phases] == pytest.approx([20, 10, 20])
    assert [(phase.from_s, phase.to_s) for phase in phases] == [(2, 4), (4, 8), (8, 10)]


def test_two_hosts_below_one_switch_that_fails_are_cut_off_too():
    recovery, _, _ = record([Outage(4, EDGE)], [flow(0, 1, (0, 0))], [flow(1, 0, (0, 0))], [seconds(9)])
    assert recovery.cut_off == {"0 to 1"}


def test_the_control_is_spared():
    recovery, failures, phases = record([], [flow(0, 4)], [flow(4, 0)], [seconds(9)], topo=NonBlocking(16))
    assert failures == ()
    assert [phase.best_mbps for phase in phases] == pytest.approx([10])
    assert recovery.cut_off == set()


def test_flows_that_come_and_go_are_asked_when_they_were_there():
    """One that stays, one that had ended before, one that ends too soon after to be asked, one that began later."""
    there = [(0.0, 12.0), (0.0, 3.0), (0.0, 5.0), (6.0, 12.0)]
    flows = [flow(0, 4, (0.0, 0), (4.03, 1)), *(flow(1, 5, (0.0, 0)) for _ in there[1:])]
    back = [flow(4, 0, (0.0, 2)), *(flow(5, 1, (0.0, 2)) for _ in there[1:])]
    recovery = Recovery(TREE, SPEC, [Outage(4, CORE_0)], flows, back, there)
    (failure,) = recovery.failures([seconds(*[9] * 12) for _ in there])
    assert (failure.affected, failure.rerouted_s) == (1, 0.03)
    assert {
        (phase.maxmin_mbps, phase.best_mbps) for phase in recovery.phases(lambda window: 5.0, lambda window: 7.0)
    } == {(7.0, None)}
