"""The milestones on the way to Hedera, each with checks that explain mistakes in the paper's terms."""

from __future__ import annotations

from classroom.looks import Look, look_at
from classroom.submission import Submission
from classroom.verdict import Check


def looks_of(milestone: str) -> list[tuple[str, str, Look]]:
    """The checks of a milestone (`classroom.template.MILESTONES`): name, section of the paper, and function."""
    from classroom.milestones import annealing, demand, first_fit, loop

    return {
        "demand": demand.LOOKS,
        "first-fit": first_fit.LOOKS,
        "annealing": annealing.LOOKS,
        "loop": loop.LOOKS,
    }[milestone]


def check_milestone(milestone: str, submission: Submission, seed: int) -> list[Check]:
    """Run the checks of a milestone, with random inputs from the seed."""
    return look_at(submission, seed, looks_of(milestone))
