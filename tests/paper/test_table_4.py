"""Table 4: demand estimation is timed."""

import pytest

from paper import table_4
from results.published import TABLE_4
from tests.paper.commands import rows, run_json


def test_its_rows_as_json(tmp_path):
    found = run_json(table_4, "--seconds", 0, "--out", tmp_path)
    assert len(rows(tmp_path / "table4.csv")) == len(found) == len(TABLE_4)
    for row in found:
        assert 0 < row["best_ms"] <= row["median_ms"]
        assert row["ratio"] == pytest.approx(row["published_ms"] / row["median_ms"])


def test_memory_stays_below_the_papers():
    assert 4 < table_4.megabytes_needed() < 20
