import numpy as np
import pytest

from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.scheduler import ActiveFlows, Scheduler
from hedera.simulated_annealing import SimulatedAnnealing
from tests.hedera.test_demand import FIGURE_4, FIGURE_4_DEMANDS
from topos.fattree import FatTree
from topos.links import find_links_between, list_links_of_switch

TREE = FatTree(4)


class Recorder:
    """A placement that moves nothing and keeps what it was given."""

    def place(self, flows, links):
        self.flows = flows
        return flows.core


def table(pairs, rate=0.0, core=0, hashed=0, first_key=0):
    n = len(pairs)
    src, dst = zip(*pairs, strict=True) if pairs else ((), ())
    wide = (np.broadcast_to(np.asarray(x), n) for x in (rate, core, hashed))
    return ActiveFlows(np.arange(first_key, first_key + n), np.array(src), np.array(dst), *wide)


def changes(round_):
    """The new cores, by the flows' keys."""
    return dict(zip(round_.changed.tolist(), round_.new_core.tolist(), strict=True))


def stride(step=4):
    return [(h, (h + step) % 16) for h in range(16)]


PLACEMENTS = {"gff": lambda: GlobalFirstFit(TREE), "sa": lambda: SimulatedAnnealing(TREE, np.random.default_rng(1))}


@pytest.fixture(params=PLACEMENTS)
def scheduler(request):
    return Scheduler(TREE, PLACEMENTS[request.param]())


def test_one_period_of_figure_4():
    """Four hosts of as many pods. H0 to H3 are hosts 0, 4, 8, 12; all flows start on core 0."""
    flows = table([(4 * s, 4 * d) for s, d in FIGURE_4])
    round_ = Scheduler(TREE, GlobalFirstFit(TREE)).round(2.0, flows)
    assert round_.now == 2.0
    assert round_.large.tolist() == list(range(10))
    assert round_.demand == pytest.approx(FIGURE_4_DEMANDS)
    # Each host has an edge switch to itself, so what is feasible at the NICs fits core 0 altogether.
    assert round_.core.tolist() == [0] * 10
    assert changes(round_) == {}


def test_large_is_above_a_tenth_by_rate_or_by_demand():
    placement = Recorder()
    scheduler = Scheduler(TREE, placement)
    # Host 0 has eleven flows, of demand 1/11 each; one of them is measured at 0.2, one at exactly the threshold.
    many = [(0, 4 + i) for i in range(11)]
    rate = np.array([0.2, 0.1, *[0.05] * 9])
    round_ = scheduler.round(0.0, table(many, rate))
    assert round_.index.tolist() == [0]
    assert round_.demand.tolist() == [1.0]  # estimated among the large flows alone
    assert placement.flows.key.tolist() == [0]
    round_ = scheduler.round(0.0, table([*many[:9], (1, 2)], 0.0))  # demand 1/9, measured nothing
    assert round_.index.tolist() == list(range(10))


def test_by_measured_rates_alone_a_flow_held_down_by_others_is_small():
    flows = table([(0, 4), (1, 4)], rate=[0.5, 0.1])
    for estimated, large in ((False, [0]), (True, [0, 1])):
        assert Scheduler(TREE, Recorder(), estimated=estimated).round(0, flows).large.tolist() == large


def test_only_changed_routes_and_then_none(scheduler):
    flows = table(stride())
    round_ = scheduler.round(0, flows)
    changed = changes(round_)
    assert 0 < len(changed) < 16
    expected = {key: core for key, core in enumerate(round_.core.tolist()) if core != 0}
    assert changed == expected
    assert LinkState(TREE).usable(flows.src, flows.dst, round_.core).all()
    assert np.bincount(round_.core, minlength=4).tolist() == [4] * 4  # stride fills every core link once
    again = scheduler.round(2, table(stride(), core=round_.core))
    assert changes(again) == {}


def test_two_numbers_of_one_path_are_no_change(scheduler):
    below_edge = scheduler.round(0, table([(0, 1)], core=3))
    assert changes(below_edge) == {}
    inside_pod = scheduler.round(0, table([(0, 2)], core=[1]))
    assert inside_pod.core.tolist() in ([0], [2])
    assert len(changes(inside_pod)) == (inside_pod.core[0] == 2)


def test_flows_come_and_go(scheduler):
    """A full-rate flow finds the place of one that left: reservations do not outlive their flows."""
    for period in range(50):
        flows = table(stride(4 + 4 * (period % 3)), first_key=16 * period)
        round_ = scheduler.round(period, flows)
        assert np.bincount(round_.core, minlength=4).tolist() == [4] * 4


@pytest.mark.parametrize("switch", ["4_1_1", "0_2_1"])
def test_flows_on_failed_links_are_moved_at_once(scheduler, switch):
    flows = table(stride(), hashed=3, core=3)
    before = scheduler.round(0, flows)
    failed = list_links_of_switch(TREE, switch)
    scheduler.links.fail(failed)
    after = scheduler.round(1, table(stride(), hashed=3, core=before.core))
    assert scheduler.links.usable(flows.src, flows.dst, after.core).all()
    broken = ~scheduler.links.usable(flows.src, flows.dst, before.core)
    assert broken.any()
    assert changes(after).keys() >= set(np.flatnonzero(broken).tolist())
    assert all(before.core[key] != core for key, core in changes(after).items())


def test_small_flows_leave_failed_paths_too_and_return_to_their_hash():
    scheduler = Scheduler(TREE, GlobalFirstFit(TREE))
    many = [(0, 4 + i) for i in range(11)]
    assert scheduler.round(0, table(many)).large.size == 0
    up = find_links_between(TREE, "0_0_1", "0_2_1")
    scheduler.links.fail(up)
    assert set(changes(scheduler.round(1, table(many))).values()) == {2}
    # One that is hashed to a working path goes there, not to the next one.
    assert set(changes(scheduler.round(2, table(many, core=0, hashed=3))).values()) == {3}


def test_keys_need_not_be_small_nor_sorted():
    keys = np.array([2**62, 5, 2**40])
    scheduler = Scheduler(TREE, GlobalFirstFit(TREE))
    flows = ActiveFlows(keys, [0, 1, 2], [4, 5, 6], [0.0] * 3, [0] * 3, [0] * 3)
    round_ = scheduler.round(0, flows)
    assert changes(round_) == {5: 2, 2**40: 1}
    order = [2, 0, 1]
    later = ActiveFlows(keys[order], [2, 0, 1], [6, 4, 5], [0.0] * 3, round_.core[order], [0] * 3)
    assert changes(scheduler.round(1, later)) == {}
