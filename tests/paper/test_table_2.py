"""Table 2: the shuffle."""

from pathlib import Path

import pytest

from paper import table_2
from plots.shuffle import MB, Shuffle, rows_of
from results.published import TABLE_2
from tests.paper.commands import is_png, rows, run, run_json


def test_the_table_has_times_ratios_and_the_published_ones(tmp_path):
    found = run_json(table_2, "--simulated", "--seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert [row["scheme"] for row in found] == ["ecmp", "hedera-gff", "hedera-sa", "nonblocking"]
    for row in found:
        assert row["shuffle_s"] >= row["host_completion_s"] > 15 * 500 * MB * 8e-9
        assert row["bisection_mbps"] == pytest.approx(16 * row["goodput_mib_per_s"] * MB * 8e-6)
        assert row["shuffle_difference"] == pytest.approx(
            row["shuffle_to_control"] - row["published_shuffle_to_control"]
        )
    assert found[0]["published_shuffle_to_control"] == 438.44 / 306.37
    assert found[3]["goodput_to_control"] == 1
    assert found[0]["shuffle_to_control"] > 1, "collisions cost time"
    assert len(rows(tmp_path / "table2.csv")) == 4
    assert is_png(tmp_path / "table2.png")


def test_published_bandwidth_is_goodput_in_units_of_2_20_bytes():
    for _, completion, gbps, goodput in TABLE_2.values():
        assert 15 * 500 / completion == pytest.approx(goodput, abs=0.006)
        assert 16 * goodput * MB * 8e-9 == pytest.approx(gbps, abs=0.0015)


def test_rows_are_means_over_shuffles():
    (row,) = rows_of({"random": [Shuffle(10, 8), Shuffle(14, 4)]}, 2, 8 * MB)
    assert (row["shuffle_s"], row["host_completion_s"], row["shuffles"]) == (12, 6, 2)
    assert (row["lowest_shuffle_s"], row["highest_shuffle_s"]) == (10, 14)
    assert row["goodput_mib_per_s"] == 1.5
    assert row["shuffle_to_control"] is None, "no control was run"


def test_a_shuffle_that_does_not_end_is_told(monkeypatch):
    monkeypatch.setattr(table_2, "PATIENCE", 1)
    with pytest.raises(RuntimeError, match="under spanning-tree the shuffle did not end within"):
        table_2.measure(table_2.config("spanning-tree", 10**6))


def test_of_a_sweep_s_runs_it_is_the_table_that_is_kept(tmp_path):
    kept = Path(__file__).parents[2] / "results" / "table2"
    done = run(table_2, kept, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "table2.csv").read_bytes() == (kept / "table2.csv").read_bytes()


def test_with_neither_a_folder_nor_simulated_it_says_what_to_add():
    done = run(table_2)
    assert done.exit_code == 2
    assert "--simulated" in done.stderr
