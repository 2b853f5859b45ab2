"""Somebody's code as text: the file that was named or handed in."""

from __future__ import annotations

import importlib.util
import os
import stat
from dataclasses import dataclass
from pathlib import Path

LARGEST_FILE = 256 << 10
"""Bytes of a file that is still taken for somebody's code."""


@dataclass(frozen=True)
class Code:
    """A file's text, and the name in it that is meant. ``file`` is what it is called."""

    file: str
    source: str
    attribute: str


def read_code(path: Path, attribute: str) -> Code:
    """Somebody's file: a plain one of a sensible size. ValueError, one sentence, when it is none."""
    try:
        with open(path, "rb", opener=_opened) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_FILE:
                raise ValueError(f"{path} is no file of at most {LARGEST_FILE >> 10} KiB")
            data = file.read(LARGEST_FILE)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return Code(path.name, data.decode(), attribute)
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no text in UTF-8") from None


def _opened(path: str, flags: int) -> int:
    """A pipe must not make us wait, and a link not lead elsewhere."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def find_code(name: str) -> Code:
    """What FILE.py:NAME or MODULE:NAME spells. ValueError, one sentence, when there is no such file."""
    where, _, attribute = name.rpartition(":")
    if not where or not attribute.isidentifier():
        raise ValueError(f"name it FILE.py:CLASS or MODULE:CLASS, not {name!r}")
    path = Path(where) if where.endswith(".py") else Path(f"{where}.py")
    if not where.endswith(".py") and not path.is_file():
        try:
            found = importlib.util.find_spec(where)
        except (ImportError, ValueError):
            found = None
        if found is None or not found.origin or not found.origin.endswith(".py"):
            raise ValueError(f"there is neither a file {path} here nor an installed module {where}")
        path = Path(found.origin)
    return read_code(path.resolve(), attribute)
