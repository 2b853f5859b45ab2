"""The modules that a submission can import while it is graded: those that the templates and docs/own-scheduler.md
name, and their dependencies. The project's own schedulers, which would be solutions, are not included."""

from __future__ import annotations

import ast
import compileall
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from classroom.process import ROOT

_ALWAYS = ("classroom.answering", "topos.links", "hedera.placement", "hedera.compiled")


@cache
def packages() -> tuple[str, ...]:
    return tuple(sorted({path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}))


def allowed_modules(*more: str) -> set[str]:
    """The names of our modules that a submission can import; ``more``: with what these need."""
    found: set[str] = set()
    waiting = [*_ALWAYS, *more]
    while waiting:
        if (module := waiting.pop()) not in found:
            found.add(module)
            waiting += _needs(module)
    return found


def expose(place: Path, *more: str, compiled: bool = False) -> None:
    """Copy these modules to ``place``, for any user to read; ``compiled``: with what Python makes of them."""
    for module in sorted(allowed_modules(*more)):
        source, copy = _file(module), place / _file(module).relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    if compiled:
        compileall.compile_dir(place, quiet=2, workers=1)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # whatever the umask says


def asked_for(source: str) -> set[str]:
    """Our modules that are named anywhere in a submitted file although it cannot import them.

    The text is searched, not parsed: hostile nesting could crash Python's parser.
    """
    ours = "|".join(packages())
    named = set(re.findall(rf"\b(?:{ours})(?:\.\w{{1,60}}){{1,3}}\b", source, re.ASCII))
    for package, names in re.findall(rf"\bfrom\s+({ours})\s+import\s+\(?([\w\s,]+)", source, re.ASCII):
        named |= {f"{package}.{name}" for name in re.findall(r"\b\w{1,60}\b", names)}
    return {name for name in named - allowed_modules() if _file(name).is_file()}


def _needs(module: str) -> Iterator[str]:
    """The modules that one of ours imports at its top, and its parent packages."""
    *above, _ = module.split(".")
    yield from (".".join(above[: n + 1]) for n in range(len(above)))
    for node in ast.parse(_file(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{name.name}" for name in node.names]
            names = [name for name in inside if _file(name).exists()] or [node.module]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in packages())


def _file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
