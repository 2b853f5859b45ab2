"""Each way a run can be invalid, one at a time, from a run that is fine."""

from dataclasses import replace

import pytest

from harness.judge.verdict import WIRE_PER_PAYLOAD, Evidence, Second, reasons

FINE = Evidence(
    bw=10,
    datapath="user",
    port_mbps={"0_0_1-eth2": 9.98, "0_0_2": 10.05},
    measured_mbps=155.0,
    iperf_mbps=155.0 / WIRE_PER_PAYLOAD,
    predicted_mbps=160.0,
    unfinished_flows=[],
    full_ports={"0_0_1-eth2": 9.98},
    lost_packets={},
    window=(1.0, 5.0),
    seconds=[],
    failures=False,
    dead_processes=[],
)


def seconds(*idle):
    return [Second(i + 1, percent, {}, 155.0) for i, percent in enumerate(idle)]


def test_a_fine_run_has_no_reason():
    assert reasons(FINE) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"port_mbps": {"0_0_1-eth2": 10.2}}, "port 0_0_1-eth2 carried 10.20 Mb/s, above its limit of 10"),
        ({"port_mbps": {"0_0_1-eth2": float("nan")}}, "0_0_1-eth2"),
        ({"unfinished_flows": ["0 to 4"]}, "1 flows did not run from start to end: 0 to 4"),
        ({"iperf_mbps": 130.0}, "more than 5% apart"),
        ({"iperf_mbps": float("nan")}, "apart"),
        ({"measured_mbps": 135.0, "iperf_mbps": 135 / WIRE_PER_PAYLOAD}, "too slow: 135.0 Mb/s is 84%"),
        (
            {"full_ports": {"a": 9.6, "b": 9.69, "c": 10.0}},
            "half of the 3 links that have to be full carried less than 96.9%",
        ),
        ({"full_ports": {"a": float("nan")}}, "too slow"),
        (
            {"lost_packets": {"port a": 3, "port b": 40}},
            "40 packets were lost in port b, outside every queue",
        ),
        (
            {"dead_processes": ["ovs-vswitchd 1 (status -9)"]},
            "ovs-vswitchd 1 (status -9) ended during the run",
        ),
        ({"datapath": "kernel", "seconds": seconds(80.0, 20.0)}, "only 20 % idle in second 2"),
    ],
)
def test_each_doubt_is_named(change, said):
    (reason,) = reasons(replace(FINE, **change))
    assert said in reason


def test_idle_time_says_nothing_on_the_userspace_datapath_and_35_percent_is_enough_in_the_kernel():
    assert reasons(replace(FINE, seconds=seconds(0.0))) == []
    assert reasons(replace(FINE, datapath="kernel", seconds=seconds(35.0))) == []


def test_half_of_the_full_links_may_be_shared_as_tcp_likes():
    assert reasons(replace(FINE, full_ports={"a": 7.0, "b": 9.7, "c": 10.0})) == []
    assert reasons(replace(FINE, full_ports={})) == []


def test_a_slow_run_says_when_least_arrived_and_who_waited():
    seconds = [
        Second(1, 0.0, {}, 10.0),  # before the window
        Second(2, 3.0, {"ovs-vswitchd 0": 20.0, "ovs-vswitchd 1": 61.0}, 101.0),
        Second(3, 9.0, {"ovs-vswitchd 0": 10.0, "ovs-vswitchd 1": 11.0}, 140.0),
    ]
    slow = replace(FINE, measured_mbps=120.0, iperf_mbps=120 / WIRE_PER_PAYLOAD, seconds=seconds)
    (reason,) = reasons(slow)
    assert "second 2, 101.0 Mb/s, when ovs-vswitchd 1 waited 61 % of the time for a processor" in reason
    assert "3 % idle" in reason


def test_after_a_failure_the_machine_is_not_the_only_suspect():
    slow = replace(FINE, measured_mbps=120.0, iperf_mbps=120 / WIRE_PER_PAYLOAD, failures=True)
    (reason,) = reasons(slow)
    assert reason.startswith("the machine, or TCP after the failure, was too slow")
