"""What starting costs: every command is asked, and the time is that of the process."""

import sys

import pytest

from benchmarks.starting import list_helps, measure_spent_s
from harness.cli import cli


def test_every_command_and_group_is_asked_once():
    words = list(list_helps(cli))
    assert words[0] == ()
    assert {("table",), ("table", "4"), ("hull", "figure", "1"), ("simulate",)} <= set(words)
    assert len(words) == len(set(words))


def test_the_time_of_a_processor_is_told():
    work = "n = 0\nwhile n < 3_000_000: n += 1"
    assert measure_spent_s([sys.executable, "-c", work]) > measure_spent_s([sys.executable, "-c", ""])


def test_what_fails_is_not_measured():
    with pytest.raises(SystemExit, match="ended with 3"):
        measure_spent_s([sys.executable, "-c", "raise SystemExit(3)"])
