"""explain-gff: Global First Fit beside the paper's simulator."""

import pytest

from paper import explain_gff
from tests.paper.commands import rows, run_json


def test_every_matrix(tmp_path):
    (told,) = run_json(explain_gff, "--seeds", 2, "--tick", 0.02, "--jobs", 1, "--out", tmp_path)
    assert (told["matrices"], told["seeds"]) == (19, 2)
    mean = {row["matrix"]: float(row["mean_mbps"]) for row in rows(tmp_path / "explain_gff.csv")}
    assert len(mean) == 19
    assert mean["stride4"] == pytest.approx(12_533, rel=0.01), "whatever the order of the flows"


def test_it_is_summed_up():
    known = {"published_mbps": 10_000.0, "lowest_mbps": 9_999.6}
    found = [
        {**known, "matrix": "a", "mean_mbps": 11_000.0, "highest_mbps": 12_000.0, "deviations": -2.0},
        {**known, "matrix": "b", "mean_mbps": 9_500.0, "highest_mbps": 9_999.7, "deviations": None},
    ]
    told = explain_gff.summary(found, 3)
    assert (told["inside"], told["worst_matrix"], told["worst_deviations"]) == (2, "a", 2.0)
    assert (told["bias_percent"], told["error_percent"]) == (pytest.approx(2.5), pytest.approx(7.5))
