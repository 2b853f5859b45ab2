"""A user's code as text: a file that was named or handed in."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from files.reader import Unreadable, read_bytes

MAX_FILE = 256 << 10
"""The limit of a code file, bytes."""


@dataclass(frozen=True)
class Code:
    """A file's text, and the name in it that is meant. ``file`` is the file's name."""

    file: str
    source: str
    attribute: str


def read_code(path: Path, attribute: str) -> Code:
    """A user's file: a regular one of limited size. ValueError, one sentence, if it is not."""
    try:
        return Code(path.name, read_bytes(path, MAX_FILE).decode(), attribute)
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text in UTF-8") from None
    except Unreadable as error:
        raise ValueError(f"{path} {error}") from None


def find_code(name: str) -> Code:
    """The code that FILE.py:NAME or MODULE:NAME means. ValueError, one sentence, when there is no such file."""
    where, _, attribute = name.rpartition(":")
    if not where or not attribute.isidentifier():
        raise ValueError(f"give FILE.py:CLASS or MODULE:CLASS, not {name!r}")
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
