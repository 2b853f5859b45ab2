"""Result files: one folder per run, published whole or not at all, never overwritten."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import RunFailed, UserMistake

RESULT = "run.json"
ROOM = 32 << 20
"""Bytes that have to be free where results go: many times what one run writes."""


def slug(text: str) -> str:
    """A pattern or scheme as a folder name: letters, digits and ``.-_,`` stay, all else becomes ``_``."""
    return re.sub(r"[^A-Za-z0-9.,_-]+", "_", text).strip("_.") or "_"


def require_writable(folder: Path) -> None:
    """Create the folder; UserMistake when it cannot be written to."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UserMistake(f"results cannot be written to {folder}: {error.strerror}") from None
    give_to_invoker(folder)


def give_to_invoker(path: Path) -> None:
    """Hand a file or folder made under sudo to the user who called sudo."""
    uid, gid = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() == 0 and uid and gid:
        for part in (path, *path.rglob("*")):
            os.chown(part, int(uid), int(gid), follow_symlinks=False)


@contextmanager
def new_run(folder: Path) -> Iterator[Path]:
    """A folder to write a run into, renamed to ``folder`` when the block ends without an exception.

    So a result is there whole or not at all: what an interrupted or killed run left is never read as one.
    Raises RunFailed when ``folder`` is already taken, and when the disk is full: tools that could not write
    all they saw would make a result that looks like one.
    """
    if folder.exists():
        raise RunFailed(f"{folder} is already there, and results are never overwritten")
    partial = folder.parent / f".{folder.name}.partial"
    try:
        if partial.exists():
            shutil.rmtree(partial)
        partial.mkdir(parents=True)
        _require_room(partial)
        yield partial
        _require_room(partial)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(folder.parent) from None
        raise
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    partial.rename(folder)
    give_to_invoker(folder)


def _require_room(folder: Path) -> None:
    if shutil.disk_usage(folder).free < ROOM:
        raise _full(folder.parent)


def _full(folder: Path) -> RunFailed:
    return RunFailed(
        f"the disk of {folder} is full: this run is not kept, finished results are; "
        f"with {ROOM >> 20} MiB free the same command goes on"
    )


def write_json(path: Path, data: Any) -> None:
    """Write JSON so that a reader sees the old file or the new one, never half of it."""
    half = path.with_name(f".{path.name}.partial")
    with half.open("w") as out:
        json.dump(data, out, indent=1)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())
    half.replace(path)


def read_run(folder: Path) -> dict[str, Any] | None:
    """The result in a run's folder, or None when there is none that can be read."""
    try:
        data = json.loads((folder / RESULT).read_text())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and data.get("schema") == 1 and "verdict" in data else None
