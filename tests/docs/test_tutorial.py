"""The tutorial's commands print what it says they do."""

import shlex

import pytest

from plots.stored_sweep import load_sweep
from plots.summary import show
from tests.commands import PROJECT, asked

LINES = [line[4:] for line in (PROJECT / "docs/tutorial.md").read_text().splitlines() if line.startswith("    ")]
COMMANDS = [line.removeprefix("$ ") for line in LINES if line.startswith(("$ hedera ", "hedera "))]


def after(start):
    """What stands in the page below a command."""
    return LINES[next(i for i, line in enumerate(LINES) if line.startswith(f"$ {start}")) + 1 :]


@pytest.mark.parametrize("command", [line for line in COMMANDS if line.startswith("hedera simulate")])
def test_the_simulator_prints_what_the_page_has(command, monkeypatch):
    monkeypatch.chdir(PROJECT)
    done = asked(*shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == after(command)[0]


def test_the_check_prints_what_the_page_has(monkeypatch):
    """The contract's lines; what it reaches is left out in the page."""
    told = after("hedera scheduler check")
    wanted = told[: told.index("...")]
    monkeypatch.chdir(PROJECT)
    (command,) = (line for line in COMMANDS if line.startswith("hedera scheduler check"))
    done = asked(*shlex.split(command)[1:], "--quick")
    assert done.returncode == 0, done.stderr
    assert len(wanted) == 6
    assert [line for line in done.stderr.splitlines() if line.startswith("ok ")][:6] == wanted


@pytest.mark.parametrize(("page", "kept"), [("README.md", "demo"), ("docs/tutorial.md", "tutorial")])
def test_a_page_s_table_is_what_is_printed_of_the_runs_that_are_kept(page, kept):
    sweep = load_sweep(PROJECT / "results" / kept)
    table = show(sweep).splitlines()[1 : 2 + len({run.traffic for run in sweep.runs})]
    assert "".join(f"\n    {line}" for line in table) + "\n" in (PROJECT / page).read_text()
