"""Several submissions graded at once: a process for each, with its own isolation, limits and control group."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
from collections.abc import Generator, Sequence
from dataclasses import replace
from multiprocessing.queues import Queue
from pathlib import Path
from types import FrameType
from typing import Any

from classroom.grading import PARTS, Class, Grade, grade
from classroom.histories import leave_nothing
from classroom.sandbox import Unfit, prepared
from classroom.verdict import Check

Graded = tuple[Path, Grade, dict[str, list[Check]]]
_LOOK_S = 1.0
_END_S = 30.0
"""Seconds that a process has to end its submission and to clean up."""


def graded(folders: Sequence[Path], course: Class, jobs: int) -> Generator[Graded, None, None]:
    """Each submission with its grade and checks, as soon as it is graded. Raises Unfit.

    When this ends, even by Ctrl-C, grading in progress ends too; grades already yielded are complete.
    """
    if jobs == 1 or len(folders) == 1:
        for folder in folders:
            yield folder, *grade(folder, course)
        return
    if any((folder / PARTS["contract"][0]).exists() for folder in folders):
        _ = course.ecmp, course.baseline  # once, and not in each process
    fresh = multiprocessing.get_context("spawn")
    tasks: Queue[Path | None] = fresh.Queue()
    results: Queue[Graded | str] = fresh.Queue()
    for task in (*folders, *[None] * jobs):
        tasks.put(task)
    missing = len(folders)
    crew = [fresh.Process(target=_work, args=(tasks, results, course)) for _ in range(jobs)]
    try:
        for one in crew:
            one.start()
        while missing:
            try:
                found = results.get(timeout=_LOOK_S)
            except queue.Empty:
                if any(one.exitcode for one in crew):
                    raise Unfit("a grading process ended unexpectedly; finished grades are kept") from None
                continue
            if isinstance(found, str):
                raise Unfit(found)
            missing -= 1
            yield found
    finally:
        for one in crew:
            if one.is_alive() and missing:
                one.terminate()
        for one in crew:
            if one.pid is not None:
                one.join(_END_S)
                if one.is_alive():
                    one.kill()
        for each in (tasks, results):
            each.cancel_join_thread()
            each.close()


def _work(tasks: Queue[Path | None], results: Queue[Any], course: Class) -> None:
    """Grade the submissions in the queue, until there are no more or a signal says to stop."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        results.cancel_join_thread()
        raise SystemExit(0)

    parent = os.getppid()
    signal.signal(signal.SIGTERM, stop)
    for ours in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ours, signal.SIG_IGN)  # our parent handles them, and tells us
    leave_nothing()
    try:
        with contextlib.ExitStack() as stack:
            mine = course
            if course.place is not None:
                mine = replace(course, place=stack.enter_context(prepared()))
                known = {"ecmp", "baseline"} & vars(course).keys()
                vars(mine).update({name: vars(course)[name] for name in known})
            while (folder := tasks.get()) is not None and os.getppid() == parent:
                results.put((folder, *grade(folder, mine)))
    except Unfit as error:
        results.put(str(error))
