"""A scheme of the user's own: a class from a file or module that is named on the command line.

It is imported in the user's process and in the controller, only when it is named; a job carries its file, and
whoever carries out the job does not import it (`traffic.textfile.believe_only_given`).
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

from traffic.textfile import given, only_given, own_code

SPELLING = "FILE.py:CLASS or MODULE:CLASS"


def own_class(name: str) -> type:
    """The class of a scheme named FILE.py:CLASS or MODULE:CLASS.

    MODULE is the file MODULE.py of the current folder, if there is one, else an installed module. The class needs
    a method ``place`` as in `hedera.placement.Placement`, and is made from a tree, an rng and options.

    Raises ValueError, one sentence, if it does not exist, cannot be imported, or is no such class.
    """
    if only_given():
        return _Elsewhere
    where, _, attribute = name.rpartition(":")
    what = f"scheme {name!r}"
    if (path := file_of(name)) is not None:
        found = own_code(what, path, attribute)
    else:
        try:
            found = getattr(importlib.import_module(where), attribute, None)
        except (Exception, SystemExit) as error:
            raise ValueError(f"{what}: cannot import {where}: {type(error).__name__}: {error}") from error
    if not isinstance(found, type) or not callable(getattr(found, "place", None)):
        raise ValueError(f"{what}: {attribute or 'an empty name'} is not a class with a method place in {where}")
    try:
        inspect.signature(found).bind(None, None, None)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: {attribute} cannot be made from (tree, rng, options): {error}") from None
    return found


class _Elsewhere:
    """In place of a user's scheduler in a process that carries out jobs: the controller, another one, runs it."""

    def __init__(self, *_: object) -> None:
        raise ValueError("a user's scheduler runs in the controller alone")


def file_of(name: str) -> Path | None:
    """The file in a scheme's name, as it is spelled there; None for an installed module."""
    where, colon, _ = name.rpartition(":")
    path = Path(where if where.endswith(".py") else f"{where}.py")
    return path if colon and (where.endswith(".py") or str(path) in given or path.is_file()) else None


def from_anywhere(name: str) -> str:
    where, _, attribute = name.rpartition(":")
    path = file_of(name)
    return f"{path.resolve() if path else where}:{attribute}"
