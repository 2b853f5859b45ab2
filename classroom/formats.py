"""A grade as the file of a grading service: Gradescope, PrairieLearn, Classroom 50.

Each part's points are divided evenly among its checks, so that the tests that a student sees add up to the grade.
"""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import Any, NamedTuple

from classroom.checks import Check, share_passed
from classroom.grading import BASELINE, PARTS, POINTS, UNTOUCHED, Checks, Grade

_CLASSROOM_50 = {"classroom": "CLASSROOM", "assignment": "ASSIGNMENT", "submission": "SUBMISSION_TAG"}
_CLASSROOM_50 |= {"commit": "COMMIT_URL", "release": "RELEASE_URL", "review": "REVIEW_URL"}
"""Which of its variables each entry of its result is."""


class Line(NamedTuple):
    """One test as a student sees it: its part and name, ``points`` of ``most``, and feedback."""

    part: str
    name: str
    points: float
    most: float
    feedback: str


def lines(grade: Grade, checks: Checks) -> list[Line]:
    found = []
    for part, file in PARTS.items():
        if part not in checks:
            found.append(Line(part, file, 0.0, POINTS[part], f"{file} was not handed in."))
            continue
        each = POINTS[part] / len(checks[part])
        counts = share_passed(checks[part], UNTOUCHED.get(part, ())) > 0
        for one in checks[part]:
            points = each if one.passed and counts else 0.0
            found.append(Line(part, f"{file}: {one.name}", points, each, _feedback(one, counts)))
    words = "Not measured: scheduler.py has to keep its contract first."
    if wrong := [one for one in checks.get("quality", ()) if not one.passed]:
        words = _feedback(wrong[0], counts=True)
    elif grade.quality is not None:
        words = (
            f"Your scheduler reaches {grade.percent_of_bound:.1f} % of the upper bound for any paths, on average "
            f"over eight simulations. Points go from ECMP (none) to {BASELINE} (all)."
        )
    most = POINTS["quality"]
    name = "scheduler.py: bandwidth in the simulator"
    return [*found, Line("quality", name, most * (grade.quality or 0.0), most, words)]


def _feedback(check: Check, counts: bool) -> str:
    if check.passed:
        return "" if counts else "Passed, but an untouched template passes this, too: points need other checks as well."
    told = f"{check.words}\nRead again: {check.section}."
    return f"{told}\nAn input that shows it:\n{check.example}" if check.example else told


def gradescope(grade: Grade, checks: Checks) -> dict[str, Any]:
    tests = []
    for number, (part, name, points, most, feedback) in enumerate(lines(grade, checks), 1):
        status = "passed" if points >= most else "failed"
        told = {"name": name, "number": str(number), "score": round(points, 4), "max_score": round(most, 4)}
        tests.append({**told, "status": status, "output": feedback, "tags": [part]})
    return {
        "score": round(grade.points, 2),
        "execution_time": round(grade.seconds),
        "output": _summary(grade),
        **dict.fromkeys(("output_format", "test_output_format", "test_name_format"), "text"),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def prairielearn(grade: Grade, checks: Checks) -> dict[str, Any]:
    tests = []
    for part, name, points, most, feedback in lines(grade, checks):
        told = {"name": name, "description": f"part: {part}", "points": round(points, 4), "max_points": round(most, 4)}
        tests.append({**told, "output": feedback})
    score = round(min(1.0, grade.points / 100), 6)
    return {"gradable": True, "score": score, "message": _summary(grade), "tests": tests}


def classroom50(grade: Grade, checks: Checks) -> dict[str, Any]:
    """The content of result.json: a test for each part, because its scores are whole numbers."""
    told, tests = lines(grade, checks), []
    for part, most in POINTS.items():
        points = sum(line.points for line in told if line.part == part)
        score = {"score": int(points + 0.5), "max-score": round(most)}
        tests.append({"test-name": part, "passed": points >= most - 1e-9, **score})
    return {
        "schema": "classroom50/result/v1",
        **{entry: os.environ.get(variable, "") for entry, variable in _CLASSROOM_50.items()},
        "datetime": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


FORMATS = {"gradescope": gradescope, "prairielearn": prairielearn, "classroom50": classroom50}


def _summary(grade: Grade) -> str:
    return f"{grade.points:.1f} of 100 points. Tests that fail say what is wrong and what to read again."
