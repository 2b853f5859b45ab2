"""The steps on the way to Hedera, each with checks that say what is wrong in the field's words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from classroom.submission import Misbehaved, Submission
from classroom.verdict import Check

Look = Callable[[Submission, Random], tuple[str, str]]
"""One check: what is wrong, empty where nothing is, and the example that shows it."""


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


def check_milestone(milestone: str, submission: Submission, seed: int) -> list[Check]:
    """The checks of a milestone (`classroom.template.MILESTONES`), random inputs drawn from the seed."""
    from classroom.milestones import annealing, demand, first_fit, loop

    looks = {
        "demand": demand.LOOKS,
        "first-fit": first_fit.LOOKS,
        "annealing": annealing.LOOKS,
        "loop": loop.LOOKS,
    }
    return look_at(submission, seed, looks[milestone])
