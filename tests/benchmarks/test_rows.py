"""The table of benchmarks: a number beside the one that it is held against, and what a program has used."""

import sys

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks.row import Row, child


def test_a_part_s_rows_are_told_with_their_ratios(monkeypatch):
    asked = []

    def rows(whole):
        asked.append(whole)
        yield Row("of four", 3.0, "s", 4.0)
        yield Row("of none", 5.0, "ms")

    monkeypatch.setitem(command.PARTS, "virtual", rows)
    done = CliRunner().invoke(command.main, ["virtual", "--all"])
    assert done.exit_code == 0, done.output
    assert [line.split()[-1] for line in done.stdout.splitlines()[-2:]] == ["0.75", "ms"]
    assert asked == [True]


def test_what_a_program_used_is_of_all_its_processes():
    burn = "import time\nwhile time.process_time() < 0.3: pass\n"
    used = child([sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"])
    assert used.ru_utime + used.ru_stime > 0.3
    with pytest.raises(RuntimeError, match="failed"):
        child(["/bin/false"])
