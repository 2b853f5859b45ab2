"""One thing that a milestone looks at, and how many are looked at in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from classroom.process import Misbehaved
from classroom.submission import Submission
from classroom.verdict import Check

Look = Callable[[Submission, Random], tuple[str, str]]
"""What is wrong, empty where nothing is, and the example that shows it."""


def look_at(submission: Submission, seed: int, looks: Sequence[tuple[str, str, Look]]) -> list[Check]:
    """The checks (name, section, look) one after another. One that hangs or dies stands for itself alone."""
    checks = []
    for name, section, look in looks:
        try:
            words, example = look(submission, Random(f"{seed} {name}"))
        except Misbehaved as error:
            words, example = str(error), ""
        checks.append(Check(name, section, words, example))
    return checks
