"""Each way a run can be invalid, one at a time, from a run that is fine."""

from dataclasses import replace

import pytest

from harness.verdict import WIRE_PER_PAYLOAD, Evidence, reasons

FINE = Evidence(
    bw=10,
    datapath="user",
    port_mbps={"0_0_1-eth2": 9.98, "0_0_2": 10.05},
    measured_mbps=155.0,
    iperf_mbps=155.0 / WIRE_PER_PAYLOAD,
    predicted_mbps=160.0,
    unfinished_flows=[],
    idle_percent=[2.0, 0.0],
    dead_processes=[],
)


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
            {"dead_processes": ["ovs-vswitchd 1 (status -9)"]},
            "ovs-vswitchd 1 (status -9) ended during the run",
        ),
        ({"datapath": "kernel", "idle_percent": [80.0, 20.0]}, "only 20 % idle in second 2"),
    ],
)
def test_each_doubt_is_named(change, said):
    (reason,) = reasons(replace(FINE, **change))
    assert said in reason


def test_idle_time_says_nothing_on_the_userspace_datapath_and_35_percent_is_enough_in_the_kernel():
    assert reasons(replace(FINE, idle_percent=[0.0])) == []
    assert reasons(replace(FINE, datapath="kernel", idle_percent=[35.0])) == []
