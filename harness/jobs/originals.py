"""Guests that wait with a network which several runs of a sweep have, and of which theirs are made.

To boot and to build takes two processor seconds and more at k = 4, a copy 0.1 to 0.2. A run in a copy is, byte for
byte, the run in a guest of its own.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from threading import Lock

from harness.jobs.job import Job
from record.errors import UnfitMachine, WorkerFailed
from virtual import limits
from virtual.guest import Original

MEMORY_SHARE = 4
"""They take this part of the machine's memory at most, each half of what it may: twice of what was measured."""
_Key = tuple[bytes, limits.Needs]


class Originals:
    """Those of the jobs that `kept` was told of, each from its first job's run to the end of its last one's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._left = Counter[_Key]()
        self._booted: dict[_Key, Future[Original | None]] = {}
        self._most = 0

    @contextlib.contextmanager
    def kept(self, jobs: Iterable[Job]) -> Iterator[None]:
        """While the block runs, these jobs are carried out."""
        self._left = Counter(map(_key, jobs))
        used_mib = max((needs.memory_mib // 2 for _, needs in self._left), default=1)
        self._most = limits.memory_mib() // MEMORY_SHARE // used_mib
        try:
            yield
        finally:
            self._left.clear()
            while self._booted:
                _end(self._booted.popitem()[1])

    @contextlib.contextmanager
    def of(self, job: Job, boot: Callable[[], Original]) -> Iterator[Original | None]:
        """The job's, while it is carried out: booted now if it is the first of several. None: it has none."""
        key, booting = _key(job), None
        with self._lock:
            if key not in self._booted and self._left[key] > 1 and len(self._booted) < self._most:
                booting = self._booted[key] = Future()
            future = self._booted.get(key)
        if booting is not None:
            original = None
            try:
                with contextlib.suppress(UnfitMachine, WorkerFailed):  # the run's own guest tells why
                    original = boot()
            finally:
                booting.set_result(original)
        original = None if future is None else future.result()
        try:
            yield original if original is not None and original.ready else None
        finally:
            with self._lock:
                self._left[key] -= 1
                last = self._booted.pop(key, None) if self._left[key] == 0 else None
            if last is not None:
                _end(last)


def _key(job: Job) -> _Key:
    return job.network.encoded(), job.needs


def _end(future: Future[Original | None]) -> None:
    original = future.result()
    if original is not None:
        original.close()
