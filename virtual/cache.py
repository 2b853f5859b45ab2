"""The folder of kernels and guests: one per user, and used only if nobody else can write to it."""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from record.errors import UnfitMachine

_PLAIN = re.compile(r"[A-Za-z0-9/._+@~-]+")
"""The characters allowed in a path on a kernel's command line, and in the options of an overlay."""


def make_folder(name: str = "") -> Path:
    """``~/.cache/hedera/virtual/NAME``, created if needed.

    Raises UnfitMachine if others could write to it, because programs in it are run.
    """
    whole = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "hedera" / "virtual"
    if not _PLAIN.fullmatch(str(whole)):
        raise UnfitMachine(
            f"{str(whole)!r} cannot be put on a kernel's command line: "
            "set XDG_CACHE_HOME to a path of plain letters and digits"
        )
    for path in (whole, whole / name):
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = path.lstat()
        except OSError as error:
            raise UnfitMachine(
                f"cannot create {path} ({error.strerror}): set XDG_CACHE_HOME to a folder of yours"
            ) from None
        if not _is_ours(status):
            raise UnfitMachine(f"{path} has programs that are run, but others can write to it: remove it")
    return whole / name


moved = ""
"""A sentence where `settle` has moved what is made once."""


def settle() -> None:
    """Where this user has no home, or one that cannot keep what is made once, keep it below /var/tmp from now on in
    this process and those that it starts."""
    global moved
    if os.environ.get("XDG_CACHE_HOME"):
        return
    try:
        usual = Path("~/.cache").expanduser()
        nearest = next(path for path in (usual, *usual.parents) if path.exists())
        if os.access(nearest, os.W_OK | os.X_OK) and _PLAIN.fullmatch(str(usual)):
            return
        why = "cannot be written to" if _PLAIN.fullmatch(str(usual)) else "has other characters than plain ones"
    except (OSError, RuntimeError):
        why = "is not there"
    place = Path(f"/var/tmp/hedera-{os.geteuid()}")
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        if not _is_ours(place.lstat()):
            return
    except OSError:
        return
    os.environ["XDG_CACHE_HOME"] = str(place)
    moved = f"this user's home {why}: what is made once is kept in {place}"


def _is_ours(status: os.stat_result) -> bool:
    """Whether it is a folder, no link to one, that is ours and that nobody else can write to."""
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return ours and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@contextmanager
def locked(path: Path, wait: Callable[[str], object] = lambda holder: None) -> Iterator[None]:
    """Hold the lock of that name while the block runs. If it is not free, calls ``wait`` with a few words on who has it
    since when, and waits."""
    # Opened for appending: what the holder has written there must be left for others to read.
    with path.open("a+", encoding="utf-8") as lock:
        if not take_lock(lock):
            wait(describe_holder(lock))
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(f"process {os.getpid()} of {_find_user()}, since {time.strftime('%H:%M:%S')}")
        lock.flush()
        yield


def describe_holder(lock: TextIO) -> str:
    """Who holds a lock that is not ours, and since when."""
    lock.seek(0)
    words = lock.read(200)
    # A lock of an earlier version, or one that was taken this very moment, tells nothing.
    return words if words.isprintable() and words else "another process"


def describe_wait(holder: str, made: str) -> str:
    """What is told of a lock behind which ``made`` is compiled: who has it, and what one can do."""
    pid = re.match(r"process (\d+)", holder)
    end = f" (if it hangs: kill {pid[1]}; this one then goes on)" if pid else ""
    return f"{holder} is compiling {made}; waiting for it{end} ..."


def _find_user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"


def take_lock(lock: TextIO | int) -> bool:
    """Whether the lock of an open file, or of its descriptor, is ours now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
