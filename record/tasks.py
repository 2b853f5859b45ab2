"""Many tasks at once, on this machine's cores or on a cluster.

A simulation depends only on its configuration and on the code, so it does not matter where and when it runs. If a
worker dies, nothing is lost: its task is done again, here by a new pool, on a cluster by Dask's scheduler, as often as
its setting ``allowed-failures`` says. A task that raises is not done again.

Dask's own commands start a cluster, and Dask's own TLS settings guard it (docs/cluster.md). It sends functions and
answers as pickles. Whoever can send a pickle can run any code at the other end; over loopback that is every user of the
machine. So nothing unencrypted is used.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from traceback import extract_tb
from typing import TypeVar, cast

from record.errors import UnfitMachine, UserMistake, WorkerFailed, tell_warnings, warned
from record.progress import progress_bar

Task = TypeVar("Task")
Answer = TypeVar("Answer")
ATTEMPTS = 4
"""How often a pool of processes is replaced before giving up."""
CONNECT_S = 20.0
"""How long a cluster, and then its first worker, may take to answer, seconds."""
ROOMS = ("topos", "traffic", "hedera", "record", "plots", "simulator", "studies")
"""Where the code is that a task runs; a worker has to have the same."""


def run_tasks(
    label: str,
    function: Callable[[Task], Answer],
    tasks: Sequence[Task],
    jobs: int | None = None,
    address: str | None = None,
) -> list[Answer]:
    """``function`` of every task, in the order of the tasks, under a progress bar.

    ``jobs``: local processes (default: one per core; 1 runs everything in this process). ``address``: of a Dask
    scheduler; its workers must have this project installed, and ``jobs`` is ignored. ``function`` must be
    importable (pickled by name).

    Raises what a task raises, at once; RuntimeError when processes keep dying; and what `cluster` and
    `errors_of_workers` raise.
    """
    # The processors that this process may use, of which a container or taskset can leave fewer than the machine has.
    jobs = min(jobs or len(os.sched_getaffinity(0)), len(tasks))
    answers: dict[int, Answer] = {}
    with progress_bar(label, len(tasks)) as done:
        if jobs <= 1 and not address:
            for n, task in enumerate(tasks):
                answers[n] = function(task)
                done(n + 1)
        # A process that the kernel kills for want of memory ends the whole pool. What it had answered is kept, and a
        # new pool makes the rest.
        for _ in range(ATTEMPTS):
            waiting = [n for n in range(len(tasks)) if n not in answers]
            if not waiting:
                break
            in_words = errors_of_workers(run_on_worker) if address else nullcontext()
            with suppress(BrokenProcessPool), workers(jobs, address) as executor, in_words:
                call = partial(submit, executor, run_on_worker, compute_fingerprint()) if address else executor.submit
                number = {call(function, tasks[n]): n for n in waiting}
                for future in as_completed(number):
                    answers[number[future]] = future.result()
                    done(len(answers))
    if len(answers) < len(tasks):
        raise RuntimeError(f"worker processes died {ATTEMPTS} times; {len(waiting)} simulations are not done")
    return [answers[n] for n in range(len(tasks))]


@contextmanager
def workers(jobs: int, address: str | None = None) -> Iterator[Executor]:
    """So many processes, or those of the Dask scheduler at an address; they end with this block, however it ends."""
    if address:
        with cluster(address) as (executor, _):
            yield executor
        return
    # Spawned, not forked: a fork would copy the locks of this process's threads.
    spawn, already_told = get_context("spawn"), tuple(warned)
    with ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_begin, initargs=(already_told,)) as pool:
        try:
            yield pool
        except BrokenProcessPool:  # a worker died, and the pool with it; what it had finished is kept
            raise
        except BaseException:  # leaving the pool normally would wait for every task
            for worker in active_children():
                worker.terminate()
            pool._call_queue._reader.close()  # type: ignore[attr-defined]  # before Python 3.11.5 it waits for readers
            raise


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """The workers of the scheduler at ``tls://HOST:PORT`` and their number of threads; at the end all is cancelled.

    Raises UserMistake for another address and where Dask's settings name no certificates; UnfitMachine without Dask or
    workers; OSError when no scheduler with the same authority answers.
    """
    if not re.fullmatch(r"tls://([\w.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}", address):
        raise UserMistake(
            f"a cluster is tls://HOST:PORT, not {address!r}: unencrypted, whoever can connect could run any code"
        )
    try:
        import dask
        from distributed import Client, Security
    except ImportError:
        raise UnfitMachine("--cluster needs Dask: setup/install.sh --cluster (or pip install '.[cluster]')") from None
    for name in ("ca-file", "client.cert", "client.key"):
        if not dask.config.get(f"distributed.comm.tls.{name}", None):
            raise UserMistake(f"Dask's setting distributed.comm.tls.{name} names no file (docs/cluster.md)")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # an error is reported once, in one sentence
    try:
        client = Client(address, timeout=CONNECT_S, security=Security(require_encryption=True), set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise OSError(f"no Dask scheduler with these certificates answers at {address}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            raise UnfitMachine(f"the cluster at {address} has no workers: start some with dask worker") from None
        # Dask's `retries` would make a task that raises again; a lost worker's goes to another one without it.
        executor = cast(Executor, client.get_executor(pure=False, retries=0))
        try:
            yield executor, sum(client.nthreads().values())
        finally:
            executor.shutdown(wait=False)


class _Call:
    """Its pickle makes a call when it is loaded."""

    def __init__(self, function: Callable[..., object], arguments: tuple[object, ...]) -> None:
        self._parts = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._parts


def submit(executor: Executor, function: Callable[..., Answer], *arguments: object) -> Future[Answer]:
    """Call a function, known by its name, on a worker of a cluster. `errors_of_workers` says what its answer may
    raise."""
    # Dask loads a task's function and arguments before the task begins, and a worker that does not know them ends:
    # nobody would be told why. pickle.loads is known to all, and what it raises is the task's.
    return executor.submit(pickle.loads, pickle.dumps(_Call(function, arguments)))


def run_on_worker(expected: str, function: Callable[[Task], Answer], task: Task) -> Answer:
    """On a worker of a cluster: a task's answer, if this code is that with the fingerprint ``expected``."""
    require_fit(compute_fingerprint() == expected)
    return function(task)


def require_fit(same_code: bool) -> None:
    """UnfitMachine on a worker that is root, or has other code than who asks."""
    if os.geteuid() == 0:
        raise UnfitMachine("a worker runs as root: start dask worker as an ordinary user")
    if not same_code:
        raise UnfitMachine("a worker has other code: check the same revision out there")


@contextmanager
def errors_of_workers(function: Callable[..., object]) -> Iterator[None]:
    """What the answers of ``function``, on workers of a cluster, raise in the block, as what a user is told.

    Raises WorkerFailed for a task that was lost with one worker too many; UnfitMachine where a worker does not know the
    function; else what the task raised.
    """
    try:
        yield
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise WorkerFailed("workers were lost with this task, again and again") from None
        # The function or its arguments are not there in another version.
        begun = any(frame.name == function.__name__ for frame in extract_tb(error.__traceback__))
        if isinstance(error, (AttributeError, ImportError, TypeError)) and not begun:
            raise UnfitMachine(f"a worker has other code ({error}): check the same revision out there") from None
        raise


@cache
def compute_fingerprint() -> str:
    """A hash of all code that a task may run, as it was when it was first asked for."""
    project, digest = Path(__file__).resolve().parents[1], hashlib.sha256()
    for path in sorted(path for room in ROOMS for kind in ("*.py", "*.csv") for path in (project / room).rglob(kind)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(project)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _begin(warned: tuple[str, ...]) -> None:
    """In a worker: it tells warnings as its caller does, but for those that this one told; Ctrl-C ends it, not the task
    alone, unless the caller ignores that; and it ends with the caller."""
    tell_warnings(warned)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    caller = parent_process()
    assert caller is not None

    def follow() -> None:
        caller.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()
