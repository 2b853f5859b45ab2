"""Which modules of the project a module needs, as its source says. Nothing is imported to find out."""

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

    Whether a module is imported at once, within a function, or started as a program of its own that a string names
    ("controllers.os_ken_main"), makes no difference; nor does it for modules that are started by such ones.
    """
    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found and (path := module_file(name, root)) is not None:
            found[name] = path
            waiting.append(name.rpartition(".")[0])
            with suppress(OSError, SyntaxError):  # somebody is at work on it
                source = path.read_bytes()
                waiting += [*imported(source), *_named(source)]
    return found


def module_file(name: str, root: Path) -> Path | None:
    """Where a module's source is, if it lies below ``root``."""
    path = root.joinpath(*name.split("."))
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if name and p.is_file()), None)


@lru_cache(maxsize=1024)
def imported(source: bytes) -> frozenset[str]:
    """The modules that a source imports anywhere in it; a name taken from a module may be one or not.

    Raises SyntaxError where it is no Python.
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
