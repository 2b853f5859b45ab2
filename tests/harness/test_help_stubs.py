"""A help without the libraries that compute and draw says what it says with them."""

import json
import sys

import pytest

from harness.cli import _COMMANDS, help_stubs
from tests.commands import HEDERA, PROJECT, ran

TOLD = """
import json, sys
sys.path.insert(0, sys.argv[1])
import click
from click.testing import CliRunner
from harness.cli import cli, help_stubs
if sys.argv[2] == "light":
    help_stubs.install_stubs()
told = {}
def walk(command, path):
    done = CliRunner().invoke(cli, [*path, "--help"])
    told[" ".join(path)] = done.output if done.exit_code == 0 else repr(done.exception)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            walk(command.get_command(context, name), [*path, name])
walk(cli, [])
print(json.dumps(told))
"""


def told(kind):
    done = ran(sys.executable, "-I", "-c", TOLD, PROJECT, kind, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_every_help_is_the_same():
    whole, quick = told("whole"), told("light")
    assert len(whole) > 50
    assert quick == whole
    assert all(text.startswith("Usage: cli") for text in whole.values())


@pytest.mark.parametrize("words", ["table 4", "report", "hull table 2", "simulate"])
def test_a_help_imports_nothing_heavy(words):
    loaded = ran(HEDERA, *words.split(), "--help", env={"PYTHONVERBOSE": "1", "PATH": "/usr/bin:/bin"}, check=True)
    program = "import sys; sys.argv[1:] = {words!r}; import runpy; runpy.run_path({hedera!r}, run_name='__main__')"
    done = ran(
        sys.executable, "-X", "importtime", "-c", program.format(words=[*words.split(), "--help"], hedera=str(HEDERA))
    )
    assert done.returncode == 0
    assert done.stdout == loaded.stdout
    assert not [
        name for name in ("numpy._core", "numba.core.ir", "pandas._libs", "rich.text") if f" {name}" in done.stderr
    ]
    assert "click.core" in done.stderr, "it does tell what is imported"


def test_a_help_keeps_no_compiled_loops(tmp_path):
    done = ran(HEDERA, "table", "4", "--help", env={"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "hedera/compiled").exists()


@pytest.mark.parametrize(
    ("words", "light_one"),
    [
        ("--help", True),
        ("table 4 --help", True),
        ("hull -h", True),
        ("guest --help", True),
        ("guest mn --help", False),
        ("guest -- mn --help", False),
        ("simulate --scheme ecmp --help", False),
        ("nothing --help", False),
        ("schemes", False),
        ("", False),
    ],
)
def test_only_what_ends_with_a_help_is_light(words, light_one):
    assert help_stubs.is_help_asked(words.split(), {}, _COMMANDS) is light_one
    assert help_stubs.is_help_asked(words.split(), {"_HEDERA_COMPLETE": "bash_complete"}, _COMMANDS)
