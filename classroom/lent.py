"""What somebody's code may import while it is graded: what its templates and docs/own-scheduler.md name, and what
that needs in turn. The project's own schedulers, which would be answers, are not there to be found."""

from __future__ import annotations

import ast
import compileall
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "files", "topos", "traffic", "transfers", "hedera", "controllers", "simulator", "packets", "paper", "commands",
    "plots", "results", "benchmarks", "classroom", "watch", "workers", "harness",
)  # fmt: skip
"""All of the project's. Modules of others are there or not, as the machine has them."""
_ALWAYS = ("classroom.answering", "topos.links", "hedera.placement", "hedera.compiled")
_TO_LOOPS = ("hedera.figure_7",)
"""A control loop is given an estimate of demands to call, which is what another milestone asks for."""


def lent_modules(loop: bool = False) -> set[str]:
    """The modules of ours, by name, that a submission can import; ``loop``: as the milestone of that name."""
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


def imports(source: str) -> set[str]:
    """Our modules that a file names in an import; none where it cannot be read as Python."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    named = {name for node in nodes for module, names in _imports(node) for name in _meant(module, names)}
    return {name for name in named if name.split(".")[0] in PACKAGES}


def _meant(module: str, names: list[str]) -> list[str]:
    """Our packages hold nothing but modules, and these no other ones."""
    return [f"{module}.{name}" for name in names] if names and module in PACKAGES else [module]


def _needs(module: str) -> Iterator[str]:
    """What a module of ours imports as soon as it is imported, and the packages that it is in."""
    *above, _ = module.split(".")
    yield from (".".join(above[: n + 1]) for n in range(len(above)))
    for node in ast.parse(_file(module).read_text(encoding="utf-8")).body:
        for other, names in _imports(node):
            if other.split(".")[0] in PACKAGES:
                yield from _meant(other, names)


def _imports(node: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """The modules that a statement imports, and the names that it takes from them."""
    if isinstance(node, ast.Import):
        yield from ((name.name, []) for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module, [name.name for name in node.names]


def _file(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
