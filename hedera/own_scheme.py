"""A scheme of the user's own: a class from a file or module that is named on the command line.

Such code is imported only when the user names it. Root does not import it to build a network: a process without
root's rights checks that it can be imported, and the controller, which creates the class, does not have root's rights
either. Where root does run it (a root shell that simulates), the file must be one that only root or the user of sudo
can have written.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from files.own_code import TOLD, loaded, told_by, trusted
from files.sent import at

SPELLING = "FILE.py:CLASS or MODULE:CLASS"


IMPORT_S = 60.0
"""Seconds that the import may take."""
_HERE = Path(__file__).resolve().parents[1]
_VOUCH = f"""
from hedera.own_scheme import own_class
try:
    own_class(sys.argv[1])
except ValueError as error:
    print(error, file=sys.stderr)
    sys.exit({TOLD})
"""
MAX_SAID = 1_000_000
"""Bytes that the file may print during the import."""


def own_scheduler(name: str) -> Callable[..., Any]:
    """A function that makes the scheduler of this name from a tree, an rng and options: `own_class`, safe for root.

    Raises ValueError as `own_class` does, at once; for root the check runs in a process without root's rights.
    """
    if os.geteuid() != 0:
        return own_class(name)
    path = file_of(name)
    _vouch(name, path, 0 if path is None else _trusted(name, path))
    return lambda *given: own_class(name)(*given)


@cache
def _vouch(name: str, path: Path | None, modified: int) -> None:
    place, what = path or _place_of(name), [from_anywhere(name)]
    told_by(f"scheme {name!r}", _VOUCH, what, place, seconds=IMPORT_S, most_bytes=MAX_SAID, doing="importing it")


def _place_of(name: str) -> Path:
    """Where an installed module is, without importing any of it."""
    try:
        found = importlib.util.find_spec(name.partition(":")[0].partition(".")[0])
    except (ImportError, ValueError):
        found = None
    if found is None or not found.origin:
        return _HERE / "hedera"
    place = Path(found.origin)
    return place.parent if place.name == "__init__.py" else place


def own_class(name: str) -> type:
    """The class of a scheme named FILE.py:CLASS or MODULE:CLASS.

    MODULE is the file MODULE.py of the current folder, if there is one, else an installed module. The class needs
    a method ``place`` as in `hedera.placement.Placement`, and is made from a tree, an rng and options.

    Raises ValueError, one sentence, if it does not exist, cannot be imported, or is no such class.
    """
    where, _, attribute = name.rpartition(":")
    path = file_of(name)
    module = _installed(name, where) if path is None else _from_file(name, path)
    found = getattr(module, attribute, None)
    if not isinstance(found, type) or not callable(getattr(found, "place", None)):
        raise ValueError(
            f"scheme {name!r}: {attribute or 'an empty name'} is not a class with a method place in {where}"
        )
    try:
        inspect.signature(found).bind(None, None, None)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scheme {name!r}: {attribute} cannot be made from (tree, rng, options): {error}") from None
    return found


def from_anywhere(name: str) -> str:
    """The scheme's name for a process with another current folder."""
    where, _, attribute = name.rpartition(":")
    return f"{file_of(name) or where}:{attribute}"


def named_file(name: str) -> Path | None:
    """The file in a scheme's name, as it is spelled there; None for an installed module."""
    where, colon, _ = name.rpartition(":")
    path = Path(where if where.endswith(".py") else f"{where}.py")
    return path if colon and (where.endswith(".py") or at(path).is_file()) else None


def file_of(name: str) -> Path | None:
    """The path of that file."""
    named = named_file(name)
    return None if named is None else at(named).resolve()


def _from_file(name: str, path: Path) -> ModuleType:
    return _loaded(name, path, _trusted(name, path))


def _trusted(name: str, path: Path) -> int:
    return trusted(f"scheme {name!r}", path)


@cache
def _loaded(name: str, path: Path, modified: int) -> ModuleType:
    try:
        return loaded(f"own_scheme_{path.stem}", path)
    except (Exception, SystemExit) as error:
        raise ValueError(f"scheme {name!r}: cannot import {path}: {type(error).__name__}: {error}") from error


def _installed(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"scheme {name!r}: cannot import {module}: {type(error).__name__}: {error}") from error
