"""A grade as the file of a grading service (Gradescope, PrairieLearn) or as a text, and a class by its checks.

Each part's points are divided evenly among its checks, so that the tests that a student sees add up to the grade.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from textwrap import indent
from typing import Any, NamedTuple

from classroom.checks import Check, earned
from classroom.grading import PARTS, POINTS, UNTOUCHED, Checks, Grade


class Line(NamedTuple):
    """One test as a student sees it, with its ``points`` of ``most``."""

    part: str
    name: str
    points: float
    most: float
    feedback: str


def lines(grade: Grade, checks: Checks) -> list[Line]:
    found = []
    for part, file in PARTS.items():
        if part not in checks:
            found.append(Line(part, file, 0.0, POINTS[part], f"{file} was not handed in. Found: {grade.files}."))
            continue
        each = POINTS[part] / sum(one.worth for one in checks[part])
        for one, points in zip(checks[part], earned(checks[part], *UNTOUCHED.get(part, ())), strict=True):
            told = _feedback(one, counts=points > 0)
            found.append(Line(part, f"{file}: {one.name}", points * each, one.worth * each, told))
    words = "Not measured: scheduler.py has to keep its contract first."
    for one in checks.get("quality", ()):
        words = _feedback(one, counts=True)
    most, name = POINTS["quality"], "scheduler.py: bandwidth in the simulator"
    return [*found, Line("quality", name, most * (grade.quality or 0.0), most, words)]


def _feedback(check: Check, counts: bool) -> str:
    if check.passed:
        return "" if counts else "Passed, but doing nothing passes this, too: it counts beside other checks only."
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


def feedback(grade: Grade, checks: Checks) -> str:
    """For a student, where there is no service."""
    told = [grade.submission, _summary(grade)]
    for _, name, points, most, words in lines(grade, checks):
        told.append(f"\n{points:.2f} of {most:.2f}  {name}\n" + indent(words, "    "))
    return "\n".join(told).rstrip() + "\n"


def failures(graded: Sequence[tuple[Grade, Checks]]) -> list[dict[str, Any]]:
    """By check: how many handed its file in, and how many of these do not have all of its points; most first."""
    handed_in, failed = Counter[str](), Counter[str]()
    for grade, checks in graded:
        for part, name, points, most, _ in lines(grade, checks):
            if part in checks:
                handed_in[name] += 1
                failed[name] += points < most - 1e-9
    return [{"check": name, "failed": failed[name], "handed_in": handed_in[name]} for name, _ in failed.most_common()]


FORMATS = {"gradescope": gradescope, "prairielearn": prairielearn}


def _summary(grade: Grade) -> str:
    how = "Tests that fail say what is wrong and what to read again."
    return f"{grade.points:.1f} of 100 points. {how}\nFiles: {grade.files}. {grade.remarks}"
