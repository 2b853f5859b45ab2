"""A run's folder: published whole or not at all, never over another."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import RunFailed

RESULT = "run.json"
ROOM = 32 << 20
"""Bytes that have to be free where results go: many times what one run writes."""


@contextmanager
def new_folder(folder: Path, room: int = 0) -> Iterator[Path]:
    """A folder that becomes ``folder`` when the block ends without an exception, and is gone otherwise.

    Raises RunFailed when ``folder`` is already taken, and when the disk is full (at first: when less than ROOM and
    ``room`` bytes are free): tools that could not write all they saw would make a result that looks like one.
    """
    if os.path.lexists(folder):
        raise RunFailed(f"{folder} is already there, and results are never overwritten")
    partial = folder.with_name(f".{folder.name[:200]}.{secrets.token_hex(8)}.partial")
    try:
        partial.mkdir(mode=0o700, parents=True)
        require_room(partial, room=ROOM + room)
        yield partial
        require_room(partial)
        partial.chmod(0o777 & ~_umask())
        os.rename(partial, folder)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(folder.parent) from None
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise RunFailed(f"{folder} is already there, and results are never overwritten") from None
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def new_run(folder: Path, raw: Path, room: int = 0) -> Iterator[None]:
    """What the block writes into the new folder ``raw``, which is nobody else's, becomes ``folder`` as `new_folder`."""
    with new_folder(folder, room) as place:
        try:
            raw.mkdir(mode=0o700)
            require_room(raw, room=ROOM + room)
            yield
            require_room(raw)
            shutil.copytree(raw, place, dirs_exist_ok=True)
        finally:
            shutil.rmtree(raw, ignore_errors=True)


def _umask() -> int:
    found = re.search(r"^Umask:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1], 8) if found else 0o022


def require_room(*folders: Path, room: int = ROOM) -> None:
    """RunFailed where a disk has less room than that, bytes: the run on it is not kept."""
    for folder in folders:
        if shutil.disk_usage(folder).free < room:
            raise _full(folder, room)


def _full(folder: Path, room: int = ROOM) -> RunFailed:
    return RunFailed(
        f"the disk of {folder} is full: this run is not kept, finished results are; "
        f"with {room >> 20} MiB free the same command goes on"
    )
