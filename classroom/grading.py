"""Many submissions, each isolated from the machine and from the others (`classroom.sandbox`), and their grades; and how
good a scheduler is in the simulator."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np

from classroom.cases import NO_FLOWS, ORDER, cases
from classroom.checks import ANSWER, FREE, INPUTS, RAISES, Check, Wrong, run_checks, share_passed, valid
from classroom.sandbox import Place, closed, unclosed
from classroom.submission import NAMES, SCHEDULER, Budget, Misbehaved, Start, Submission, Unfit, read_code
from hedera.linkstate import LinkState
from hedera.maxmin import most_possible
from hedera.placement import LargeFlows
from hedera.text import one_line
from results.output import plain_table
from results.tasks import workers
from simulator.config import Config
from topos.arrays import Int32
from topos.links import num_links
from topos.nonblocking import NonBlocking

if TYPE_CHECKING:
    from rich.table import Table

PARTS = {file.removesuffix(".py"): file for file in NAMES if file != SCHEDULER} | {"contract": SCHEDULER}
"""The file of each part that has checks."""
UNTOUCHED = {"demand": (NO_FLOWS, ORDER), "contract": FREE}
"""Checks that an untouched template passes, or one with constant answers, by part: they count only beside others."""
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

BESIDE = ("ecmp", "hedera-gff", "hedera-sa", "hedera-clos", "nonblocking")
"""The schemes to compare with; the last is the control."""
YOURS = "yours"
DRAWS = 1
"""The seed of a scheduler's own draws. It must not get the seed of the traffic, which would reveal future flows."""

Checks = Mapping[str, Sequence[Check]]


@dataclass(frozen=True)
class Grade:
    """One submission. Parts are fractions of checks passed, None for a file that was not handed in.

    ``quality``: between ECMP (0) and the baseline (1), from ``percent_of_bound``, the mean over all patterns.
    ``points``: of 100. ``remarks``: the first mistake of each part. ``seconds``: the time of grading. Each text is one
    line, safe for a terminal.
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
    return tuple(configs(SIZES, seed, lambda k: drawn_patterns(k, seed)))


@cache
def _share(scheme: str, seed: int) -> float:
    """The mean share of the bound that one of the project's schemes reaches."""
    return float(mean(score(config, scheme)["share"] for config in _configs(seed)))


def drawn_patterns(k: int, seed: int) -> tuple[str, ...]:
    """Random traffic, so that a submission cannot contain prepared answers."""
    rng = np.random.default_rng((seed, k, _PATTERNS))
    cores = k * k // 4
    stride = int(rng.integers(cores, k * cores - cores))
    edge, pod = rng.integers(5, 40, 2) / 100
    return f"stride:{stride}", f"staggered:{edge:.2f},{pod:.2f}", "randbij", "random"


def submissions(folders: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The submissions that are these folders, or are in them, by name; and what else lies beside them, such as archives
    and links. ValueError, one sentence, if there is none."""
    found, others = list[Path](), list[str]()
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder with submissions (unpack an archive first)")
        entries = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
        inside = [path for path in entries if path.is_dir() and not path.is_symlink()]
        if _holds_any(folder):
            found.append(folder)
        elif any(map(_holds_any, inside)):
            found += inside
            others += [path.name for path in entries if path not in inside]
        else:
            raise ValueError(f"{folder} has no submission: that would be {', '.join(NAMES)}, or some of these")
    return found, others


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
    share: float | None = None
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
        try:
            with Submission(course.start, code, CALL_S, Budget(CLOCK * course.budget_s)) as submission:
                checks[part] = run_checks(submission, _cases(course.seed)[file])
                kept = all(one.passed for one in checks[part] if one.name in (RAISES, ANSWER, INPUTS))
                if file == SCHEDULER and kept:
                    submission.end()  # its processor time begins anew
                    share, checks["quality"] = _reached(submission, course)
        except Unfit:
            raise
        except Exception as error:  # noqa: BLE001, an unforeseen answer must not end the grading of a class
            words = f"what it answers ended the check: {type(error).__name__}: {error}"
            checks[part] = [Check("its checks come to an end", "docs/assignment/instructor.md", words)]
    return _graded(folder, course, checks, share, time.monotonic() - clock), checks


def _reached(submission: Submission, course: Class) -> tuple[float | None, list[Check]]:
    """The mean share of the bound over all simulations; or what happened instead."""
    shares = []
    for config in _configs(course.seed):
        found = score(config, submission)
        if found["share"] is None:
            case = f"k = {config.k}, {config.traffic}"  # without the class's seed, which is secret
            return None, [Check("it schedules in the simulator", "section 5.5", found["words"], case)]
        shares.append(found["share"])
    return mean(shares), []


def _graded(folder: Path, course: Class, checks: Checks, share: float | None, seconds: float) -> Grade:
    passed: dict[str, float | None] = dict.fromkeys(POINTS)
    for part in checks.keys() - {"quality"}:
        passed[part] = share_passed(checks[part], UNTOUCHED.get(part, ()))
    if share is not None:
        least, most = _share("ecmp", course.seed), _share(BASELINE, course.seed)
        passed["quality"] = min(1.0, max(0.0, (share - least) / max(most - least, 1e-9)))
    first = [next((f"{part}: {one.words}" for one in found if not one.passed), "") for part, found in checks.items()]
    if not checks:
        there = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        first = [f"no file to grade: found {one_line(there)}, expected {', '.join(NAMES)}"]
    name = one_line(folder.resolve().name)
    return Grade(
        submission=f"'{name}" if name[:1] in ("=", "+", "-", "@") else name,  # no formula for a spreadsheet
        points=sum(POINTS[part] * (value or 0.0) for part, value in passed.items()),
        **passed,
        percent_of_bound=None if share is None else 100 * share,
        seconds=seconds,
        remarks=one_line("; ".join(words for words in first if words), most=2000),
    )


# --- how good a scheduler is in the simulator: beside the project's own schemes, and against a bound for any ------


@dataclass(frozen=True)
class Remote:
    """A placement (`hedera.placement.Placement`) by a submission's process; raises Misbehaved and Wrong."""

    submission: Submission

    def place(self, flows: LargeFlows, links: LinkState) -> Int32:
        return valid(flows, links, self.submission.place(flows, links))


def patterns(k: int) -> tuple[str, ...]:
    return f"stride:{k * k // 4}", "randbij", "staggered:0.2,0.3", "random"


def configs(sizes: Sequence[int], seed: int, traffic: Callable[[int], Sequence[str]] = patterns) -> Iterator[Config]:
    """The simulations, for any scheme: with ideal shares of every flow, over five scheduling periods."""
    for k in sizes:
        for pattern in traffic(k):
            yield Config("ecmp", pattern, k=k, seconds=3.0, tick_s=0.1, interval_s=0.5, seed=seed, engine="maxmin")


def score(config: Config, scheme: str | Submission) -> dict[str, Any]:
    """How good one of the project's schemes is in a simulation, or a submission in the place of Global First Fit.

    ``bound_mbps``: an upper bound for any choice of paths; ``share``: of that. ``bisection_mbps`` is None if the
    scheduler gave no usable answer, and ``words`` says what happened. ``slowest_round_s``: of the scheduler alone.
    """
    from simulator.driver import Simulation

    name = YOURS if isinstance(scheme, Submission) else scheme
    row: dict[str, Any] = {"k": config.k, "traffic": config.traffic, "scheme": name, "bisection_mbps": None}
    row |= {"bound_mbps": 0.0, "slowest_round_s": 0.0, "words": "", "share": None}
    simulation = Simulation(replace(config, scheme="hedera-gff" if name == YOURS else name))
    try:
        if isinstance(scheme, Submission) and simulation.scheduler:
            scheme.fresh(config.k, DRAWS, config.iterations)
            simulation.scheduler.placement = Remote(scheme)
        result = simulation.run()
    except (Misbehaved, Wrong) as error:
        return row | {"words": str(error)}
    # A fat-tree is a folded Clos network: with flows split over all paths it carries everything that its hosts can
    # send and receive. So only hosts' links limit the sum, as on one switch.
    matrix, switch = config.matrix(), NonBlocking(config.tree.num_hosts)
    most = most_possible(switch, matrix.src, matrix.dst, np.ones(num_links(switch))) or 0.0
    row |= {"bisection_mbps": result.bisection_mbps, "bound_mbps": round(most) * config.link_mbps}
    slowest = max((one.compute_s for one in result.rounds), default=0.0)
    return row | {"slowest_round_s": slowest, "share": result.bisection_mbps / row["bound_mbps"]}


def table(scores: Sequence[dict[str, Any]]) -> Table:
    """Shares of the bound in percent: a line for each k and pattern, a column for each scheme."""
    headings = [*("control" if name == "nonblocking" else name for name in BESIDE), YOURS]
    title = "Bisection bandwidth, % of the upper bound for any paths"
    made = plain_table(title, "k", "pattern", *headings, "slowest round", left=2)
    for (k, traffic), row in groupby(scores, key=itemgetter("k", "traffic")):
        alike = list(row)
        cells = ["-" if one["share"] is None else f"{100 * one['share']:.1f}" for one in alike]
        made.add_row(str(k), traffic, *cells, f"{1000 * alike[-1]['slowest_round_s']:.1f} ms")
    return made
