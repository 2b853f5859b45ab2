"""Each way in which numbers can be other than they seem, each limit with its two sides, and what becomes of the run: it
counts, it is invalid, or nothing can be said."""

from dataclasses import replace
from math import nan

import pytest

from harness.verdict.judgement import judge
from harness.verdict.links import Claim, FullLinks
from record.parts import Rule
from tests.harness.verdict.fine import FINE, SPEC, UNSETTLED, reasons
from topos.wire import acknowledgements_per_payload, wire_per_payload

OF_SOUNDNESS = ("processes", "limits", "flows", "counters", "paths", "losses")
VIRTUAL = replace(SPEC, time="virtual")
OF_SPEED = ("total", "progress", "full links")


def test_a_fine_run_counts_and_says_which_rules_it_kept():
    found = judge(FINE)
    assert (found.verdict, found.reasons, found.remarks) == ("ok", (), ())
    assert tuple(rule.rule for rule in found.rules) == (*OF_SOUNDNESS, *OF_SPEED)
    assert [rule.rule for rule in found.rules if rule.kept is None] == ["progress"]


def test_every_port_at_86_percent_is_not_passed_where_no_second_had_settled():
    """85 % of the total are enough for the coarse rule, and no other could be applied."""
    ports = {f"port {n}": 8.6 for n in range(96)}
    slow = replace(FINE, measured_mbps=137.6, port_mbps=ports, full=FullLinks((1, 5), ports, UNSETTLED), claims=[])
    found = judge(slow)
    assert found.verdict == "not judged"
    (reason,) = found.reasons
    assert reason.startswith(f"no rule of speed could be applied: {UNSETTLED}, and half of the 96 links")
    assert "carried less than 86.0% of their rate" in reason
    assert judge(replace(slow, full=FullLinks((1, 5), {}, UNSETTLED))).verdict == "not judged"


def test_links_that_are_full_before_tcp_has_settled_prove_as_much():
    assert judge(replace(FINE, full=FullLinks((1, 5), {"a": 9.701}, UNSETTLED))).verdict == "ok"
    assert judge(replace(FINE, full=FullLinks((1, 5), {"a": 9.699}, UNSETTLED))).verdict == "not judged"


def test_what_comes_and_goes_is_judged_by_progress():
    none = FullLinks((1, 5), {}, "flows come and go")
    assert judge(replace(FINE, full=none, progress=0.9)).verdict == "ok"
    assert judge(replace(FINE, full=none, progress=None)).verdict == "not judged"


def test_a_reason_of_any_kind_is_more_than_no_judgement():
    unsettled = replace(FINE, full=FullLinks((1, 5), {}, UNSETTLED))
    assert judge(replace(unsettled, lost_packets={"port a": 1})).verdict == "invalid"
    found = judge(unsettled, ["the controller reported an error: boom"])
    assert (found.verdict, found.reasons) == ("invalid", ("the controller reported an error: boom",))


def test_of_the_rules_of_speed_the_first_that_condemns_speaks_for_all():
    slow = replace(FINE, measured_mbps=100.0, progress=0.5, full=FullLinks((3, 5), {"a": 5.0}))
    assert len(reasons(slow)) == 1
    assert [rule.kept for rule in judge(slow).rules[-3:]] == [False, False, False]


def test_a_rule_is_stored_rounded_and_without_what_is_no_number():
    by_name = {rule.rule: rule for rule in judge(replace(FINE, measured_mbps=nan)).rules}
    assert by_name["processes"] == Rule("processes", True)
    assert by_name["full links"] == Rule("full links", True, 0.998, least=0.97)
    assert by_name["total"] == Rule("total", False, least=0.85)


def test_in_virtual_time_no_machine_is_slow_and_what_tcp_did_is_told():
    slow = replace(FINE, measured_mbps=135.0, full=FullLinks((3.0, 5.0), {"a": 9.0}), spec=VIRTUAL)
    found = judge(slow)
    assert (found.verdict, found.reasons) == ("ok", ())
    assert [remark.partition(":")[0] for remark in found.remarks] == ["TCP was slow", "TCP was slow"]
    assert judge(replace(slow, spec=SPEC)).verdict == "invalid"
    assert judge(replace(FINE, full=FullLinks((1, 5), {}, UNSETTLED), spec=VIRTUAL)).verdict == "ok"
    assert judge(replace(slow, lost_packets={"port a": 1})).verdict == "invalid"


def found_by(rule, **changes):
    """What a rule says of a run that is fine but for these changes."""
    return {one.rule: one for one in judge(replace(FINE, **changes)).rules}[rule]


def payload(mbps, mtu=1500):
    """What makes so much on the wire."""
    return mbps / (wire_per_payload(mtu) + acknowledgements_per_payload(mtu))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"port_mbps": {"a": nan, "b": 10.0}}, "port a "),
        ({"unfinished_flows": ["0 to 4"]}, "0 to 4"),
        ({"payload_mbps": nan}, "bwm-ng"),
        ({"lost_packets": {"port a": 3, "port b": 40}}, "40 packets were lost in port b"),
        ({"dead_processes": ["ovs-vswitchd 1 (status -9)"]}, "ovs-vswitchd 1 (status -9)"),
        ({"claims": [Claim("a", 9, 10, 0), Claim("b", 5.2, 4, 0), Claim("c", 6, 2, 2.9)]}, "placed on b"),
        ({"claims": [Claim("a", 1.0, nan, 0.0)]}, "placed on a"),
    ],
)
def test_each_doubt_is_named(change, said):
    (reason,) = reasons(replace(FINE, **change))
    assert said in reason


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        # 1 % above 10 Mb/s, and a bucket of 0.15 Mb once in 4 s
        ("limits", {"port_mbps": {"a": 10.1374}}, {"port_mbps": {"a": 10.1376}}),
        # links of several rates: each is held to its own
        (
            "limits",
            {"rates": {"a": 1.5}, "port_mbps": {"a": 15.18, "b": 10}},
            {"rates": {"a": 0.5}, "port_mbps": {"a": 6}},
        ),
        (
            "full links",
            {"rates": {"a": 0.5}, "full": FullLinks((3, 5), {"a": 4.9})},
            {"full": FullLinks((3, 5), {"a": 4.9})},
        ),
        # of frames of 9014 bytes two are much of what half a megabit a second carries in four seconds
        *(
            ("limits", of_half | {"port_mbps": {"a": 0.54}}, of_half | {"port_mbps": {"a": 0.55}})
            for of_half in [
                {
                    "spec": replace(SPEC, link_mbps=0.5, mtu=9000),
                    "claims": [],
                    "payload_mbps": payload(120, 9000),
                    "full": FullLinks((3, 5), {"a": 0.5}),
                }
            ]
        ),
        (
            "counters",
            {"counted_mbps": 100.0, "payload_mbps": payload(95.01)},
            {"counted_mbps": 100.0, "payload_mbps": payload(94.99)},
        ),
        (
            "counters",
            {"counted_mbps": 95.01, "payload_mbps": payload(100)},
            {"counted_mbps": 94.99, "payload_mbps": payload(100)},
        ),
        # what opening and closing connections brings is of the payload's side
        (
            "counters",
            {"counted_mbps": 100.0, "payload_mbps": payload(90), "besides_mbps": 5.01},
            {"counted_mbps": 100.0, "payload_mbps": payload(90), "besides_mbps": 4.99},
        ),
        # a link carries more than its flows deliver when packets are dropped behind it
        (
            "paths",
            {"claims": [Claim("a", 5.999, 4.5, 0.5), Claim("b", 5.0, 9.0, 0.0)]},
            {"claims": [Claim("a", 6.001, 4.5, 0.5)]},
        ),
        # what the cores sent is what flows between pods delivered
        ("conservation", {"spread_mbps": (95.01, 100.0)}, {"spread_mbps": (94.99, 100.0)}),
        ("conservation", {"spread_mbps": (100.0, 95.01)}, {"spread_mbps": (100.0, nan)}),
        ("losses", {"lost_packets": {}}, {"lost_packets": {"port a": 1}}),
        ("flows", {"unfinished_flows": []}, {"unfinished_flows": ["0 to 4"]}),
        ("processes", {"dead_processes": []}, {"dead_processes": ["bwm-ng (status 1)"]}),
        ("total", {"measured_mbps": 136.01}, {"measured_mbps": 135.99}),
        ("total", {}, {"measured_mbps": nan}),
        ("progress", {"progress": 0.8501}, {"progress": 0.8499}),
        ("full links", {"full": FullLinks((3, 5), {"a": 9.701})}, {"full": FullLinks((3, 5), {"a": 9.699})}),
        ("full links", {}, {"full": FullLinks((3, 5), {"a": nan})}),
        (
            "full links",
            {"full": FullLinks((3, 5), {"a": 7.0, "b": 9.701, "c": 10.0})},
            {"full": FullLinks((3, 5), {"a": 7.0, "b": 9.699, "c": 10.0})},
        ),
    ],
)
def test_every_limit_from_both_sides(rule, kept, broken):
    for changes, holds in ((kept, True), (broken, False)):
        found = judge(replace(FINE, **changes))
        by_name = {one.rule: one.kept for one in found.rules if one.kept is not None}
        assert by_name == dict.fromkeys(by_name, True) | {rule: holds}
        assert len(found.reasons) == (not holds)
        slow = [reason.startswith("the machine was too slow: ") for reason in found.reasons]
        assert slow == [rule in OF_SPEED] * (not holds)


def test_where_nothing_was_sent_the_counters_are_not_apart():
    rule = found_by("counters", counted_mbps=0.0, payload_mbps=0.0)
    assert (rule.kept, rule.found) == (True, 0.0)


def test_of_runs_with_broken_cables_losses_are_not_asked():
    rule = found_by("losses", lost_packets=None)
    assert (rule.kept, rule.why_not) == (None, "a cable out of service loses packets")


def test_after_a_failure_it_may_have_been_tcp_that_was_slow():
    (reason,) = reasons(replace(FINE, measured_mbps=120.0, spec=replace(SPEC, fail=("switch:4_1_1@2",))))
    assert reason.startswith("the machine, or TCP after the failure, was too slow")
