"""What a receiver reports of a flow, put on the clock of the run."""

from math import nan

import pytest

from harness.run.observation import Observation
from harness.run.traffic import EmulatedFlow
from harness.verdict.flows import measured_flows
from traffic.iperf import FlowReport, Interval


def measured(report, started=100.5):
    seen = Observation(begin=100.0, flows=[EmulatedFlow(0, 4, 1, started=started, report=report)])
    return measured_flows(seen, 1500, lasts=True)[0]


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
