"""Many submissions, each isolated from the machine and from the others (`classroom.sandbox`), and their grades."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import mean

import numpy as np

from classroom import quality
from classroom.allowed import asked_for
from classroom.cases import NO_FLOWS, cases
from classroom.checks import ANSWER, FREE, INPUTS, RAISES, Check, run_checks, share_passed
from classroom.process import Start, Unfit
from classroom.sandbox import Place, closed, unclosed
from classroom.submission import Budget, Submission, read_code
from classroom.template import NAMES, SCHEDULER
from hedera.text import one_line
from results.tasks import workers
from simulator.config import Config

PARTS = {file.removesuffix(".py"): file for file in NAMES if file != SCHEDULER} | {"contract": SCHEDULER}
"""The file of each part that has checks."""
UNTOUCHED = {"demand": (NO_FLOWS,), "contract": FREE}
"""Checks that an untouched template passes, by part: they count only together with others."""
POINTS = {"demand": 20.0, "first_fit": 20.0, "annealing": 20.0, "contract": 10.0, "quality": 30.0}
"""The points of each part, of 100 (docs/assignment/rubric.md)."""
BASELINE = "hedera-gff"
"""A scheduler as good as this one, on average over the patterns, gets all points for quality; one like ECMP gets
none."""
SIZES = (4, 8)
CALL_S = 20.0
CLOCK = 10.0
"""Real seconds allowed for each second of processor time: a busy machine is not the submission's fault."""
_PATTERNS = 5  # keeps these draws apart from others of one seed

Checks = Mapping[str, Sequence[Check]]


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
    contract: float | None
    quality: float | None
    percent_of_bound: float | None
    seconds: float
    uses: str
    remarks: str


@dataclass(frozen=True)
class Class:
    """The settings for grading a class: ``seed`` of cases and patterns.

    ``budget_s``: the processor time for each file of a submission; in real time it may take CLOCK times as long.
    ``place``: for their isolation; None: without.
    """

    seed: int
    budget_s: float
    place: Place | None = None

    def start(self, hash_seed: int = 0) -> Start:
        cpu_s = max(1, round(self.budget_s))
        return unclosed(cpu_s, hash_seed) if self.place is None else closed(self.place, cpu_s, hash_seed)


_cases = cache(cases)


@cache
def _configs(seed: int) -> tuple[Config, ...]:
    return tuple(quality.configs(SIZES, seed, lambda k: drawn_patterns(k, seed)))


@cache
def _share(scheme: str, seed: int) -> float:
    """The mean share of the bound that one of the project's schemes reaches."""
    return mean(quality.score(config, scheme).share or 0.0 for config in _configs(seed))


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
            raise ValueError(f"{folder} has no submission: that would be {', '.join(NAMES)}, or some of these")
    return found


def left_out(folders: Sequence[Path], found: Sequence[Path]) -> list[str]:
    """Things beside the submissions that are not graded, such as archives and links."""
    beside = [path for folder in folders if folder not in found for path in _entries(folder)]
    return [path.name for path in beside if path not in found]


def _entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name[0] not in "._")


def _holds_any(folder: Path) -> bool:
    return any(os.path.lexists(folder / file) for file in NAMES)


def graded(course: Class, jobs: int, folders: Sequence[Path]) -> Generator[tuple[int, tuple[Grade, Checks]]]:
    """The number of each submission with its grade and checks, as soon as it is graded. Raises Unfit.

    The processes that grade end with this generator, and with this process, however it ends; with them end the
    submissions.
    """
    try:
        with workers(jobs) as pool:
            number = {pool.submit(grade, folder, course): n for n, folder in enumerate(folders)}
            for future in as_completed(number):
                yield number[future], future.result()
    except BrokenProcessPool:
        raise Unfit("a grading process ended unexpectedly; finished grades are in grades.csv") from None


def grade(folder: Path, course: Class) -> tuple[Grade, Checks]:
    """The grade of the submission in a folder, and its checks by part.

    Whatever the submission does, only its own grade is affected. Raises Unfit if the machine cannot start it.
    """
    clock = time.monotonic()
    checks: dict[str, list[Check]] = {}
    uses: set[str] = set()
    shares: list[float] = []
    for part, file in PARTS.items():
        if not os.path.lexists(folder / file):
            continue
        try:
            if os.path.islink(folder / file):
                raise ValueError(f"{file} is a link, not a regular file")
            code = read_code(folder / file, NAMES[file])
        except ValueError as error:
            checks[part] = [Check("a file of Python", "docs/assignment/handout.md", str(error))]
            continue
        uses |= asked_for(code.source)
        try:
            with Submission(course.start, code, CALL_S, Budget(CLOCK * course.budget_s)) as submission:
                checks[part] = run_checks(submission, _cases(course.seed)[file])
                kept = all(one.passed for one in checks[part] if one.name in (RAISES, ANSWER, INPUTS))
                if file == SCHEDULER and kept:
                    submission.end()  # its processor time begins anew
                    shares, checks["quality"] = _shares(submission, course)
        except Unfit:
            raise
        except Exception as error:  # noqa: BLE001, an unforeseen answer must not end the grading of a class
            words = f"what it answers ended the check: {type(error).__name__}: {error}"
            checks[part] = [Check("its checks come to an end", "docs/assignment/instructor.md", words)]
    share = mean(shares) if shares else None
    return _graded(folder.resolve().name, course, checks, share, uses, time.monotonic() - clock), checks


def _shares(submission: Submission, course: Class) -> tuple[list[float], list[Check]]:
    """How good a scheduler is in each simulation; or that it is not, and what happened."""
    shares = []
    for config in _configs(course.seed):
        score = quality.score(config, submission)
        if score.share is None:
            case = f"k = {config.k}, {config.traffic}"  # without the class's seed, which is secret
            return [], [Check("it schedules in the simulator", "section 5.5", score.words, case)]
        shares.append(score.share)
    return shares, []


def _graded(name: str, course: Class, checks: Checks, share: float | None, uses: set[str], seconds: float) -> Grade:
    passed: dict[str, float | None] = dict.fromkeys(POINTS)
    for part in PARTS:
        if part in checks:
            passed[part] = share_passed(checks[part], UNTOUCHED.get(part, ()))
    if share is not None:
        least, most = _share("ecmp", course.seed), _share(BASELINE, course.seed)
        gain = (share - least) / max(most - least, 1e-9)
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
