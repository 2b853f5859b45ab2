"""From raw observations to numbers, on a small made-up run whose answers can be worked out by hand."""

import numpy as np
import pytest

from harness.errors import RunFailed
from harness.result import Observation, describe, paths_by_flow
from harness.senders import Flow, listens_on
from harness.spec import RunSpec
from harness.verdict import WIRE_PER_PAYLOAD
from topos.nonblocking import NonBlocking
from traffic.bwmng import Series
from traffic.iperf import FlowReport, Interval

SPEC = RunSpec(scheme="nonblocking", traffic="stride:1", seconds=6, bw=10)
BEGIN = 1000.0


def series(out, incoming=0.0):
    t = BEGIN + np.arange(1, 7)
    return Series(t, np.full(6, float(out)), np.full(6, float(incoming)))


def observation(rate=10.0):
    flows = []
    payload = rate / WIRE_PER_PAYLOAD
    for src in range(16):
        intervals = tuple(Interval(s, s + 1, int(payload * 125_000), payload * 1e6) for s in range(6))
        report = FlowReport("", 20_000 + src, "", intervals, Interval(0, 6, 0, payload * 1e6))
        flows.append(Flow(src, (src + 1) % 16, 20_000 + src, None, 0, started=BEGIN, report=report))
    ports = {f"{NonBlocking.SWITCH}-eth{host + 1}": series(rate, rate) for host in range(16)}
    return Observation(begin=BEGIN, series=ports, flows=flows, cpu_times=[BEGIN + 1], cpu_idle=[50.0])


def test_the_number_is_the_sum_of_receive_rates():
    result = describe(SPEC, "user", observation())
    assert result["bisection_mbps"] == pytest.approx(160)
    assert result["maxmin_mbps"] == pytest.approx(160)
    assert result["verdict"] == "ok"
    assert result["rates"]["t"] == [1, 2, 3, 4, 5, 6]
    assert result["rates"]["total_mbps"] == pytest.approx([160] * 6)
    assert result["flows"][0]["window_mbps"] == pytest.approx(10 / WIRE_PER_PAYLOAD, abs=1e-3)


def test_only_the_middle_two_thirds_count():
    seen = observation()
    for one in seen.series.values():
        one.out_mbps[[0, 5]] = 0
    assert describe(SPEC, "user", seen)["bisection_mbps"] == pytest.approx(160)


def test_a_slow_machine_is_told_by_its_number():
    result = describe(SPEC, "user", observation(rate=7.0))
    assert result["verdict"] == "invalid"
    assert "too slow" in result["reasons"][0]


def test_an_error_of_the_controller_is_a_reason():
    seen = observation()
    seen.events = [{"event": "error", "message": "boom", "t": 1.0}]
    assert describe(SPEC, "user", seen)["reasons"] == ["the controller reported an error: boom"]


def test_a_host_that_was_not_sampled_ends_it():
    seen = observation()
    del seen.series["0_0_1-eth3"]
    with pytest.raises(RunFailed, match="0_1_2"):
        describe(SPEC, "user", seen)


def test_acknowledgements_are_no_flows_of_the_matrix():
    events = [
        {"event": "flow", "key": 1, "src": 0, "dst": 4, "src_port": 20_000, "dst_port": 5001, "core": 2, "t": 5.0},
        {"event": "flow", "key": 2, "src": 4, "dst": 0, "src_port": 5001, "dst_port": 20_000, "core": 1, "t": 5.1},
        {"event": "reroute", "key": 1, "core": 3, "t": 7.0},
        {"event": "reroute", "key": 2, "core": 3, "t": 7.0},
    ]  # fmt: skip
    assert paths_by_flow(events) == {(0, 4, 20_000): [(5.0, 2), (7.0, 3)]}


PROC_NET_TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0200000A:1389 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0200000A:138A 0300000A:1388 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0
"""


def test_a_listening_socket_is_told_from_a_connected_one():
    assert listens_on(PROC_NET_TCP, 5001)
    assert not listens_on(PROC_NET_TCP, 5002)
    assert not listens_on(PROC_NET_TCP, 5000)
