"""Each way a run can be invalid, one at a time, from a run that is fine."""

from dataclasses import replace

import pytest

from harness.judge.claims import Claim
from harness.judge.saturation import FullLinks
from harness.judge.verdict import Evidence, Second, reasons
from results.wire import acknowledgements_per_payload, wire_per_payload

FINE = Evidence(
    bw=10,
    mtu=1500,
    bucket_mbit=0.15,
    port_mbps={"0_0_1-eth2": 9.98, "0_0_2": 10.05},
    measured_mbps=155.0,
    counted_mbps=120.0,  # over a longer time than the window
    payload_mbps=120.0 / (wire_per_payload() + acknowledgements_per_payload()),
    predicted_mbps=160.0,
    unfinished_flows=[],
    full=FullLinks((3.0, 5.0), {"0_0_1-eth2": 9.98}),
    claims=[Claim("0_0_1-eth2", 9.9, 9.98, 0.0)],
    lost_packets={},
    throttled_s={},
    window=(1.0, 5.0),
    seconds=[],
    failures=False,
    dead_processes=[],
)


def test_a_fine_run_has_no_reason():
    assert reasons(FINE) == []


def test_a_full_bucket_may_be_spent_once():
    """Two frames of 9014 bytes are much of what half a megabit a second carries in four seconds."""
    slow = replace(
        FINE,
        bw=0.5,
        bucket_mbit=0.144,
        measured_mbps=8,
        predicted_mbps=8,
        full=FullLinks((3.0, 5.0), {}),
        claims=[],
    )
    assert reasons(replace(slow, port_mbps={"a": 0.54})) == []
    assert "above its limit" in reasons(replace(slow, port_mbps={"a": 0.55}))[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"port_mbps": {"0_0_1-eth2": 10.2}}, "port 0_0_1-eth2 carried 10.20 Mb/s, above its limit of 10"),
        ({"port_mbps": {"0_0_1-eth2": 10.15}}, "0_0_1-eth2 carried 10.15"),
        ({"port_mbps": {"0_0_1-eth2": float("nan")}}, "0_0_1-eth2"),
        ({"unfinished_flows": ["0 to 4"]}, "1 flows did not run from start to end: 0 to 4"),
        ({"payload_mbps": 100.0}, "more than 5% apart"),
        ({"payload_mbps": float("nan")}, "apart"),
        ({"measured_mbps": 135.0}, "too slow: 135.0 Mb/s is 84%"),
        (
            {"full": FullLinks((3.0, 5.0), {"a": 9.6, "b": 9.69, "c": 10.0})},
            "half of the 3 links that have to be full carried less than 96.9%",
        ),
        ({"full": FullLinks((3.0, 5.0), {"a": float("nan")})}, "too slow"),
        (
            {"lost_packets": {"port a": 3, "port b": 40}},
            "40 packets were lost in port b, outside every queue",
        ),
        (
            {"dead_processes": ["ovs-vswitchd 1 (status -9)"]},
            "ovs-vswitchd 1 (status -9) ended during the run",
        ),
        (
            {"claims": [Claim("a", 9.0, 10.0, 0.0), Claim("b", 5.2, 4.0, 0.0), Claim("c", 6.0, 2.0, 2.9)]},
            "those placed on b delivered 5.20 Mb/s, and it carried 4.00 Mb/s (2 links so)",
        ),
        (
            {"claims": [Claim("a", 1.0, float("nan"), 0.0)]},
            "did not take the paths that the controller claims",
        ),
    ],
)
def test_each_doubt_is_named(change, said):
    (reason,) = reasons(replace(FINE, **change))
    assert said in reason


def test_idle_time_is_no_judge():
    """A start-up burst takes every processor of a small machine, and does no harm; see docs/performance.md."""
    busy = [Second(i + 1, 0.0, {}, 155.0) for i in range(6)]
    assert reasons(replace(FINE, seconds=busy)) == []


def test_a_link_carries_more_than_its_flows_deliver_when_packets_are_dropped_behind_it_or_flows_have_moved():
    assert reasons(replace(FINE, claims=[Claim("a", 5.0, 9.0, 0.0), Claim("b", 6.0, 3.0, 2.5)])) == []


def test_half_of_the_full_links_may_be_shared_as_tcp_likes():
    assert reasons(replace(FINE, full=FullLinks((3.0, 5.0), {"a": 7.0, "b": 9.7, "c": 10.0}))) == []
    assert reasons(replace(FINE, full=FullLinks((3.0, 5.0), {}))) == []


def test_a_slow_run_says_when_least_arrived_and_who_waited():
    seconds = [
        Second(1, 0.0, {}, 10.0),  # before the window
        Second(2, 3.0, {"ovs-vswitchd 0": 20.0, "ovs-vswitchd 1": 61.0}, 101.0),
        Second(3, 9.0, {"ovs-vswitchd 0": 10.0, "ovs-vswitchd 1": 11.0}, 140.0),
    ]
    slow = replace(FINE, measured_mbps=120.0, seconds=seconds)
    (reason,) = reasons(slow)
    assert "second 2, 101.0 Mb/s, when ovs-vswitchd 1 waited 61 % of the time for a processor" in reason
    assert "3 % idle" in reason
    (reason,) = reasons(replace(FINE, full=FullLinks((2.5, 5.0), {"a": 9.0}), seconds=seconds))
    assert "second 3, 140.0 Mb/s" in reason, "least of the time in which links had to be full"


def test_a_slow_run_says_which_host_its_cpu_limit_held_back_most():
    slow = replace(FINE, measured_mbps=120.0, throttled_s={"0_0_2": 0.1, "0_0_3": 2.04},
                   seconds=[Second(2, 3.0, {}, 101.0)])  # fmt: skip
    (reason,) = reasons(slow)
    assert reason.endswith("its CPU limit held host 0_0_3 back for 2.0 s")


def test_after_a_failure_the_machine_is_not_the_only_suspect():
    slow = replace(FINE, measured_mbps=120.0, failures=True)
    (reason,) = reasons(slow)
    assert reason.startswith("the machine, or TCP after the failure, was too slow")
