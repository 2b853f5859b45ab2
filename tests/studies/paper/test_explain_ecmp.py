"""The published ECMP bars against four routings."""

import numpy as np
import pytest

from record.published import FIGURE_9
from studies.paper import explain_ecmp
from studies.paper.explain_ecmp import fit, predict
from tests.studies.commands import is_png, rows, run_json

NAMES = tuple(FIGURE_9)
MEASURED = np.array([FIGURE_9[name]["ecmp"] for name in NAMES])


def test_errors_are_relative_to_what_was_measured_after_the_best_scale():
    values = np.array([1.0, 2.0, 5.0])
    assert fit(values, 3 * values) == pytest.approx((3, 0, 1))
    scale, error, correlation = fit(np.array([1.0, 1.0]), np.array([1.0, 3.0]))
    assert (scale, error) == pytest.approx((2, (1 + 1 / 3) / 2))
    assert np.isnan(correlation)


def test_a_spanning_tree_under_max_min_by_hand():
    # stride8: every flow crosses core 0, one link into each pod of four hosts. stride4: the same.
    assert predict(("spanning tree", "maxmin", 1, ("stride8", "stride4"))).tolist() == [4000.0, 4000.0]


def test_the_published_bars_are_nearer_to_a_spanning_tree_than_to_5_tuple_hashing():
    _, tree, like_a_tree = fit(predict(("spanning tree", "maxmin", 1, NAMES)), MEASURED)
    predicted = [predict(("5-tuple hash", "maxmin", seed, NAMES)) for seed in range(20)]
    _, hashed, like_hashing = fit(np.mean(predicted, axis=0), MEASURED)
    assert tree < 0.05 < 0.15 < hashed
    assert like_a_tree > 0.99 > like_hashing


def test_it_compares_four_routings_and_two_engines(tmp_path):
    fits = run_json(explain_ecmp, "--seeds", 3, "--aimd-seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert len(fits) == len(rows(tmp_path / "explain_ecmp_fits.csv")) == 8
    best = min(fits, key=lambda row: row["mean_relative_error_percent"])
    assert best["routing"] == "spanning tree"
    assert len(rows(tmp_path / "explain_ecmp.csv")) == 8 * 20
    assert is_png(tmp_path / "explain_ecmp.png")
