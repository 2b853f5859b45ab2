"""Many submissions, one after another, each isolated from the machine and from the others (`classroom.sandbox`)."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from classroom import contract, quality
from classroom.code import Code, read_code
from classroom.contract import ANSWER, INPUTS, RAISES, check_contract
from classroom.lent import asked_for
from classroom.milestones import check_milestone, demand
from classroom.sandbox import Place, Start, Unfit, closed, unclosed
from classroom.submission import Budget, Submission
from classroom.template import MILESTONES
from classroom.verdict import Check, share_passed
from hedera.text import one_line
from results.output import plain_table
from simulator.config import Config

if TYPE_CHECKING:
    from rich.table import Table

PARTS = {task.file.removesuffix(".py"): (task.file, task.name, name) for name, task in MILESTONES.items()} | {
    "contract": ("scheduler.py", "Scheduler", "")
}
"""The files to hand in: file, name in it, and milestone; the last one is a scheduler of the student's own."""
FREE = {"demand": (demand.NO_FLOWS,), "contract": contract.FREE}
"""Checks that an untouched template passes, by part: they count only together with others."""
FILES = sorted(file for file, _, _ in PARTS.values())
POINTS = {
    "demand": 20.0,
    "first_fit": 20.0,
    "annealing": 20.0,
    "loop": 10.0,
    "contract": 10.0,
    "quality": 20.0,
}
"""The points of each part, of 100 (docs/assignment/rubric.md)."""
BASELINE = "hedera-gff"
"""A scheduler as good as this one, on average over the patterns, gets all points for quality; one like ECMP gets
none."""
SIZES = (4, 8)
CALL_S = 20.0
CLOCK = 10.0
"""Real seconds allowed for each second of processor time: a busy machine is not the submission's fault."""
_PATTERNS = 5  # keeps these draws apart from others of one seed


@dataclass(frozen=True)
class Grade:
    """One submission. Parts are fractions of checks passed, None for a file that was not handed in.

    ``quality``: between ECMP (0) and the baseline (1), from ``percent_of_bound``, the mean over all patterns.
    ``points``: of 100. ``uses``: the project's modules that it imports although it cannot have them. ``remarks``: the
    first mistake of each part. ``seconds``: the time of grading. Each text is one line, safe for a terminal.
    """

    submission: str
    points: float
    demand: float | None
    first_fit: float | None
    annealing: float | None
    loop: float | None
    contract: float | None
    quality: float | None
    percent_of_bound: float | None
    seconds: float
    uses: str
    remarks: str


@dataclass(frozen=True)
class Class:
    """The settings for grading a class: patterns from one seed, and the results of ECMP and the baseline on them.

    ``budget_s``: the processor time for each file of a submission; in real time it may take CLOCK times as long.
    ``place``: for their isolation; None: without. ``hidden``: folders of the machine that they must not see.
    """

    seed: int
    budget_s: float
    place: Place | None = None
    hidden: tuple[Path, ...] = ()

    @cached_property
    def configs(self) -> tuple[Config, ...]:
        """The simulations that measure a scheduler's quality."""
        return tuple(quality.configs(SIZES, self.seed, lambda k: drawn_patterns(k, self.seed)))

    @cached_property
    def ecmp(self) -> float:
        """The mean share of the bound that ECMP reaches in them."""
        return mean(quality.simulated(config, "ecmp").share or 0.0 for config in self.configs)

    @cached_property
    def baseline(self) -> float:
        """The same of BASELINE."""
        return mean(quality.simulated(config, BASELINE).share or 0.0 for config in self.configs)

    def start(self, loop: bool = False) -> Start:
        """How code of this class is started; ``loop``: it is a control loop."""
        cpu_s = max(1, round(self.budget_s))
        if self.place is None:
            return unclosed(cpu_s)
        return closed(self.place, cpu_s, loop=loop, hidden=self.hidden)


def drawn_patterns(k: int, seed: int) -> tuple[str, ...]:
    """Random traffic, so that a submission cannot contain prepared answers."""
    rng = np.random.default_rng((seed, k, _PATTERNS))
    cores = k * k // 4
    stride = int(rng.integers(cores, k * cores - cores))
    edge, pod = rng.integers(5, 40, 2) / 100
    return f"stride:{stride}", f"staggered:{edge:.2f},{pod:.2f}", "randbij", "random"


def submissions(folders: Sequence[Path]) -> list[Path]:
    """The submissions that are these folders, or are in them, by name. ValueError, one sentence, if there is none."""
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder with submissions (unpack an archive first)")
        inside = [path for path in _entries(folder) if path.is_dir() and not path.is_symlink()]
        if _holds_any(folder):
            found.append(folder)
        elif any(_holds_any(path) for path in inside):
            found += inside
        else:
            raise ValueError(f"{folder} has no submission: that would be {', '.join(FILES)}, or some of these")
    return found


def left_out(folders: Sequence[Path], found: Sequence[Path]) -> list[str]:
    """Things beside the submissions that are not graded, such as archives and links."""
    beside = [path for folder in folders if folder not in found for path in _entries(folder)]
    return [path.name for path in beside if path not in found]


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name[0] not in "._")


def _holds_any(folder: Path) -> bool:
    return any(os.path.lexists(folder / file) for file in FILES)


def grade(folder: Path, course: Class) -> tuple[Grade, dict[str, list[Check]]]:
    """One submission's grade, and its checks by part.

    Whatever the submission does, only its own grade is affected. Raises Unfit if the machine cannot start it.
    """
    clock = time.monotonic()
    checks: dict[str, list[Check]] = {}
    uses: set[str] = set()
    share: float | None = None
    for part, (file, name, milestone) in PARTS.items():
        if (code := _handed_in(folder / file, name, part, checks)) is None:
            continue
        uses |= asked_for(code.source)
        budget = Budget(CLOCK * course.budget_s)
        try:
            if milestone:
                checks[part] = _milestone(milestone, code, budget, course)
            else:
                checks[part] = _contract(code, budget, course)
                if all(one.passed for one in checks[part] if one.name in (RAISES, ANSWER, INPUTS)):
                    checks["quality"], share = _quality(code, budget, course)
        except Unfit:
            raise
        except Exception as error:  # noqa: BLE001, an unforeseen answer must not end the grading of a class
            words = f"what it answers ended the check: {type(error).__name__}: {error}"
            checks[part] = [Check("its checks come to an end", "docs/assignment/instructor.md", words)]
    return _graded(folder.name, course, checks, share, uses, time.monotonic() - clock), checks


def _milestone(milestone: str, code: Code, budget: Budget, course: Class) -> list[Check]:
    with Submission(course.start(milestone == "loop"), code, CALL_S, budget) as submission:
        return check_milestone(milestone, submission, course.seed)


def _contract(code: Code, budget: Budget, course: Class) -> list[Check]:
    def another() -> Submission:
        return Submission(course.start(), code, CALL_S, budget)

    with another() as submission:
        return check_contract(submission, another, course.seed, examples=40)


def _quality(code: Code, budget: Budget, course: Class) -> tuple[list[Check], float | None]:
    shares = []
    with Submission(course.start(), code, CALL_S, budget) as submission:
        for config in course.configs:
            score = quality.submitted(config, submission)
            if score.share is None:
                case = f"k = {config.k}, {config.traffic}"  # without the class's seed, which is secret
                return [Check("it schedules in the simulator", "section 5.5", score.words, case)], None
            shares.append(score.share)
    return [], mean(shares)


def _handed_in(path: Path, name: str, part: str, checks: dict[str, list[Check]]) -> Code | None:
    """The code, or None if there is none; a file that cannot be read is a failed check."""
    try:
        path.lstat()
    except FileNotFoundError:
        return None
    except OSError:
        pass  # reported when it is read
    try:
        return read_code(path, name)
    except ValueError as error:
        words = str(error).replace(str(path), path.name)
        checks[part] = [Check("a file of Python", "docs/assignment/handout.md", words)]
        return None


def _graded(
    name: str,
    course: Class,
    checks: dict[str, list[Check]],
    share: float | None,
    uses: set[str],
    seconds: float,
) -> Grade:
    passed: dict[str, float | None] = dict.fromkeys(POINTS)
    for part in PARTS:
        if part in checks:
            passed[part] = share_passed(checks[part], FREE.get(part, ()))
    if share is not None:
        gain = (share - course.ecmp) / max(course.baseline - course.ecmp, 1e-9)
        passed["quality"] = min(1.0, max(0.0, gain))
    first = [next((f"{part}: {one.words}" for one in found if not one.passed), "") for part, found in checks.items()]
    return Grade(
        submission=_as_text(name),
        points=sum(POINTS[part] * (value or 0.0) for part, value in passed.items()),
        **passed,
        percent_of_bound=None if share is None else 100 * share,
        seconds=seconds,
        uses=one_line(" ".join(sorted(uses))),
        remarks=one_line("; ".join(words for words in first if words), most=2000),
    )


def _as_text(name: str) -> str:
    """A folder's name as one line that a spreadsheet opening grades.csv does not take for a formula."""
    shown = one_line(name)
    return f"'{shown}" if shown[:1] in ("=", "+", "-", "@") else shown


def table(grades: Sequence[Grade]) -> Table:
    """A line for each submission; parts in percent."""
    from rich.markup import escape

    parts_of = ("demand", "first fit", "annealing", "loop", "contract", "quality")
    title = "Grades: points of 100, parts in %"
    made = plain_table(title, "submission", "points", *parts_of, "% of bound")
    for column in made.columns:
        column.min_width, column.no_wrap = len(str(column.header)), True
    made.add_column("remarks", overflow="ellipsis", no_wrap=True, max_width=60)
    for one in grades:
        parts = (one.demand, one.first_fit, one.annealing, one.loop, one.contract, one.quality)
        cells = ["-" if part is None else f"{100 * part:.0f}" for part in parts]
        bound = "-" if one.percent_of_bound is None else f"{one.percent_of_bound:.1f}"
        made.add_row(escape(one.submission), f"{one.points:.1f}", *cells, bound, escape(one.remarks))
    return made
