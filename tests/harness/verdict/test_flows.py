"""Flows as they were measured, and the max-min fair rates they are held against."""

from math import nan

import numpy as np
import pytest

from harness.run.observation import Observation, Outage
from harness.run.traffic import EmulatedFlow
from harness.verdict.flows import compute_fair, measure_flows
from simulator.maxmin import MaxMinEngine
from tests.harness.verdict.fine import routed
from topos.fattree import FatTree
from topos.links import num_links, path_links
from topos.network import NonBlocking
from traffic.flows import make_flows
from traffic.programs import FlowReport, Interval


def measured(report, started=100.5):
    seen = Observation(begin=100.0, flows=[EmulatedFlow(0, 4, 1, started=started, report=report)])
    return measure_flows(seen, 1500, lasts=True)[0]


def test_a_flow_begins_when_its_receiver_heard_of_it_not_when_its_client_was_started():
    seconds = tuple(Interval(s, s + 1, 0, 8e6, stamp=104.0 + s) for s in range(3))
    flow = measured(FlowReport("", 1, "", seconds, None))
    assert flow.start == pytest.approx(2.0)
    assert flow.mean_mbps((0.0, 4.0)) == pytest.approx(4.0)


def test_what_came_after_the_last_whole_second_is_in_the_total_alone():
    seconds = (Interval(0, 1, 0, 8e6), Interval(1, 2, 0, 8e6))
    flow = measured(FlowReport("", 1, "", seconds, Interval(0, 2.5, 0, 18e6 / 2.5)))
    assert flow.intervals[-1] == pytest.approx((2.5, 3.0, 4.0))
    assert flow.mbit((0.0, 10.0)) == pytest.approx(18)


def test_a_transfer_shorter_than_a_second_has_a_total_alone():
    flow = measured(FlowReport("", 1, "", (), Interval(0, 0.5, 0, 8e6)))
    assert flow.mbit((0.0, 10.0)) == pytest.approx(4)
    assert flow.seconds == []


def test_numbers_are_kept_to_the_hundred_bits_a_second_and_the_millisecond():
    report = FlowReport("", 1, "", (Interval(0, 1, 0, 1_234_567.0),), Interval(0, 1, 0, 1_234_567.0))
    told = measured(report, started=100.12345).record((0.0, 10.0), nan)
    assert (told.mbps, told.per_second_mbps, told.start) == (1.2346, (1.235,), 0.123)


def test_a_flow_nobody_heard_of_delivered_nothing():
    flow = measured(None)
    assert (flow.start, flow.mbit((0.0, 10.0)), flow.seconds) == (pytest.approx(0.5), 0, [])


TREE = FatTree(4)


def flow(src, dst, start, mbit, *changes):
    return routed(src, dst, *changes, start=start, mbit=mbit)


def fluid(topo, flows, window, until, mbps, outages=()):
    return compute_fair(topo, flows, window, mbps, outages, until)


def total(topo, flows, window):
    return compute_fair(topo, flows, window, 10).total_mbps


@pytest.mark.parametrize(
    ("flows", "window", "until", "ends", "mbps"),
    [
        # two into one host, the second half a second later: the first has it alone, then half each
        ([flow(0, 2, 0, 10), flow(1, 2, 0.5, 10)], (0, 2), 4, [1.5, 2.0], 10),
        # one that takes its turn begins when it did
        ([flow(0, 2, 0, 10), flow(0, 3, 1.25, 10)], (0, 3), 3, [1.0, 2.25], 20 / 3),
        # what does not end has no end, and what lasts neither
        ([flow(0, 2, 0, 100), flow(1, 2, 0, None)], (0, 2), 2, [np.nan, np.nan], 10),
        # only the window counts
        ([flow(0, 2, 0, 15)], (1, 3), 4, [1.5], 10 * 0.5 / 2),
    ],
)
def test_flows_share_while_they_are_there_together(flows, window, until, ends, mbps):
    found = fluid(NonBlocking(16), flows, window, until, 10)
    assert found.end.tolist() == pytest.approx(ends, nan_ok=True)
    assert found.total_mbps == pytest.approx(mbps)


def test_an_unknown_path_is_held_to_its_hosts_alone():
    assert fluid(TREE, [flow(0, 4, 0, 10), flow(1, 8, 0, 10)], (0, 1), 5, 10).end.tolist() == pytest.approx([1, 1])


def test_a_broken_link_carries_nothing():
    up = int(path_links(TREE, [0], [4], [0])[0][1])
    outages = [Outage(0.5, frozenset([up])), Outage(1.5, frozenset())]
    found = fluid(TREE, [flow(0, 4, 0, 10, (0, 0))], (0, 3), 5, 10, outages)
    assert found.end.tolist() == pytest.approx([2.0])


def test_lasting_flows_on_one_uplink_share_it_until_one_is_moved():
    flows = [routed(0, 4, (0, 0)), routed(1, 8, (0, 1), (3, 2))]  # cores 0 and 1: the same aggregation switch
    assert total(TREE, flows, (1, 3)) == pytest.approx(10)
    assert total(TREE, flows, (1, 5)) == pytest.approx(0.5 * 10 + 0.5 * 20)
    assert total(TREE, flows, (3.5, 5)) == pytest.approx(20)
    assert total(NonBlocking(16), [routed(0, 1), routed(2, 1), routed(3, 4)], (0, 1)) == pytest.approx(20)


def test_before_its_first_path_a_flow_has_that_path():
    assert routed(0, 4, (2, 3)).core_at(0.5) == 3
    assert routed(0, 1).core_at(0.5) == 0


@pytest.mark.parametrize("seed", range(8))
def test_the_simulator_s_engine_finds_the_same(seed):
    """Two of our own that share only the solver: flows that come, end and move, and the sum of their rates."""
    rng, tick, bw = np.random.default_rng(seed), 1e-4, 10.0
    src, dst = np.array([rng.choice(16, 2, replace=False) for _ in range(14)], dtype=np.int32).T
    start, mbit = rng.integers(0, 20_000, 14) * tick, rng.uniform(0.1, 15, 14)
    before, after, moved_at = rng.integers(0, 4, 14), rng.integers(0, 4, 14), 1.5

    changes = [((0, a), (moved_at, b)) for a, b in zip(before, after, strict=True)]
    flows = [flow(*each, *change) for *each, change in zip(src, dst, start, mbit, changes, strict=True)]
    found = fluid(TREE, flows, (1, 3), 60, bw)

    work = make_flows(src, dst, start, mbit * 1e6 / 8)
    engine = MaxMinEngine(work, path_links(TREE, src, dst, before), np.ones(num_links(TREE)), tick_s=tick, link_mbps=bw)
    totals = [engine.advance(round(moved_at / tick))]
    engine.reroute(np.arange(14, dtype=np.int32), path_links(TREE, src, dst, after))
    totals.append(engine.advance(round((60 - moved_at) / tick)))
    assert engine.idle
    assert engine.finished_s == pytest.approx(found.end, rel=1e-9)
    assert np.concatenate(totals)[10_000:30_000].mean() == pytest.approx(found.total_mbps, rel=1e-9)
