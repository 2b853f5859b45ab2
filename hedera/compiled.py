"""How the project compiles its inner loops: Numba, without the interpreter lock, kept on disk between processes.

Machine code contains a copy of all that it calls, and Numba's cache asks only whether the outermost function's file
has changed. So each state of the sources has a folder of its own, named by their hash.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config

Function = TypeVar("Function", bound=Callable[..., Any])
FOLDERS = 8
"""States of the sources whose machine code is kept."""
_ROOT = Path(__file__).resolve().parents[1]


def compiled(function: Function) -> Function:
    """Decorator: compile ``function`` on its first call, or load what an earlier process compiled."""
    folder = code_folder()
    if folder is not None:
        config.CACHE_DIR = str(folder)
    # With numpy's rules a division does not check for zero; no loop of ours divides by zero.
    return cast(Function, numba.njit(nogil=True, error_model="numpy", cache=folder is not None)(function))


@cache
def code_folder() -> Path | None:
    """The folder of these sources' machine code, made if needed: below NUMBA_CACHE_DIR or ~/.cache/hedera/compiled.

    Numba runs whatever lies there, so it is None, and nothing is kept, where others can write, or this user cannot.
    """
    given, home = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    folder = Path(given or "hedera/compiled")
    try:
        base = folder if given else Path(home or Path("~/.cache").expanduser()) / folder
        folder = base / _sources()
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            print("compiling the inner loops, once: half a minute or less", file=sys.stderr, flush=True)
            for old in sorted(base.iterdir(), key=lambda one: one.stat().st_mtime)[:-FOLDERS]:
                shutil.rmtree(old, ignore_errors=True)
        safe = all(_is_ours(place.stat()) for place in (base, folder)) and os.access(folder, os.W_OK)
    except (OSError, RuntimeError):
        safe = False
    if not safe:
        print(f"compiling the inner loops at every start: {folder} is not this user's alone", file=sys.stderr)
    return folder if safe else None


def _is_ours(about: os.stat_result) -> bool:
    return about.st_uid in (0, os.geteuid()) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _sources() -> str:
    """A hash of all that compiled functions call in other files than their own."""
    digest = hashlib.sha256()
    for path in sorted([*(_ROOT / "hedera").glob("*.py"), *(_ROOT / "topos").glob("*.py")]):
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
