"""Each way in which numbers can be other than they seem, one at a time, and each limit with its two sides."""

from dataclasses import replace

import pytest

from harness.verdict.claims import Claim
from harness.verdict.judgement import of_soundness
from tests.harness.verdict.fine import FINE, ON_THE_WIRE, reasons


def against(**changes):
    return [said for check in of_soundness(replace(FINE, **changes)) for said in check.against]


def test_a_fine_run_has_nothing_against_it():
    assert against() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"port_mbps": {"0_0_1-eth2": 10.2}}, "port 0_0_1-eth2 carried 10.20 Mb/s, above its limit of 10"),
        ({"port_mbps": {"a": float("nan"), "b": 10.0}}, "port a carried nan"),
        ({"unfinished_flows": ["0 to 4"]}, "1 flows did not run from start to end: 0 to 4"),
        ({"payload_mbps": 100.0}, "more than 5% apart"),
        ({"payload_mbps": float("nan")}, "apart"),
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
        ({"clock_set_s": -20.0}, "the machine's clock was set by -20 s during the run"),
    ],
)
def test_each_doubt_is_named(change, said):
    (reason,) = against(**change)
    assert said in reason
    assert reasons(replace(FINE, **change)) == [reason]


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        # 1 % above 10 Mb/s, and a bucket of 0.15 Mb once in 4 s
        ("limits", {"port_mbps": {"a": 10.1374}}, {"port_mbps": {"a": 10.1376}}),
        (
            "counters",
            {"counted_mbps": 100.0, "payload_mbps": 95.01 / ON_THE_WIRE},
            {"counted_mbps": 100.0, "payload_mbps": 94.99 / ON_THE_WIRE},
        ),
        (
            "counters",
            {"counted_mbps": 95.01, "payload_mbps": 100.0 / ON_THE_WIRE},
            {"counted_mbps": 94.99, "payload_mbps": 100.0 / ON_THE_WIRE},
        ),
        # what opening and closing connections brings is of the payload's side
        (
            "counters",
            {"counted_mbps": 100.0, "payload_mbps": 90.0 / ON_THE_WIRE, "handshakes_mbps": 5.01},
            {"counted_mbps": 100.0, "payload_mbps": 90.0 / ON_THE_WIRE, "handshakes_mbps": 4.99},
        ),
        ("paths", {"claims": [Claim("a", 5.999, 4.5, 0.5)]}, {"claims": [Claim("a", 6.001, 4.5, 0.5)]}),
        ("clock", {"clock_set_s": 0.0099}, {"clock_set_s": 0.0101}),
        ("clock", {"clock_set_s": -0.0099}, {"clock_set_s": -0.0101}),
        ("losses", {"lost_packets": {}}, {"lost_packets": {"port a": 1}}),
        ("flows", {"unfinished_flows": []}, {"unfinished_flows": ["0 to 4"]}),
        ("processes", {"dead_processes": []}, {"dead_processes": ["bwm-ng (status 1)"]}),
    ],
)
def test_every_limit_from_both_sides(rule, kept, broken):
    assert (against(**kept), len(against(**broken))) == ([], 1)
    for changes, holds in ((kept, True), (broken, False)):
        found = {check.rule.rule: check.rule.kept for check in of_soundness(replace(FINE, **changes))}
        assert found == dict.fromkeys(found, True) | {rule: holds}


def test_where_nothing_was_sent_the_counters_are_not_apart():
    nothing = replace(FINE, counted_mbps=0.0, payload_mbps=0.0, handshakes_mbps=0.0)
    (rule,) = (check.rule for check in of_soundness(nothing) if check.rule.rule == "counters")
    assert (rule.kept, rule.found) == (True, 0.0)


def test_a_full_bucket_may_be_spent_once():
    """Two frames of 9014 bytes are much of what half a megabit a second carries in four seconds."""
    slow = {"bw": 0.5, "bucket_mbit": 0.144, "claims": []}
    assert against(**slow, port_mbps={"a": 0.54}) == []
    assert "above its limit" in against(**slow, port_mbps={"a": 0.55})[0]


def test_a_link_carries_more_than_its_flows_deliver_when_packets_are_dropped_behind_it_or_flows_have_moved():
    assert against(claims=[Claim("a", 5.0, 9.0, 0.0), Claim("b", 6.0, 3.0, 2.5)]) == []


def test_of_runs_with_broken_cables_losses_are_not_asked():
    losses = of_soundness(replace(FINE, lost_packets=None))[-1]
    assert (losses.rule.kept, losses.rule.why_not) == (None, "a cable out of service loses packets")
