"""Which modules of the project a module needs, found in its source without importing anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_NAME = re.compile(r"[a-z]\w*(\.[a-z]\w*)+")


def closure(names: Iterable[str], root: Path) -> dict[str, Path]:
    """The modules below ``root`` that these need, themselves included, by name.

    It finds modules that are imported at the top or within a function, or started as a program that a string names
    ("controllers.os_ken_main"), and all that these need in turn.
    """
    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and (path := module_file(name, root)) is not None:
            found[name] = path
            waiting.append(name.rpartition(".")[0])
            with suppress(OSError, SyntaxError):  # the file is being edited
                source = path.read_bytes()
                waiting += [*imported(source), *_named(source)]
    return found


def module_file(name: str, root: Path) -> Path | None:
    """The path of a module's source, if it is below ``root``."""
    path = root.joinpath(*name.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if name and p.is_file()), None)


@lru_cache(maxsize=1024)
def imported(source: bytes) -> frozenset[str]:
    """The modules that a source imports anywhere; includes names imported from modules, which may be modules or not.

    Raises SyntaxError if it is not Python.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update((node.module, *(f"{node.module}.{name.name}" for name in node.names)))
    return frozenset(found)


@lru_cache(maxsize=1024)
def _named(source: bytes) -> frozenset[str]:
    strings = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return frozenset(text for text in strings if isinstance(text, str) and _NAME.fullmatch(text))
