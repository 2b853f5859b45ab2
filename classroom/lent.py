"""The modules that a submission can import while it is graded: those that the templates and docs/own-scheduler.md
name, and their dependencies. The project's own schedulers, which would be solutions, are not included."""

from __future__ import annotations

import ast
import compileall
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "files", "topos", "traffic", "transfers", "hedera", "controllers", "simulator", "packets", "paper", "commands",
    "plots", "results", "benchmarks", "classroom", "watch", "workers", "virtual", "harness", "hifi",
)  # fmt: skip
"""All of the project's modules. Other packages are available if the machine has them."""
_DOTTED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w{{1,60}}){{1,3}}\b", re.ASCII)
_FROM = re.compile(rf"\bfrom\s+({'|'.join(PACKAGES)})\s+import\s+\(?([\w\s,]+)", re.ASCII)
_ALWAYS = ("classroom.answering", "topos.links", "hedera.placement", "hedera.compiled")
_TO_LOOPS = ("hedera.figure_7",)
"""A control loop gets a demand estimation to call, which is the solution of another milestone."""


def lent_modules(loop: bool = False) -> set[str]:
    """The names of our modules that a submission can import; ``loop``: for the milestone of that name."""
    found: set[str] = set()
    waiting = [*_ALWAYS, *(_TO_LOOPS if loop else ())]
    while waiting:
        if (module := waiting.pop()) not in found:
            found.add(module)
            waiting += _needs(module)
    return found


def lend(place: Path, loop: bool = False) -> None:
    """Copy these modules to ``place``, compiled, for any user to read."""
    for module in sorted(lent_modules(loop)):
        source, copy = _file(module), place / _file(module).relative_to(ROOT)
        copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    compileall.compile_dir(place, quiet=2, workers=1)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)  # whatever the umask says


def asked_for(source: str) -> set[str]:
    """Our modules that are named anywhere in a submitted file although it cannot import them.

    The text is searched, not parsed: hostile nesting could crash Python's parser.
    """
    named = set(_DOTTED.findall(source))
    for package, names in _FROM.findall(source):
        named |= {f"{package}.{name}" for name in re.findall(r"\b\w{1,60}\b", names)}
    return {name for name in named - lent_modules() if _file(name).is_file()}


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
        yield from (name for name in names if name.split(".")[0] in PACKAGES)


def _file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
