"""A scheme of the user's own: a class from a file or module that is named on the command line.

Such code is imported when it is asked for by name, and never otherwise. Root runs it only when nobody but root
and the user of sudo can have written it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import stat
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

SPELLING = "FILE.py:CLASS or MODULE:CLASS"


def own_class(name: str) -> type:
    """The class that a scheme's name spells, as FILE.py:CLASS or MODULE:CLASS.

    MODULE is the file MODULE.py of the present folder, if there is one, else an installed module. The class needs
    a method ``place``, as `hedera.placement.Placement` has it, and is made from a tree, an rng and options.

    Raises ValueError, one sentence, for what is not there, cannot be imported, or is no such class.
    """
    where, _, attribute = name.rpartition(":")
    path = _file(where)
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
    return f"{_file(where) or where}:{attribute}"


def _file(where: str) -> Path | None:
    """The file that is meant; None for an installed module."""
    path = Path(where) if where.endswith(".py") else Path(f"{where}.py")
    return path.resolve() if where.endswith(".py") or path.is_file() else None


def _from_file(name: str, path: Path) -> ModuleType:
    try:
        about = path.stat()
    except OSError as error:
        raise ValueError(f"scheme {name!r}: {path} cannot be read: {error.strerror}") from None
    if os.geteuid() == 0:
        writers = {0, int(os.environ.get("SUDO_UID", "0"))}
        if about.st_uid not in writers or about.st_mode & stat.S_IWOTH:
            raise ValueError(f"scheme {name!r}: root does not run {path}, which other users can write")
    return _loaded(name, path, about.st_mtime_ns)


@cache
def _loaded(name: str, path: Path, modified: int) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"own_scheme_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(
            f"scheme {name!r}: importing {path} fails: {type(error).__name__}: {error}"
        ) from error
    return module


def _installed(name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise ValueError(
            f"scheme {name!r}: importing {module} fails: {type(error).__name__}: {error}"
        ) from error
