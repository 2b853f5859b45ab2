"""One check of a milestone, and running several in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from classroom.process import Misbehaved
from classroom.submission import Submission
from classroom.verdict import Check

Look = Callable[[Submission, Random], tuple[str, str]]
"""A sentence on what is wrong (empty if nothing is), and the example that shows it."""


def look_at(submission: Submission, seed: int, looks: Sequence[tuple[str, str, Look]]) -> list[Check]:
    """Run checks (name, section, function) one after another. One that hangs or dies does not affect the others."""
    checks = []
    for name, section, look in looks:
        try:
            words, example = look(submission, Random(f"{seed} {name}"))
        except Misbehaved as error:
            words, example = str(error), ""
        checks.append(Check(name, section, words, example))
    return checks
