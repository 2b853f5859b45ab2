"""A class graded: several submissions at once, an estimate of the time, and finished grades, which are kept."""

from __future__ import annotations

import ctypes
import hashlib
import json
import multiprocessing
import signal
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from types import TracebackType

import msgspec

from classroom.cases import SCHEDULER
from classroom.checks import run_checks
from classroom.grading import CALL_S, PARTS, Class, Grade, HandIn, grade
from classroom.process import Unfit
from classroom.submission import Code, Submission
from classroom.template import MILESTONES, TEMPLATES
from classroom.verdict import Check
from results.files import Unreadable, read_bytes, write_whole

COST = {"demand": 2.0, "first_fit": 4.0, "annealing": 15.0, "loop": 1.3, "contract": 8.0}
"""The time of correct files, in units of an untouched loop.py."""
_MOST = 4 << 20
"""The limit of a kept grade's file, bytes."""


class Graded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grade, its checks by part, and a hash of exactly what was graded."""

    of: str
    grade: Grade
    checks: dict[str, list[Check]]


@dataclass(frozen=True)
class Store:
    """Finished grades below ``folder``, a file each; ``how``: all settings of grading."""

    folder: Path
    how: str

    def find(self, submission: Path) -> Graded | None:
        """The grade of exactly these files, if there is one. An unreadable one is made again."""
        try:
            kept = msgspec.json.decode(read_bytes(self._path(submission), _MOST), type=Graded)
        except (ValueError, msgspec.MsgspecError, Unreadable):
            return None
        return kept if kept.of == HandIn.read(submission).digest(self.how) else None

    def keep(self, submission: Path, one: Graded) -> None:
        """Keep a grade."""
        told = {part: [asdict(check) for check in each] for part, each in one.checks.items()}
        write_whole(self._path(submission), json.dumps({"of": one.of, "grade": asdict(one.grade), "checks": told}))

    def _path(self, submission: Path) -> Path:
        where = hashlib.sha256(str(submission.resolve()).encode(errors="replace")).hexdigest()[:20]
        return self.folder / f"{where}.json"


class Pool:
    """Processes that grade, which end with this one, however it ends: with them end the submissions."""

    def __init__(self, course: Class, how: str, jobs: int) -> None:
        fresh = multiprocessing.get_context("spawn")
        self._jobs, self._done = jobs, False
        self._pool = ProcessPoolExecutor(jobs, fresh, initializer=_begin, initargs=(course, how))

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
            child.join()

    def estimate_s(self, folders: Sequence[Path]) -> float:
        """Seconds for ordinary submissions with the files that these folders have, measured on this machine, with
        its present load, at as many at once as will be graded. Raises Unfit."""
        units = sum(COST[part] for folder in folders for part, file in PARTS.items() if (folder / file).is_file())
        if not units:
            return 0.0
        try:
            return units * mean(self._pool.map(_unit_s, range(self._jobs))) / self._jobs
        except BrokenProcessPool:
            raise Unfit("a grading process ended unexpectedly") from None

    def grade(self, folders: Sequence[Path]) -> Generator[tuple[Path, Graded], None, None]:
        """Each submission with its grade, as soon as it is graded. Raises Unfit."""
        asked = {self._pool.submit(_grade, folder): folder for folder in folders}
        try:
            for future in as_completed(asked):
                yield asked[future], future.result()
        except BrokenProcessPool:
            raise Unfit("a grading process ended unexpectedly; finished grades are kept") from None


_course: Class
_how: str


def _begin(course: Class, how: str) -> None:
    global _course, _how
    _course, _how = course, how
    for ours in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ours, signal.SIG_IGN)  # our parent handles them, and ends us
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: we end with our parent


def _grade(folder: Path) -> Graded:
    handed_in = HandIn.read(folder)
    return Graded(handed_in.digest(_how), *grade(handed_in, _course))


def _unit_s(number: int) -> float:
    return unit_s(_course)


def unit_s(course: Class) -> float:
    """Seconds that the checks of an untouched loop.py take on this machine now: start-up, and many small requests."""
    task = MILESTONES["loop"]
    code = Code(task.file, (TEMPLATES / "loop.txt").read_text(encoding="utf-8"), task.name)
    clock = time.monotonic()
    with Submission(course.start, code, CALL_S) as submission:
        run_checks(submission, course.cases[task.file])
    return time.monotonic() - clock


def prepare(course: Class, folders: Sequence[Path]) -> None:
    """Compute what all submissions are compared with, once, and not in each process."""
    _ = course.cases
    if any((folder / SCHEDULER).exists() for folder in folders):
        _ = course.ecmp, course.baseline
