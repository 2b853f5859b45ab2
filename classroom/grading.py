"""Many submissions, one after another, each closed off from the machine and from the others (`classroom.sandbox`)."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from classroom import quality
from classroom.code import Code, read_code
from classroom.contract import ANSWER, INPUTS, RAISES, check_contract
from classroom.milestones import check_milestone
from classroom.sandbox import LENT, Start, closed, lent, unclosed
from classroom.submission import Submission
from classroom.template import MILESTONES
from classroom.verdict import Check, share_passed
from simulator.config import Config

if TYPE_CHECKING:
    from rich.table import Table

SCHEDULER = ("scheduler.py", "Scheduler")
"""The file, and the class in it, of a scheduler of the student's own."""
FILES = {task.file for task in MILESTONES.values()} | {SCHEDULER[0]}
POINTS = {
    "demand": 20.0,
    "first_fit": 20.0,
    "annealing": 20.0,
    "loop": 10.0,
    "contract": 10.0,
    "quality": 20.0,
}
"""What each part counts, of 100 (docs/assignment/rubric.md)."""
YARDSTICK = "hedera-gff"
"""Who is as good as this, on the mean of the patterns, has all points for quality; who is as ECMP is has none."""
SIZES = (4, 8)
CALL_S = 20.0
CLOCK = 10.0
"""Seconds on the clock for each of processor time: that a machine is busy is no fault of a submission's."""
_PATTERNS = 5  # keeps these draws apart from others of one seed


@dataclass(frozen=True)
class Grade:
    """One submission. Parts are fractions of their checks that passed, None for what was not handed in.

    ``quality``: between ECMP (0) and the yardstick (1), from ``percent_of_bound``, the mean over all patterns.
    ``points``: of 100. ``uses``: which modules of the project it imports. ``remarks``: the first thing that is
    wrong with
    each part. ``seconds``: what it took.
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
    """What all submissions of a class are graded by: patterns from one seed, and what ECMP and the yardstick
    make of them.

    ``budget_s``: the processor time for each file of a submission; it is waited for CLOCK times as long.
    ``open_`` gives up closing them off.
    """

    seed: int
    budget_s: float
    open_: bool = False
    configs: tuple[Config, ...] = field(init=False)
    ecmp: float = field(init=False)
    yardstick: float = field(init=False)

    def __post_init__(self) -> None:
        found = tuple(quality.configs(SIZES, self.seed, lambda k: drawn_patterns(k, self.seed)))
        object.__setattr__(self, "configs", found)
        for name, scheme in (("ecmp", "ecmp"), ("yardstick", YARDSTICK)):
            shares = [quality.simulated(config, scheme).share or 0.0 for config in found]
            object.__setattr__(self, name, mean(shares))


def drawn_patterns(k: int, seed: int) -> tuple[str, ...]:
    """Traffic that nobody can have learnt by heart."""
    rng = np.random.default_rng((seed, k, _PATTERNS))
    cores = k * k // 4
    stride = int(rng.integers(cores, k * cores - cores))
    edge, pod = rng.integers(5, 40, 2) / 100
    return f"stride:{stride}", f"staggered:{edge:.2f},{pod:.2f}", "randbij", "random"


def submissions(folders: Sequence[Path]) -> list[Path]:
    """The submissions that folders are or hold, by name. ValueError, one sentence, for one that holds none."""
    found = []
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is no folder")
        inside = sorted(
            p for p in folder.iterdir() if p.is_dir() and not p.is_symlink() and p.name[0] not in "._"
        )
        if any((folder / file).exists() for file in FILES):
            found.append(folder)
        elif any((path / file).exists() for path in inside for file in FILES):
            found += inside
        else:
            raise ValueError(
                f"{folder} holds no submission: it would have {', '.join(sorted(FILES))}, or some of these"
            )
    return found


def grade(folder: Path, course: Class) -> tuple[Grade, dict[str, list[Check]]]:
    """One submission's grade, and its checks by part."""
    clock = time.monotonic()
    checks: dict[str, list[Check]] = {}
    share: float | None = None
    imported: set[str] = set()
    with nullcontext(Path()) if course.open_ else lent() as place:

        def start() -> Start:
            cpu_s = max(1, round(course.budget_s))
            return unclosed(cpu_s) if course.open_ else closed(place, cpu_s)

        for milestone, task in MILESTONES.items():
            part = task.file.removesuffix(".py")
            if (code := _handed_in(folder / task.file, task.name, part, checks)) is None:
                continue
            imported |= _uses(code)
            with Submission(start(), code, CALL_S, CLOCK * course.budget_s) as submission:
                checks[part] = check_milestone(milestone, submission, course.seed)
        if (code := _handed_in(folder / SCHEDULER[0], SCHEDULER[1], "contract", checks)) is not None:
            imported |= _uses(code)
            with Submission(start(), code, CALL_S, CLOCK * course.budget_s) as submission:
                contract = check_contract(submission, _again(start, code, course), course.seed, examples=40)
                checks["contract"] = contract
                if all(one.passed for one in contract if one.name in (RAISES, ANSWER, INPUTS)):
                    checks["quality"], share = _quality(submission, course)
    return _graded(folder.name, course, checks, share, imported, time.monotonic() - clock), checks


def _again(start: Callable[[], Start], code: Code, course: Class) -> Callable[[], Submission]:
    return lambda: Submission(start(), code, CALL_S, CLOCK * course.budget_s)


def _handed_in(path: Path, name: str, part: str, checks: dict[str, list[Check]]) -> Code | None:
    """The code, or None where there is none; a file that cannot be taken is a failed check."""
    try:
        path.lstat()
    except OSError:
        return None
    try:
        return read_code(path, name)
    except ValueError as error:
        words = str(error).replace(str(path), path.name)
        checks[part] = [Check("a file of Python", "docs/assignment/handout.md", words)]
        return None


def _uses(code: Code) -> set[str]:
    """The project's modules that a file imports, but for those that the templates name."""
    try:
        tree = ast.parse(code.source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return {name for name in found if name.split(".")[0] in LENT} - {"topos.links", "hedera.placement"}


def _quality(submission: Submission, course: Class) -> tuple[list[Check], float | None]:
    shares = []
    for config in course.configs:
        score = quality.submitted(config, submission)
        if score.share is None:
            case = f"k = {config.k}, {config.traffic}, seed {config.seed}"
            return [Check("it schedules in the simulator", "section 5.5", score.words, case)], None
        shares.append(score.share)
    return [], mean(shares)


def _graded(
    name: str,
    course: Class,
    checks: dict[str, list[Check]],
    share: float | None,
    imported: set[str],
    seconds: float,
) -> Grade:
    passed: dict[str, float | None] = {
        part: share_passed(checks[part]) if part in checks else None for part in POINTS if part != "quality"
    }
    passed["quality"] = None
    if share is not None:
        gain = (share - course.ecmp) / max(course.yardstick - course.ecmp, 1e-9)
        passed["quality"] = min(1.0, max(0.0, gain))
    first = [
        next((f"{part}: {one.words}" for one in found if not one.passed), "")
        for part, found in checks.items()
    ]
    return Grade(
        submission=name,
        points=sum(POINTS[part] * (value or 0.0) for part, value in passed.items()),
        **passed,
        percent_of_bound=None if share is None else 100 * share,
        seconds=seconds,
        uses=" ".join(sorted(imported)),
        remarks="; ".join(words for words in first if words),
    )


def table(grades: Sequence[Grade]) -> Table:
    """A line for each submission; parts in percent."""
    from rich.markup import escape
    from rich.table import Table

    made = Table(
        title="Grades: points of 100, parts in %", title_justify="left", box=None, header_style="bold"
    )
    made.add_column("submission", no_wrap=True)
    for heading in (
        "points",
        "demand",
        "first fit",
        "annealing",
        "loop",
        "contract",
        "quality",
        "% of bound",
    ):
        made.add_column(heading, justify="right", no_wrap=True, min_width=len(heading))
    made.add_column("remarks", overflow="ellipsis", no_wrap=True, max_width=60)
    for one in grades:
        parts = (one.demand, one.first_fit, one.annealing, one.loop, one.contract, one.quality)
        cells = ["-" if part is None else f"{100 * part:.0f}" for part in parts]
        bound = "-" if one.percent_of_bound is None else f"{one.percent_of_bound:.1f}"
        made.add_row(escape(one.submission), f"{one.points:.1f}", *cells, bound, escape(one.remarks))
    return made
