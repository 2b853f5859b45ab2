"""Many simulations at once: on the cores of this machine, or on a Dask cluster. Same results as one by one.

A simulation depends only on its configuration, so it does not matter where and when it runs. If a worker dies,
nothing is lost: its simulation is run again, here by a new pool, on a cluster by the cluster's scheduler.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import TypeVar

from workers.cluster import connected

Task = TypeVar("Task")
Answer = TypeVar("Answer")

ATTEMPTS = 4
"""How often a local pool is replaced, or a task of a cluster repeated, before giving up."""
NO_WORKER_S = 15.0
"""How long a cluster's first worker may take to join."""


def run_all(
    function: Callable[[Task], Answer],
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    cluster: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Answer]:
    """``function`` of every task, in the order of the tasks.

    ``jobs``: local processes (default: one per core; 1 runs everything in this process). ``cluster``: a
    `workers.cluster.ClusterAddress`, or its text; its workers must have this project installed, and ``jobs`` is
    ignored. ``progress`` is called with the number of tasks done. ``function`` must be importable (pickled by name).

    Raises what a task raises; RuntimeError when workers keep dying, when there are none, or if Dask is not installed;
    OSError when the cluster does not answer, ValueError when its address or keys are invalid.
    """
    jobs = jobs or os.cpu_count() or 1
    if cluster:
        finished = _on_cluster(function, tasks, cluster)
    elif jobs == 1 or len(tasks) == 1:
        finished = ((n, function(task)) for n, task in enumerate(tasks))
    else:
        finished = _on_processes(function, tasks, min(jobs, len(tasks)))
    answers: dict[int, Answer] = {}
    with closing(finished):
        for n, answer in finished:
            answers[n] = answer
            if progress:
                progress(len(answers))
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
    with connected(address) as client:
        from distributed import as_completed as completed

        try:
            client.wait_for_workers(1, timeout=NO_WORKER_S)
        except (TimeoutError, asyncio.TimeoutError):  # two classes until Python 3.11
            raise RuntimeError("this cluster has no workers: start some with hedera cluster worker") from None
        # pure=False: two sweeps may have equal tasks, and each should run its own.
        futures = client.map(function, tasks, pure=False, retries=ATTEMPTS)
        number = {future.key: n for n, future in enumerate(futures)}
        for future, answer in completed(futures, loop=client.loop, with_results=True):
            yield number[future.key], answer
