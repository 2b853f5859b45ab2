"""Table 3: iterations, periods and engines; shares of the control; and what it refuses."""

import pytest

from paper import table_3
from results.published import TABLE_3
from tests.paper.commands import rows, run, run_json

SMALL = ("--hosts", "16", "--iterations", "1000,50000", "--seconds", 12, "--seeds", 2, "--jobs", 1)


def test_cells_and_their_shares_of_the_control(tmp_path):
    found = run_json(table_3, *SMALL, "--intervals", "1,0.1", "--out", tmp_path)
    cells = [(row["engine"], row["scheme"], row["interval_s"], row["iterations"]) for row in found]
    one = [
        ("nonblocking", 5.0, None),
        ("hedera-clos", 5.0, None),
        ("hedera-sa", 1.0, 1000),
        ("hedera-sa", 1.0, 50_000),
        ("hedera-sa", 0.1, 1000),
    ]
    assert cells == [(engine, *cell) for engine in ("aimd", "maxmin") for cell in one], "50,000 in 0.1 s: too many"
    for row in found:
        assert row["seeds"] == 2
        assert row["lowest_percent"] <= row["percent"] <= row["highest_percent"]
        spread = row["highest_percent"] - row["lowest_percent"]
        assert row["sd_percent"] == pytest.approx(spread / 2**0.5, abs=1e-9)
        assert row["published_percent"] == (None if row["scheme"] == "hedera-clos" else TABLE_3[16, row["iterations"]])
        if row["scheme"] == "nonblocking":
            assert row["of_control_percent"] == row["final_of_control_percent"] == 100
        elif row["engine"] == "maxmin" and row["scheme"] == "hedera-sa":  # placed well before the window begins
            assert row["of_control_percent"] == pytest.approx(row["final_of_control_percent"], abs=1)
            assert row["of_control_percent"] <= 100 + 1e-9
    assert len(rows(tmp_path / "table3.csv")) == len(found)


@pytest.mark.parametrize("arguments", [["--hosts", "17"], ["--iterations", "many"], ["--intervals", "0,1"]])
def test_sizes_and_counts_that_make_no_sense_are_refused(arguments, tmp_path):
    done = run(table_3, *arguments, "--out", tmp_path)
    assert done.exit_code == 2
    assert "Error: " in done.stderr
