"""A class graded, several submissions at once."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from classroom.cases import SCHEDULER
from classroom.grading import Checks, Class, Grade, grade
from classroom.process import Unfit


def graded(course: Class, jobs: int, folders: Sequence[Path]) -> Generator[tuple[Path, tuple[Grade, Checks]]]:
    """Each submission with its grade and checks, as soon as it is graded. Raises Unfit.

    The processes that grade end with this generator, and with this process, however it ends; with them end the
    submissions.
    """
    _ = course.cases  # computed once, and not in each process
    if any((folder / SCHEDULER).exists() for folder in folders):
        _ = course.ecmp, course.baseline
    fresh = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, fresh, initializer=_begin, initargs=(course,))
    try:
        asked = {pool.submit(_grade, folder): folder for folder in folders}
        for future in as_completed(asked):
            yield asked[future], future.result()
    except BrokenProcessPool:
        raise Unfit("a grading process ended unexpectedly; finished grades are in grades.csv") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
            child.join()


_course: Class


def _begin(course: Class) -> None:
    global _course
    _course = course
    for ours in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ours, signal.SIG_IGN)  # our parent handles them, and ends us
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: we end with our parent


def _grade(folder: Path) -> tuple[Grade, Checks]:
    return grade(folder, _course)
