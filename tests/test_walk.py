"""How far a reader walks who follows a command: modules of ours up to a guest's boot, or to a simulated flow's rate.

``python -m tests.test_walk run`` (or ``simulate``) prints them.
"""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli.group import cli
from virtual.guest import Guest

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "run": "run --scheme hedera-gff --traffic stride:4 --seconds 6 --time virtual --quiet",
    "simulate": "simulate --scheme ecmp --traffic stride:4 --seconds 12 --quiet",
}


class Booted(BaseException):
    """A guest would boot now."""


def boots(guest):
    raise Booted


def walked(words):
    """The modules of ours whose functions are called. A module's or a class's own lines are no function."""
    modules = set()

    def called(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_filename.startswith(f"{ROOT}/"):
            modules.add(code.co_filename.removeprefix(f"{ROOT}/"))

    Guest.__enter__ = boots
    sys.setprofile(called)
    try:
        cli.main(words, standalone_mode=False)
    except Booted:
        pass
    finally:
        sys.setprofile(None)
    return sorted(module for module in modules if not module.startswith((".", "tests/")))


@pytest.mark.parametrize(("command", "most"), [("run", 35), ("simulate", 27)])
def test_a_command_leads_through_few_modules(tmp_path, command, most):
    words = [sys.executable, "-m", "tests.test_walk", command, *(["--out", tmp_path / "run"] * (command == "run"))]
    for _ in range(2):  # the first makes what is made once
        done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
    modules = done.stdout.splitlines()[-1].split()
    assert 5 < len(modules) <= most, modules


if __name__ == "__main__":
    print(*walked([*COMMANDS[sys.argv[1]].split(), *sys.argv[2:]]))
