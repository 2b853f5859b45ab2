"""Files that a user named, in a process that works for another machine: they came with the work, and lie elsewhere.

Such a process is told once, before anything is read; in all others a name is the path that it looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_SENT: dict[str, Path] = {}


def at(name: str | Path) -> Path:
    """Where the file of that name is."""
    return _SENT.get(str(Path(name)), Path(name))


@contextmanager
def sent(files: Mapping[str, Path]) -> Iterator[None]:
    """While the block runs, these names (as `str` of a path) mean the files that came."""
    before = dict(_SENT)
    _SENT.update(files)
    try:
        yield
    finally:
        _SENT.clear()
        _SENT.update(before)
