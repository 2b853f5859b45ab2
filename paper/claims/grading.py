"""Claims on how long a class takes to be graded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from paper.claims.claim import Claim, Source, rows

SIXTY = Source("classroom/sixty.csv", "python -m benchmarks.grading", "4 minutes of two processors")


def _sixty(path: Path) -> Iterator[str]:
    ours = {row["case"].partition(":")[0]: float(row["ours"]) for row in reversed(rows(path))}
    took, told = ours["60 submissions, 2 at once"], ours["the estimate beforehand, beside what it took"]
    load = ours["load of the machine meanwhile"]
    yield (
        f"took {took:.1f} min on two processors (load {load:.0f}, most of it the grading itself); "
        f"{told:.0f} min were estimated beforehand"
    )
    yield f"An untouched one took {ours['untouched']:.0f} s, a right one {ours['right']:.0f} s"


CLAIMS = (
    Claim(
        "How long a class of sixty takes to grade",
        "docs/assignment/instructor.md",
        SIXTY,
        _sixty,
        "another machine's, and other work on it, by as much as that is",
    ),
)
