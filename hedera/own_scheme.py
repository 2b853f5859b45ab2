"""A scheme of the user's own: a class from a file or module that is named on the command line.

Such code is imported when it is asked for by name, and never otherwise. Root itself does not import it to build a
network: a process without root's rights says whether it can be had, and the controller has none when it makes the
class. Where root runs it after all (a root shell that simulates), nobody but root and the user of sudo can have
written it.
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
"""Seconds that importing it may take."""
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
"""Bytes that it may print meanwhile."""


def own_scheduler(name: str) -> Callable[..., Any]:
    """What makes the scheduler that a scheme's name spells, from a tree, an rng and options; `own_class` for root.

    Raises ValueError as `own_class` does, at once; root gets to know in a process that has its rights no more.
    """
    if os.geteuid() != 0:
        return own_class(name)
    path = file_of(name)
    _vouch(name, path, 0 if path is None else _trusted(name, path))
    return lambda *given: own_class(name)(*given)


@cache
def _vouch(name: str, path: Path | None, modified: int) -> None:
    place, what = path or _place_of(name), [from_anywhere(name)]
    told_by(
        f"scheme {name!r}", _VOUCH, what, place, seconds=IMPORT_S, most_bytes=MAX_SAID, doing="importing it"
    )


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
    """The class that a scheme's name spells, as FILE.py:CLASS or MODULE:CLASS.

    MODULE is the file MODULE.py of the present folder, if there is one, else an installed module. The class needs
    a method ``place``, as `hedera.placement.Placement` has it, and is made from a tree, an rng and options.

    Raises ValueError, one sentence, for what is not there, cannot be imported, or is no such class.
    """
    where, _, attribute = name.rpartition(":")
    path = file_of(name)
    module = _installed(name, where) if path is None else _from_file(name, path)
    found = getattr(module, attribute, None)
    if not isinstance(found, type) or not callable(getattr(found, "place", None)):
        raise ValueError(
            f"scheme {name!r}: {attribute or 'nothing'} is no class with a method place in {where}"
        )
    try:
        inspect.signature(found).bind(None, None, None)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"scheme {name!r}: {attribute} is not made from (tree, rng, options): {error}"
        ) from None
    return found


def from_anywhere(name: str) -> str:
    """The same scheme's name for a process that stands in another folder."""
    where, _, attribute = name.rpartition(":")
    return f"{file_of(name) or where}:{attribute}"


def named_file(name: str) -> Path | None:
    """The file that a scheme's name means, as it is named there; None for an installed module."""
    where, colon, _ = name.rpartition(":")
    path = Path(where if where.endswith(".py") else f"{where}.py")
    return path if colon and (where.endswith(".py") or at(path).is_file()) else None


def file_of(name: str) -> Path | None:
    """Where that file is."""
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
        raise ValueError(
            f"scheme {name!r}: importing {path} fails: {type(error).__name__}: {error}"
        ) from error


def _installed(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"scheme {name!r}: importing {module} fails: {type(error).__name__}: {error}"
        ) from error
