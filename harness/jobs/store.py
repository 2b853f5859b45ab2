"""Folders of results: a run's is published whole or not at all, never over another; a sweep's is one sweep's at a
time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import RunFailed, UserMistake
from results import record
from results.files import make_folder
from results.record import Run

RESULT = "run.json"
ROOM = 32 << 20
"""Bytes that have to be free where results go: many times what one run writes."""
PARTIAL = re.compile(r"\..+\.[0-9a-f]{16}\.partial")
"""How what is being written is called; a process that was killed leaves it."""


def slug(text: str) -> str:
    """A pattern or scheme as a folder name: letters, digits and ``.-_,`` stay, all else becomes ``_``."""
    return re.sub(r"[^A-Za-z0-9.,_-]+", "_", text).strip("_.") or "_"


def require_writable(folder: Path) -> None:
    """Create the folder; UserMistake when it cannot be written to."""
    try:
        make_folder(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UserMistake(f"results cannot be written to {folder}: {error.strerror}") from None


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other sweeps out of a folder while the block runs; UserMistake when one is at work there."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserMistake(
                f"another sweep is at work in {folder}: wait for its end, or use another --name"
            ) from None
        yield
    finally:
        os.close(descriptor)


def remove_partial(folder: Path, seconds: float = 0.0) -> list[Path]:
    """Remove what killed processes left half-written below a folder, if unchanged for ``seconds``; returns it."""
    gone = []
    for place, inside, files in os.walk(folder):
        for name in filter(PARTIAL.fullmatch, [*inside, *files]):
            path = Path(place, name)
            with contextlib.suppress(OSError):
                if time.time() - path.lstat().st_mtime >= seconds:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                    gone.append(path)
        inside[:] = [name for name in inside if not name.startswith(".")]
    return gone


def read_run(folder: Path) -> Run | None:
    """The result in a run's folder, or None when there is none that can be read."""
    try:
        return record.read(folder / RESULT)
    except ValueError:
        return None


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
