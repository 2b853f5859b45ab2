"""The rules of speed, each from both sides of its limit; and who was slow, TCP or the machine."""

from dataclasses import replace

import pytest

from harness.judge.evidence import Second
from harness.judge.links_alone import LinksAlone
from harness.judge.saturation import FullLinks
from harness.judge.speed import of_speed
from harness.judge.verdict import judge
from tests.harness.judge.fine import FINE, UNSETTLED, reasons


def alone(share):
    return LinksAlone((1.0, 5.0), 100 * share, 100.0)


def rules(**changes):
    return {check.rule.rule: check.rule.kept for check in of_speed(replace(FINE, **changes))}


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        ("total", {"measured_mbps": 136.01}, {"measured_mbps": 135.99}),
        ("progress", {"progress": 0.8501}, {"progress": 0.8499}),
        ("full links", {"full": FullLinks((3, 5), {"a": 9.701})}, {"full": FullLinks((3, 5), {"a": 9.699})}),
        (
            "full links",
            {"full": FullLinks((3, 5), {"a": 7.0, "b": 9.701, "c": 10.0})},
            {"full": FullLinks((3, 5), {"a": 7.0, "b": 9.699, "c": 10.0})},
        ),
    ],
)
def test_every_limit_from_both_sides(rule, kept, broken):
    assert (rules(**kept)[rule], reasons(replace(FINE, **kept))) == (True, [])
    assert rules(**broken)[rule] is False
    (reason,) = reasons(replace(FINE, **broken))
    assert reason.startswith("the machine was too slow: ")


def test_nothing_measured_is_nothing_kept():
    assert rules(measured_mbps=float("nan"))["total"] is False
    assert rules(full=FullLinks((3, 5), {"a": float("nan")}))["full links"] is False


def test_links_alone_from_both_sides():
    """It condemns nothing by itself."""
    for share, kept in ((LIMIT + 0.0001, True), (LIMIT - 0.0001, False)):
        assert rules(alone=alone(share))["links alone"] is kept
        assert reasons(replace(FINE, alone=alone(share))) == []
    assert rules()["links alone"] is None


LIMIT = 0.93


@pytest.mark.parametrize(
    "slow",
    [
        {"measured_mbps": 120.0},
        {"full": FullLinks((3, 5), {"a": 9.0})},
        {"measured_mbps": 120.0, "full": FullLinks((1, 5), {"a": 5.0}, UNSETTLED)},
    ],
)
def test_where_links_alone_would_not_have_brought_more_it_was_tcp_and_the_run_counts(slow):
    left, taken = alone(LIMIT + 0.0001), alone(LIMIT - 0.0001)
    found = judge(replace(FINE, **slow, alone=left, alone_settled=left))
    assert (found.verdict, found.reasons) == ("ok", ())
    assert found.remarks[0].startswith("TCP, not the machine, was slow: ")
    found = judge(replace(FINE, **slow, alone=taken, alone_settled=taken))
    assert (found.verdict, found.remarks) == ("invalid", ())
    assert found.reasons[0].startswith("the machine was too slow: ")
    assert "from 93% on it is TCP" in found.reasons[0]


def test_who_was_slow_is_asked_of_the_time_in_which_it_was():
    total = {"measured_mbps": 120.0, "alone": alone(0.99), "alone_settled": alone(0.5)}
    assert reasons(replace(FINE, **total)) == []
    full = {"full": FullLinks((3, 5), {"a": 9.0}), "alone": alone(0.99), "alone_settled": alone(0.5)}
    assert "50% of the 100.0 Mb/s" in reasons(replace(FINE, **full))[0]


def test_idle_time_is_no_judge():
    """A start-up burst takes every processor of a small machine, and does no harm; see docs/notes/emulation.md."""
    busy = [Second(i + 1, 0.0, {}, 155.0) for i in range(6)]
    assert reasons(replace(FINE, seconds=busy)) == []


def test_half_of_the_full_links_may_be_shared_as_tcp_likes():
    assert reasons(replace(FINE, full=FullLinks((3.0, 5.0), {"a": 7.0, "b": 9.7, "c": 10.0}))) == []


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
    slow = replace(
        FINE,
        measured_mbps=120.0,
        throttled_s={"0_0_2": 0.1, "0_0_3": 2.04},
        seconds=[Second(2, 3.0, {}, 101.0)],
    )
    (reason,) = reasons(slow)
    assert reason.endswith("its CPU limit held host 0_0_3 back for 2.0 s")


def test_after_a_failure_the_machine_is_not_the_only_suspect():
    slow = replace(FINE, measured_mbps=120.0, failures=True)
    (reason,) = reasons(slow)
    assert reason.startswith("the machine, or TCP after the failure, was too slow")
    (reason,) = reasons(replace(slow, alone=alone(0.5)))
    assert reason.startswith("the machine was too slow"), "here it is known"
