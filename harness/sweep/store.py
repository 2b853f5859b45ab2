"""Result files: one folder per run, published whole or not at all, never overwritten."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from files.reader import Unreadable, read_bytes
from files.reader import read_json as read_document
from files.rights import as_owner, invoker, make_folder
from files.writer import try_writing, write_folder, write_whole
from harness.errors import RunFailed, UserMistake
from results import record
from results.record import Run

RESULT = "run.json"
ROOM = 32 << 20
"""Bytes that have to be free where results go: many times what one run writes."""
UNPUBLISHED = "hedera-unpublished-"
"""How folders for temporary files begin that hold a finished run which could not be written where it should be."""
MAX_SIZE = 16 << 20
"""Bytes of a sweep's settings, or of a calibration, that are still read."""


def slug(text: str) -> str:
    """A pattern or scheme as a folder name: letters, digits and ``.-_,`` stay, all else becomes ``_``."""
    return re.sub(r"[^A-Za-z0-9.,_-]+", "_", text).strip("_.") or "_"


def require_writable(folder: Path) -> None:
    """Create the folder, as the invoker's; UserMistake when it cannot be written to."""
    try:
        make_folder(folder)
        try_writing(folder)
    except OSError as error:
        whom = " (by the user who called sudo)" if invoker() else ""
        raise UserMistake(f"results cannot be written to {folder}{whom}: {error.strerror}") from None


@contextmanager
def new_run(folder: Path, raw: Path, room: int = 0) -> Iterator[None]:
    """What the block writes into the new folder ``raw`` becomes ``folder`` when it ends without an exception.

    ``raw`` is where nobody but root writes, because root's tools write there. It is copied as the invoker, and
    renamed when it is whole and on the disk: a result is there whole or not at all, and what an interrupted or
    killed run left is never read as one.

    Raises RunFailed when ``folder`` is already taken, and when a disk is full (at first: when less than ROOM and
    ``room`` bytes are free): tools that could not write all they saw would make a result that looks like one. So it
    does, too, when the whole run cannot be written to ``folder``; it is kept elsewhere then.
    """
    if os.path.lexists(folder):
        raise RunFailed(f"{folder} is already there, and results are never overwritten")
    try:
        try:
            make_folder(folder.parent)
            raw.mkdir(mode=0o700)
            require_room(folder.parent, raw, room=ROOM + room)
            yield
            require_room(raw)
        except OSError as error:
            if error.errno == errno.EDQUOT:
                raise _full(folder.parent) from None
            if error.errno == errno.ENOSPC:
                raise _full(min(folder.parent, raw.parent, key=lambda disk: shutil.disk_usage(disk).free)) from None
            raise
        _publish(raw, folder)
    finally:
        shutil.rmtree(raw, ignore_errors=True)


def _publish(raw: Path, folder: Path) -> None:
    """Copy a finished run's flat folder, read by root, as the invoker; elsewhere when it cannot be there."""
    try:
        _copy(raw, folder)
    except OSError as error:
        kept = folder if _holds(folder, raw) else _keep(raw, folder.name)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(folder.parent, kept=kept) from None
        what = "is lost" if kept is None else f"is kept as {kept}"
        raise RunFailed(
            f"{folder} could not be written ({error.strerror}): this finished run {what}, others are where they were"
        ) from None


def _holds(folder: Path, raw: Path) -> bool:
    """Whether the run got there after all: the disk may fail after the last step. Others can put folders there."""
    try:
        return read_bytes(folder / RESULT, record.MAX_BYTES) == (raw / RESULT).read_bytes()
    except (Unreadable, OSError):
        return False


def _keep(raw: Path, name: str) -> Path | None:
    """Put a finished run where there may be room for it; None where there is none either."""
    place = Path(tempfile.gettempdir())
    try:
        with as_owner(place):
            folder = Path(tempfile.mkdtemp(prefix=UNPUBLISHED))
        try:
            _copy(raw, folder / name)
        except OSError:
            folder.rmdir()
            raise
    except OSError:
        return None
    return folder / name


def _copy(raw: Path, folder: Path) -> None:
    with contextlib.ExitStack() as opened:
        write_folder(folder, {path.name: opened.enter_context(path.open("rb")) for path in raw.iterdir()})


def require_room(*folders: Path, room: int = ROOM) -> None:
    """RunFailed where a disk has less room than that, bytes: the run on it is not kept."""
    for folder in folders:
        if shutil.disk_usage(folder).free < room:
            raise _full(folder, room)


def _full(folder: Path, room: int = ROOM, kept: Path | None = None) -> RunFailed:
    this = "this run is not kept, finished results are" if kept is None else f"this finished run is kept as {kept}"
    return RunFailed(f"the disk of {folder} is full: {this}; with {room >> 20} MiB free the same command goes on")


def write_json(path: Path, data: Any) -> None:
    """Write JSON so that a reader sees the old file or the new one, never half of it, even after a loss of power.

    ValueError for a number that is none (NaN, infinity): JSON has no word for it, and null is what means it.
    """
    write_whole(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The JSON in a file of the invoker's. Raises ValueError when there is none of a size that we write."""
    with as_owner(path.parent):
        return read_document(path, MAX_SIZE)


def read_run(folder: Path) -> Run | None:
    """The result in a run's folder, or None when there is none that can be read."""
    try:
        with as_owner(folder):
            return record.read(folder / RESULT)
    except ValueError:
        return None
