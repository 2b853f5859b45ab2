"""Table 3: iterations against the paper."""

import pytest

from paper import table_3
from tests.paper.commands import is_png, rows, run, run_json

SMALL = ("--hosts", "16", "--iterations", "1000", "--seconds", 12, "--jobs", 1)


def test_it_holds_iterations_against_the_paper(tmp_path):
    found = run_json(table_3, *SMALL, "--out", tmp_path)
    assert [(row["iterations"], row["published_percent"]) for row in found] == [(None, 81.24), (1000, 78.73)]
    assert [row["iterations"] for row in rows(tmp_path / "table3.csv")] == ["", "1000"]
    assert is_png(tmp_path / "table3.png")


def test_in_words(tmp_path):
    done = run(table_3, *SMALL, "--out", tmp_path)
    assert "16 hosts, non-blocking" in done.stdout
    assert "16 hosts, 1,000 iterations" in done.stdout


@pytest.mark.parametrize(
    "arguments", [["--hosts", "17"], ["--iterations", "many"], ["--hosts", ""], ["--iterations", "0"]]
)
def test_sizes_and_counts_that_make_no_sense_are_refused(arguments, tmp_path):
    done = run(table_3, *arguments, "--out", tmp_path)
    assert done.exit_code == 2
    assert "Error: " in done.stderr
