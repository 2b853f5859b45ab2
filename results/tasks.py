"""Commands that compute rows: many tasks at once, on this machine's cores or on a cluster, and where their files go.

A simulation depends only on its configuration, so it does not matter where and when it runs. If a worker dies,
nothing is lost: its task is done again, here by a new pool, on a cluster by Dask.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from functools import wraps
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hedera.options import OUT, Command, in_words, json_option, options, output, parallel
from results.output import conclude, progress_bar, write_csv

if TYPE_CHECKING:
    from rich.table import Table

    from results.output import Row

Task = TypeVar("Task")
Answer = TypeVar("Answer")
ATTEMPTS = 4
"""How often a pool of processes is replaced before giving up."""


class Runner(Protocol):
    """Something that calls a function with every task, and gives the answers in the order of the tasks."""

    def __call__(self, function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]: ...


def in_turn(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
    """The plainest `Runner`: one after the other, in this process."""
    return [function(task) for task in tasks]


@dataclass(frozen=True)
class Computing:
    """The options that all such commands share.

    ``out``: the folder of its files. ``as_json``: rows go to standard output. ``jobs``, ``cluster``: as in `run_tasks`.
    """

    out: Path = OUT
    as_json: bool = False
    jobs: int | None = None
    cluster: str | None = None

    def runner(self, label: str) -> Runner:
        def run(function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
            return run_tasks(label, function, tasks, self.jobs, self.cluster)

        return run

    def csv(self, name: str, rows: Sequence[Row]) -> Path:
        """Write rows to ``name``.csv."""
        return write_csv(self.out / f"{name}.csv", rows)

    def png(self, name: str) -> Path:
        return self.out / f"{name}.png"

    def conclude(self, rows: Sequence[Row], told: Sequence[Table | str], files: Sequence[Path]) -> None:
        """As `results.output.conclude`."""
        conclude(rows, told, files, self.as_json)


def computed(function: Command) -> Command:
    """The decorator of such a command, which gets the shared options as ``asked``."""

    @wraps(function)
    def gathered(out: Path, as_json: bool, jobs: int | None, cluster: str | None, **own: Any) -> Any:
        return function(asked=Computing(out, as_json, jobs, cluster), **own)

    decorated: Command = options(output, json_option, parallel, in_words)(gathered)
    return decorated


def run_tasks(
    label: str,
    function: Callable[[Task], Answer],
    tasks: Sequence[Task],
    jobs: int | None = None,
    cluster: str | None = None,
) -> list[Answer]:
    """``function`` of every task, in the order of the tasks, under a progress bar.

    ``jobs``: local processes (default: one per core; 1 runs everything in this process). ``cluster``: the address of
    a Dask scheduler; its workers must have this project installed, and ``jobs`` is ignored. ``function`` must be
    importable (pickled by name).

    Raises what a task raises; RuntimeError when workers keep dying; and what `results.cluster.cluster` raises.
    """
    jobs = jobs or len(os.sched_getaffinity(0))
    if cluster:
        finished = _on_cluster(function, tasks, cluster)
    elif jobs == 1 or len(tasks) == 1:
        finished = ((n, function(task)) for n, task in enumerate(tasks))
    else:
        finished = _on_processes(function, tasks, min(jobs, len(tasks)))
    answers: dict[int, Answer] = {}
    with progress_bar(label, len(tasks)) as done, closing(finished):
        for n, answer in finished:
            answers[n] = answer
            done(len(answers))
    return [answers[n] for n in range(len(tasks))]


def _on_processes(
    function: Callable[[Task], Answer], tasks: Sequence[Task], jobs: int
) -> Generator[tuple[int, Answer]]:
    waiting = dict(enumerate(tasks))
    for _ in range(ATTEMPTS):
        # Spawned, not forked: a fork would copy the locks of this process's threads.
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_die_with_caller) as pool:
            try:
                number = {pool.submit(function, task): n for n, task in waiting.items()}
                for future in as_completed(number):
                    answer = future.result()
                    del waiting[number[future]]
                    yield number[future], answer
                return
            except BrokenProcessPool:
                continue  # a worker died, and the pool with it; what it had finished is kept
            except BaseException:  # leaving the pool normally would wait for every task
                for worker in active_children():
                    worker.terminate()
                raise
    raise RuntimeError(f"worker processes died {ATTEMPTS} times; {len(waiting)} simulations are not done")


def _die_with_caller() -> None:
    """In a worker: end on Ctrl-C, instead of ending only the task, unless the caller ignores Ctrl-C; and end with the
    caller, even if that is killed."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_follow_caller, daemon=True).start()


def _follow_caller() -> None:
    caller = parent_process()
    assert caller is not None
    caller.join()
    os._exit(1)


def _on_cluster(
    function: Callable[[Task], Answer], tasks: Sequence[Task], address: str
) -> Generator[tuple[int, Answer]]:
    from results.cluster import cluster

    with cluster(address) as executor:
        number = {executor.submit(function, task): n for n, task in enumerate(tasks)}
        for future in as_completed(number):
            yield number[future], future.result()
