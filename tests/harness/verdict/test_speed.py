"""The rules of speed, each from both sides of its limit."""

from dataclasses import replace

import pytest

from harness.verdict.judgement import Second, of_speed
from harness.verdict.saturation import FullLinks
from tests.harness.verdict.fine import FINE, reasons


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


def test_idle_time_is_no_judge():
    """A start-up burst takes every processor of a small machine, and does no harm; see docs/notes/emulation.md."""
    busy = [Second(i + 1, 0.0, 155.0) for i in range(6)]
    assert reasons(replace(FINE, seconds=busy)) == []


def test_a_slow_run_says_when_least_arrived_and_how_busy_the_machine_was():
    seconds = [
        Second(1, 0.0, 10.0),  # before the window
        Second(2, 3.0, 101.0),
        Second(3, 9.0, 140.0),
    ]
    slow = replace(FINE, measured_mbps=120.0, seconds=seconds)
    (reason,) = reasons(slow)
    assert "second 2, 101.0 Mb/s, when the processors were 3 % idle" in reason
    (reason,) = reasons(replace(FINE, full=FullLinks((2.5, 5.0), {"a": 9.0}), seconds=seconds))
    assert "second 3, 140.0 Mb/s" in reason, "least of the time in which links had to be full"


def test_a_slow_run_says_which_host_its_cpu_limit_held_back_most():
    slow = replace(
        FINE,
        measured_mbps=120.0,
        throttled_s={"0_0_2": 0.1, "0_0_3": 2.04},
        seconds=[Second(2, 3.0, 101.0)],
    )
    (reason,) = reasons(slow)
    assert reason.endswith("its CPU limit held host 0_0_3 back for 2.0 s")


def test_after_a_failure_the_machine_is_not_the_only_suspect():
    slow = replace(FINE, measured_mbps=120.0, failures=True)
    (reason,) = reasons(slow)
    assert reason.startswith("the machine, or TCP after the failure, was too slow")
