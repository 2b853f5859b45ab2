"""The published ECMP bars against four routings."""

from paper import explain_ecmp
from tests.paper.commands import is_png, rows, run_json


def test_it_compares_four_routings_and_two_engines(tmp_path):
    fits = run_json(explain_ecmp, "--seeds", 3, "--aimd-seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert len(fits) == len(rows(tmp_path / "explain_ecmp_fits.csv")) == 8
    best = min(fits, key=lambda row: row["mean_relative_error_percent"])
    assert best["routing"] == "spanning tree"
    assert len(rows(tmp_path / "explain_ecmp.csv")) == 8 * 20
    assert is_png(tmp_path / "explain_ecmp.png")
