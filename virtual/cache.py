"""The folder of kernels and guests: one per user, and used only if nobody else can write to it."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from virtual.errors import Unavailable

TELL_S = 2.0
"""Whoever waits for longer is told."""
_PLAIN = re.compile(r"[A-Za-z0-9/._+@~-]+")
"""The characters allowed in a path on a kernel's command line, and in the options of an overlay."""


def folder(name: str = "") -> Path:
    """``~/.cache/hedera/virtual/NAME``, created if needed.

    Raises Unavailable if others could write to it, because programs in it are run.
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    whole = Path(os.path.abspath(base)) / "hedera" / "virtual"
    if not _PLAIN.fullmatch(str(whole)):
        raise Unavailable(
            f"{str(whole)!r} cannot be put on a kernel's command line: "
            "set XDG_CACHE_HOME to a path of plain letters and digits"
        )
    try:
        whole.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_ours(whole)
        wanted = whole / name
        wanted.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Unavailable(
            f"cannot create {whole} ({error.strerror}): set XDG_CACHE_HOME to a folder of yours"
        ) from None
    _require_ours(wanted)
    return wanted


def _require_ours(path: Path) -> None:
    found = path.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not ours or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unavailable(f"{path} has programs that are run, but others can write to it: remove it")


@contextmanager
def locked(path: Path, wait: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Hold the lock of that name while the block runs; waits until it is free, and calls ``wait`` after two seconds."""
    telling = threading.Timer(TELL_S, wait)
    with path.open("w") as lock:
        if not taken(lock):
            telling.start()
            fcntl.flock(lock, fcntl.LOCK_EX)
            telling.cancel()
        yield


def taken(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
