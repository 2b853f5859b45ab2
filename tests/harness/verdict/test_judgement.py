"""Of the rules that were applied, what becomes of the run: it counts, it is invalid, or nothing can be said."""

from dataclasses import replace

from harness.verdict.judgement import judge
from harness.verdict.saturation import FullLinks
from results.parts import Rule
from tests.harness.verdict.fine import FINE, UNSETTLED, reasons

EVERY_RULE = (
    "processes",
    "clock",
    "limits",
    "flows",
    "counters",
    "paths",
    "losses",
    "total",
    "progress",
    "full links",
)


def test_a_fine_run_counts_and_says_which_rules_it_kept():
    found = judge(FINE)
    assert (found.verdict, found.reasons, found.remarks) == ("ok", (), ())
    assert tuple(rule.rule for rule in found.rules) == EVERY_RULE
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
    by_name = {rule.rule: rule for rule in judge(replace(FINE, measured_mbps=float("nan"))).rules}
    assert by_name["processes"] == Rule("processes", True)
    assert by_name["full links"] == Rule("full links", True, 0.998, least=0.97)
    assert by_name["total"] == Rule("total", False, least=0.85)


def test_in_virtual_time_no_machine_is_slow_and_what_tcp_did_is_told():
    slow = replace(FINE, measured_mbps=135.0, full=FullLinks((3.0, 5.0), {"a": 9.0}), virtual=True)
    found = judge(slow)
    assert (found.verdict, found.reasons) == ("ok", ())
    assert [remark.partition(":")[0] for remark in found.remarks] == ["TCP was slow", "TCP was slow"]
    assert judge(replace(slow, virtual=False)).verdict == "invalid"
    assert judge(replace(FINE, full=FullLinks((1, 5), {}, UNSETTLED), virtual=True)).verdict == "ok"
    assert judge(replace(slow, lost_packets={"port a": 1})).verdict == "invalid"
