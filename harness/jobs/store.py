"""A sweep's folder: one sweep at a time, its settings, its runs, and what killed ones left."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import UserMistake
from harness.run.folder import RESULT
from results import record
from results.files import make_folder, write_whole
from results.files import read_json as read_document
from results.record import Run

MAX_SIZE = 16 << 20
"""Bytes of a sweep's settings that are still read."""
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


def write_json(path: Path, data: Any) -> None:
    """Write JSON whole. ValueError for a number that is none (NaN, infinity): null is what means it."""
    write_whole(path, json.dumps(data, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The JSON in a file. Raises ValueError when there is none of a size that we write."""
    return read_document(path, MAX_SIZE)


def read_run(folder: Path) -> Run | None:
    """The result in a run's folder, or None when there is none that can be read."""
    try:
        return record.read(folder / RESULT)
    except ValueError:
        return None
