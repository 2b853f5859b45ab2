"""One run at a time on a machine: two would slow each other down, and neither's result would be worth anything."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.errors import RunFailed
from harness.network import footprint

LOOK_EVERY_S = 0.2
TELL_S, SAY_EVERY_S = 2.0, 60.0
_held: int | None = None
"""The lock's descriptor, while this process has it."""


@contextmanager
def sole_use(
    doing: str = "a run", say: Callable[[str], None] | None = None, patience_s: float = float("inf")
) -> Iterator[None]:
    """Wait until no other run uses this machine, and keep others off it while the block runs.

    Nested blocks of one process share the lock. ``doing`` is what others who wait are told; ``say`` hears
    for whom this process waits: after TELL_S, when that changes, and every SAY_EVERY_S. RunFailed after
    ``patience_s`` seconds.
    """
    global _held
    if _held is not None:
        yield
        return
    # Root's own file, which nobody else can open: whoever could, could take the lock and never give it back.
    path = footprint.home() / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        _wait(descriptor, say, time.monotonic() + patience_s)
        _held = descriptor
        tell(doing)
        yield
    finally:
        _held = None
        os.close(descriptor)


def tell(doing: str) -> None:
    """What this process, which uses the machine, is at: those who wait for it are told."""
    if _held is not None:
        words = f"process {os.getpid()} ({doing})".encode()
        os.ftruncate(_held, 0)
        os.pwrite(_held, words, 0)


def _wait(descriptor: int, say: Callable[[str], None] | None, limit: float) -> None:
    began, said_at, said_of = time.monotonic(), 0.0, ""
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        now = time.monotonic()
        holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "another process"
        if now >= limit:
            raise RunFailed(f"this machine is taken by {holder}, and two runs at once would disturb each other")
        if say is not None and now - began >= TELL_S and (holder != said_of or now - said_at > SAY_EVERY_S):
            say(f"waiting for {holder}: two runs at once would disturb each other")
            said_at, said_of = now, holder
        time.sleep(LOOK_EVERY_S)
