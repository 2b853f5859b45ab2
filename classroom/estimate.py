"""An estimate of grading time, from a second of grading on this machine with its present load."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean

from classroom.code import Code
from classroom.grading import CALL_S, PARTS, Class
from classroom.milestones import check_milestone
from classroom.submission import Submission
from classroom.template import MILESTONES, TEMPLATES

COST = {"demand": 3.3, "first_fit": 4.9, "annealing": 7.9, "loop": 1.1, "contract": 6.2}
"""The time of correct files, in units of an untouched loop.py; measured by `python -m benchmarks.grading --parts`."""


def unit_s(course: Class) -> float:
    """Seconds that the checks of an untouched loop.py take on this machine now: start-up, and many small requests."""
    code = Code("loop.py", (TEMPLATES / "loop.txt").read_text(encoding="utf-8"), MILESTONES["loop"].name)
    clock = time.monotonic()
    with Submission(course.start(loop=True), code, CALL_S) as submission:
        check_milestone("loop", submission, course.seed)
    return time.monotonic() - clock


def estimate_s(folders: Sequence[Path], course: Class, jobs: int) -> float:
    """Seconds for ordinary submissions with the files that these folders have. Raises Unfit."""
    units = sum(COST[part] for folder in folders for part in PARTS if (folder / PARTS[part][0]).is_file())
    if not units:
        return 0.0
    with ThreadPoolExecutor(jobs) as crew:  # in parallel, as they will be graded
        return units * mean(crew.map(unit_s, [course] * jobs)) / jobs
