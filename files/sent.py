"""Files that a user named, in a process that works for another machine: they were sent along, to other paths.

Such a process gets their paths once, before anything is read. In all other processes a name is the path itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_SENT: dict[str, Path] = {}


def at(name: str | Path) -> Path:
    """The path of the file with that name."""
    return _SENT.get(str(Path(name)), Path(name))


def came() -> list[str]:
    """The names of all files that came; none in a process that works for its own user."""
    return list(_SENT)


@contextmanager
def sent(files: Mapping[str, Path]) -> Iterator[None]:
    """While the block runs, these names (as `str` of a path) mean the files that were sent."""
    before = dict(_SENT)
    _SENT.update(files)
    try:
        yield
    finally:
        _SENT.clear()
        _SENT.update(before)
