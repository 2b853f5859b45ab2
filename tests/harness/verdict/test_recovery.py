"""What a failure did, on a made-up run small enough to count by hand: two flows from pod 0 to pod 1."""

import pytest

from harness.run.observation import Outage
from harness.run.spec import RunSpec
from harness.verdict.fair import fair
from harness.verdict.recovery import Recovery
from record.parts import Failure
from tests.harness.verdict.fine import measured
from topos.fattree import FatTree
from topos.faults import parse
from topos.network import NonBlocking

TREE = FatTree(4)
CORE_0 = parse("switch:4_1_1@1", TREE, 12).links(TREE)
EDGE = parse("switch:0_0_1@1", TREE, 12).links(TREE)
SPEC = RunSpec("ecmp", "stride:4", seconds=12, link_mbps=10, fail=("switch:4_1_1@4:8",))


def fair_mbps(flows, window, outages, topo=TREE):
    return fair(topo, [one.routed for one in flows], window, 10, outages).total_mbps


def record(outages, flows, topo=TREE):
    recovery = Recovery(topo, SPEC, outages, flows)
    phases = recovery.phases(lambda window: 1.0, lambda window: fair_mbps(flows, window, outages, topo))
    return recovery, recovery.failures(), phases


def test_a_flow_on_what_fails_counts_nothing_until_it_is_moved_or_that_is_mended():
    flows = [measured(0, 4, (0, 0), (6, 1)), measured(2, 8, (0, 2))]
    outages = [Outage(4, CORE_0), Outage(8, frozenset())]
    assert fair_mbps(flows, (0, 4), outages) == pytest.approx(20)
    assert fair_mbps(flows, (4, 6), outages) == pytest.approx(10)
    assert fair_mbps(flows, (2, 10), outages) == pytest.approx(20 - 10 * 2 / 8)
    assert fair_mbps([measured(0, 4, (0, 0))], (2, 10), outages) == pytest.approx(5)


def test_hit_moved_and_moving_again():
    """The second's acknowledgements went by core 0."""
    flows = [
        measured(0, 4, (0, 0), (4.03, 1), back=[(0, 2)], mbps=(9, 9, 9, 9, 1, 0, 5, 9), start=0.05),
        measured(2, 8, (0, 2), back=[(0, 0), (4.2, 3)], mbps=(9, 9, 9, 9, 4, 9), start=0.2),
    ]
    recovery, failures, _ = record([Outage(4, CORE_0)], flows)
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


def test_a_flow_that_nobody_moves_or_only_after_the_next_event_is_not_moved():
    _, (failure,), _ = record(
        [Outage(4, CORE_0)], [measured(0, 4, (0, 0), (4.5, 0), back=[(0, 1)], mbps=(9, 9, 9, 9, 0, 0, 0))]
    )
    assert (failure.rerouted_s, failure.moving_s) == (None, None)
    later = [measured(0, 4, (0, 0), (9, 1), back=[(0, 1)], mbps=[9])]
    assert record([Outage(4, CORE_0), Outage(8, frozenset())], later)[1][0].rerouted_s is None


def test_hosts_without_a_path_are_cut_off_and_awaited_when_it_is_mended():
    flows = [
        measured(0, 4, (0, 0), back=[(0, 0)], mbps=(9, 9, 9, 9, 0, 0, 0, 0, 0, 3), start=0.5),
        measured(8, 12, (0, 0), back=[(0, 0)], mbps=[9] * 10),
    ]
    recovery, failures, phases = record([Outage(4, EDGE), Outage(8, frozenset())], flows)
    broken, mended = failures
    assert (broken.affected, broken.cut_off, broken.rerouted_s, broken.moving_s) == (1, 1, None, None)
    assert (mended.affected, mended.moving_s) == (0, 2.5)
    assert recovery.cut_off == {"0 to 4"}
    assert [phase.best_mbps for phase in phases] == pytest.approx([20, 10, 20])
    assert [phase.maxmin_mbps for phase in phases] == pytest.approx([20, 10, 20])
    assert [(phase.from_s, phase.to_s) for phase in phases] == [(2, 4), (4, 8), (8, 10)]
    below = record([Outage(4, EDGE)], [measured(0, 1, (0, 0), back=[(0, 0)], mbps=[9])])[0]
    assert below.cut_off == {"0 to 1"}, "two hosts below one switch"


def test_the_control_is_spared():
    recovery, failures, phases = record([], [measured(0, 4, mbps=[9])], topo=NonBlocking(16))
    assert failures == ()
    assert [phase.best_mbps for phase in phases] == pytest.approx([10])
    assert recovery.cut_off == set()


def test_flows_that_come_and_go_are_asked_when_they_were_there():
    """One that stays, one that had ended before, one that ends too soon after to be asked, one that began later."""
    lives = [(0.0, 12.0), (0.0, 3.0), (0.0, 5.0), (6.0, 12.0)]
    flows = [measured(0, 4, (0, 0), (4.03, 1), back=[(0, 2)], mbps=[9] * 12, life=lives[0])]
    flows += [measured(1, 5, (0, 0), back=[(0, 2)], mbps=[9] * 12, life=life) for life in lives[1:]]
    recovery = Recovery(TREE, SPEC, [Outage(4, CORE_0)], flows)
    (failure,) = recovery.failures()
    assert (failure.affected, failure.rerouted_s) == (1, 0.03)
    found = recovery.phases(lambda window: 5.0, lambda window: 7.0)
    assert {(phase.maxmin_mbps, phase.best_mbps) for phase in found} == {(7.0, None)}
