"""Result files: one folder per run, published whole or not at all, never overwritten."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import RunFailed, UserMistake
from harness.invoker import as_invoker, hand_over, make_folder
from hedera.unprivileged import invoker
from results import record
from results.record import Run

RESULT = "run.json"
ROOM = 32 << 20
"""Bytes that have to be free where results go: many times what one run writes."""
LARGEST = 16 << 20
"""Bytes of a sweep's settings, or of a calibration, that are still read."""


def slug(text: str) -> str:
    """A pattern or scheme as a folder name: letters, digits and ``.-_,`` stay, all else becomes ``_``."""
    return re.sub(r"[^A-Za-z0-9.,_-]+", "_", text).strip("_.") or "_"


def require_writable(folder: Path) -> None:
    """Create the folder, as the invoker's; UserMistake when it cannot be written to."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        make_folder(folder)
        with as_invoker(folder):
            probe.touch()
            probe.unlink()
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
    ``room`` bytes are free): tools that could not write all they saw would make a result that looks like one.
    """
    if os.path.lexists(folder):
        raise RunFailed(f"{folder} is already there, and results are never overwritten")
    try:
        make_folder(folder.parent)
        raw.mkdir(mode=0o700)
        _require_room(ROOM + room, folder.parent, raw)
        yield
        _require_room(ROOM, folder.parent, raw)
        _publish(raw, folder)
    except OSError as error:
        if error.errno == errno.EDQUOT:
            raise _full(folder.parent) from None
        if error.errno == errno.ENOSPC:
            raise _full(
                min(folder.parent, raw.parent, key=lambda disk: shutil.disk_usage(disk).free)
            ) from None
        raise
    finally:
        shutil.rmtree(raw, ignore_errors=True)


def _publish(raw: Path, folder: Path) -> None:
    """Copy a run's flat folder as the invoker, under another name until it is whole."""
    partial = folder.parent / f".{folder.name}.partial"
    with contextlib.ExitStack() as opened:
        files = {path.name: opened.enter_context(path.open("rb")) for path in raw.iterdir()}
        opened.enter_context(as_invoker(folder.parent))
        try:
            if partial.exists():
                shutil.rmtree(partial)
            partial.mkdir()
            for name, content in files.items():
                with (partial / name).open("xb") as out:
                    shutil.copyfileobj(content, out)
                    out.flush()
                    _to_disk(out.fileno())
            _to_disk(partial)
            partial.rename(folder)
            _to_disk(folder.parent)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    hand_over(folder)


def _to_disk(place: Path | int) -> None:
    """Wait until a file (open) or the names in a folder are on the disk."""
    descriptor = place if isinstance(place, int) else os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        if descriptor is not place:
            os.close(descriptor)


def _require_room(room: int, *folders: Path) -> None:
    for folder in folders:
        if shutil.disk_usage(folder).free < room:
            raise _full(folder, room)


def _full(folder: Path, room: int = ROOM) -> RunFailed:
    return RunFailed(
        f"the disk of {folder} is full: this run is not kept, finished results are; "
        f"with {room >> 20} MiB free the same command goes on"
    )


def write_json(path: Path, data: Any) -> None:
    """Write JSON so that a reader sees the old file or the new one, never half of it, even after a loss of power.

    ValueError for a number that is none (NaN, infinity): JSON has no word for it, and null is what means it.
    """
    half = path.with_name(f".{path.name}.partial")
    text = json.dumps(data, indent=1, allow_nan=False) + "\n"
    with half.open("w") as out:
        out.write(text)
        out.flush()
        _to_disk(out.fileno())
    half.replace(path)
    _to_disk(path.parent)


def read_json(path: Path) -> Any:
    """The JSON in a file of the invoker's. OSError or ValueError (or RecursionError) when there is none.

    What is no plain file, or larger than LARGEST, is not read: it might never end.
    """
    with as_invoker(path.parent):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="utf-8") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
                raise ValueError(f"{path} is no file of a size that we write")
            return json.loads(file.read())


def read_run(folder: Path) -> Run | None:
    """The result in a run's folder, or None when there is none that can be read."""
    try:
        with as_invoker(folder):
            return record.read(folder / RESULT)
    except ValueError:
        return None
