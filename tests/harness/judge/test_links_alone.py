"""Round trips taken apart into queues and machine, on flows one can work out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.judge.flows import MeasuredFlow
from harness.judge.links_alone import links_alone, underway
from harness.run.round_trips import Look
from harness.run.senders import EmulatedFlow
from tests.harness.judge.fine import ON_THE_WIRE
from topos.fattree import FatTree
from topos.nonblocking import NonBlocking
from traffic.iperf import FlowReport, Interval

TREE = FatTree(4)
BEGIN, BW, WINDOW = 1000.0, 10.0, (1.0, 5.0)
TENTH_OF_A_SECOND = 125_000
"""Bytes, on links of 10 Mb/s."""


def flow(src=0, dst=4, *, there=((0.0, 0),), back=((0.0, 3),), mbps=4.0, port=20_000):
    report = FlowReport("", port, "", tuple(Interval(s, s + 1, 0, mbps * 1e6) for s in range(6)), None)
    paths = [[(BEGIN + t, core) for t, core in path] for path in (there, back)]
    return MeasuredFlow(EmulatedFlow(src, dst, port, started=BEGIN, report=report), BEGIN, *paths)


def looks(rtt_s, queued, times=(1.5, 2.5, 3.5), key=(0, 4, 20_000)):
    return [Look(BEGIN + t, {} if rtt_s is None else {key: rtt_s}, queued) for t in times]


def share(flows, seen, fair=10.0, window=WINDOW, topo=TREE):
    found = links_alone(underway(topo, flows, seen, BEGIN, BW), flows, np.full(len(flows), fair), window, 1500)
    return None if found is None else found.share


def test_what_the_machine_takes_of_a_round_trip_a_flow_could_have_had():
    """Half of each round trip is in a queue: without the other half the same window would bring twice as much."""
    seen = looks(0.2, {"0_0_2": TENTH_OF_A_SECOND})
    assert share([flow()], seen) == pytest.approx(0.5)
    found = links_alone(underway(TREE, [flow()], seen, BEGIN, BW), [flow()], np.array([10.0]), WINDOW, 1500)
    assert found.delivered_mbps == pytest.approx(4 * ON_THE_WIRE)
    assert found.allowed_mbps == pytest.approx(8 * ON_THE_WIRE)
    assert found.window == WINDOW


def test_where_packets_wait_in_queues_alone_tcp_has_what_its_windows_allow():
    assert share([flow()], looks(0.1, {"0_0_2": TENTH_OF_A_SECOND})) == pytest.approx(1)
    assert share([flow()], looks(0.05, {"0_0_2": TENTH_OF_A_SECOND})) == pytest.approx(1), "smoothed, so behind"


def test_no_flow_could_have_had_more_than_its_fair_rate():
    seen = looks(0.2, {"0_0_2": TENTH_OF_A_SECOND})
    assert share([flow()], seen, fair=5 * ON_THE_WIRE) == pytest.approx(0.8)
    assert share([flow()], seen, fair=3.0) == pytest.approx(1), "it had more than that"


def test_a_path_with_empty_queues_and_long_round_trips_is_the_machines():
    assert share([flow()], looks(0.3, {}), fair=8 * ON_THE_WIRE) == pytest.approx(0.5)


def test_queues_count_on_the_way_there_and_back_and_nowhere_else():
    there, back, elsewhere = "0_2_1-eth1", "1_3_1-eth3", "0_2_1-eth3"
    for port, left in ((there, 0.5), (back, 0.5), (elsewhere, 0.4)):
        seen = looks(0.2, {port: TENTH_OF_A_SECOND})
        assert share([flow()], seen, fair=10 * ON_THE_WIRE) == pytest.approx(left), port
    both = looks(0.2, {there: TENTH_OF_A_SECOND, back: TENTH_OF_A_SECOND})
    assert share([flow()], both) == pytest.approx(1)


def test_a_flow_that_moves_waits_on_its_new_path():
    moved = flow(there=((0.0, 0), (3.0, 1)))
    seen = looks(0.2, {"0_2_1-eth3": 2 * TENTH_OF_A_SECOND}, times=(1.5, 2.5, 3.5, 4.5))
    assert share([moved], seen) == pytest.approx(0.5), "half of the looks came after its move"


def test_of_a_flow_whose_round_trip_nobody_knows_the_machine_is_suspected():
    known, unknown = flow(), flow(1, 5, port=20_001)
    seen = looks(0.1, {"0_0_2": TENTH_OF_A_SECOND})
    fair = 8 * ON_THE_WIRE
    assert share([known, unknown], seen, fair=fair) == pytest.approx(8 / (4 + 8))


def test_too_few_looks_within_the_window_say_nothing():
    queued = {"0_0_2": TENTH_OF_A_SECOND}
    assert share([flow()], looks(0.1, queued, times=(0.9, 1.0, 4.9, 5.0))) is None
    assert share([flow()], looks(0.1, queued, times=(0.9, 1.0, 4.0, 4.9))) == pytest.approx(1)
    assert share([flow()], looks(None, queued)) is None
    assert share([flow()], []) is None


def test_one_big_switch_has_shorter_paths():
    star = NonBlocking(16)
    flows = [flow(there=(), back=())]
    assert share(flows, looks(0.2, {"0_0_2": TENTH_OF_A_SECOND}), topo=star) == pytest.approx(0.5)
    assert share(flows, looks(0.2, {"1_0_2": TENTH_OF_A_SECOND}), topo=star) == pytest.approx(0.5)


def test_as_data_it_is_means_over_the_flows_that_were_seen():
    flows = [flow(), flow(1, 5, port=20_001)]
    seen = looks(0.2, {"0_0_2": TENTH_OF_A_SECOND, "3_0_2": 10 * TENTH_OF_A_SECOND}, times=(1.5, 2.5))
    both = replace(seen[0], rtt_s={(0, 4, 20_000): 0.2, (1, 5, 20_001): 0.4})
    nobody = replace(seen[0], rtt_s={})
    data = underway(TREE, flows, [both, seen[1], nobody], BEGIN, BW).record()
    assert data.t == (1.5, 2.5)
    assert data.rtt_ms == pytest.approx((300, 200))
    assert data.queues_ms == pytest.approx(((100 + 0) / 2, 100))
    assert not any(map(math.isnan, data.queues_ms))
