"""How far a reader walks who follows a command: modules of ours, and changes from one to another.

    python -m benchmarks.walk

Counts, with a profiler in this thread, calls of the project's functions: for `hedera run` in virtual time up to the
boot of its guest, for `hedera simulate` up to a flow's rate. Each is counted in a process of its own, when what is made
once (a guest's kernel and code) is there. Modules of which functions are called only while modules are imported, as
they fill their tables and define their options, are named apart: the command does not lead into them.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import FrameType, TracebackType

from harness.cli import cli
from virtual.guest import Guest

PROJECT = Path(__file__).resolve().parents[1]
OUT = PROJECT / "results" / "runs" / "walk" / "run"
COMMANDS = {
    "run": f"run --scheme hedera-gff --traffic stride:4 --seconds 6 --time virtual --quiet --out {OUT}".split(),
    "simulate": ["simulate", "--scheme", "ecmp", "--traffic", "stride:4", "--seconds", "12", "--quiet"],
}


class Booted(BaseException):
    """A guest would boot now."""


class Walk:
    """The functions called while the block runs, and how often a call led from one module of ours into another;
    ``at_import``: the modules of those that were called while a module was imported."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.at_import: set[str] = set()
        self.changes = 0
        self._last = ""

    def __enter__(self) -> Walk:
        sys.setprofile(self._note_call)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        sys.setprofile(None)
        return isinstance(error, Booted)

    def _note_call(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        function = code.co_flags & inspect.CO_OPTIMIZED  # a module's or a class's own lines are no function
        if event != "call" or not function or not code.co_filename.startswith(f"{PROJECT}/"):
            return
        module = code.co_filename.removeprefix(f"{PROJECT}/")
        if module.startswith((".", "benchmarks/")):
            return
        if _is_importing(frame):
            self.at_import.add(module)
            return
        self.functions.add((module, code.co_name))
        self.changes += module != self._last
        self._last = module

    @property
    def modules(self) -> list[str]:
        return sorted({module for module, _ in self.functions})

    @property
    def imported_only(self) -> list[str]:
        return sorted(self.at_import - set(self.modules))


def _is_importing(frame: FrameType) -> bool:
    """Whether a call comes, by whatever way, from the own lines of a module of ours, as when it is imported."""
    caller = frame.f_back
    while caller is not None and caller.f_code is not walk_through.__code__:
        if caller.f_code.co_name == "<module>" and caller.f_code.co_filename.startswith(f"{PROJECT}/"):
            return True
        caller = caller.f_back
    return False


def walk_through(words: list[str]) -> Walk:
    with Walk() as walk:
        cli.main(words, standalone_mode=False)
    return walk


def _stop_at_boot(guest: Guest) -> Guest:
    sys.setprofile(None)
    raise Booted


def count(command: str) -> None:
    Guest.__enter__ = _stop_at_boot  # type: ignore[method-assign]
    walk = walk_through(COMMANDS[command])
    print(f"{command}: {len(walk.modules)} modules, {walk.changes} changes, {len(walk.functions)} functions")
    print("  " + " ".join(walk.modules))
    print(f"  only as they are imported, {len(walk.imported_only)} more: " + " ".join(walk.imported_only))


def main(*commands: str) -> None:
    if commands:
        return count(*commands)
    for command in COMMANDS:
        counting = [sys.executable, "-m", "benchmarks.walk", command]
        subprocess.run(counting, cwd=PROJECT, check=True, capture_output=True)  # makes what is made once
        done = subprocess.run(counting, cwd=PROJECT, check=True, capture_output=True, text=True)
        print(*done.stdout.splitlines()[-3:], sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
