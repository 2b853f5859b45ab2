"""The published ECMP bars against four routings."""

import numpy as np
import pytest

from paper import explain_ecmp
from paper.explain_ecmp import Task, fit, predict
from results.published import FIGURE_9
from tests.paper.commands import is_png, rows, run_json

NAMES = tuple(FIGURE_9)
MEASURED = np.array([FIGURE_9[name]["ecmp"] for name in NAMES])


def test_a_scaled_copy_fits_perfectly():
    values = np.array([1.0, 2.0, 5.0])
    found = fit(values, 3 * values)
    assert found.scale == pytest.approx(3.0)
    assert found.error == pytest.approx(0.0)
    assert found.correlation == pytest.approx(1.0)


def test_error_is_relative_to_what_was_measured():
    found = fit(np.array([1.0, 1.0]), [1.0, 3.0])
    assert found.scale == pytest.approx(2.0)
    assert found.error == pytest.approx((1.0 + 1 / 3) / 2)
    assert np.isnan(found.correlation)


def test_a_spanning_tree_under_max_min_by_hand():
    # stride8: every flow crosses core 0, one link into each pod of four hosts. stride4: the same.
    assert predict(Task("spanning tree", "maxmin", 1, ("stride8", "stride4"))).tolist() == [4000.0, 4000.0]


def test_the_published_bars_are_nearer_to_a_spanning_tree_than_to_5_tuple_hashing():
    tree = fit(predict(Task("spanning tree", "maxmin", 1, NAMES)), MEASURED)
    hashed = fit(np.mean([predict(Task("5-tuple hash", "maxmin", s, NAMES)) for s in range(20)], axis=0), MEASURED)
    assert tree.error < 0.05 < 0.15 < hashed.error
    assert tree.correlation > 0.99 > hashed.correlation


def test_it_compares_four_routings_and_two_engines(tmp_path):
    fits = run_json(explain_ecmp, "--seeds", 3, "--aimd-seeds", 1, "--jobs", 1, "--out", tmp_path)
    assert len(fits) == len(rows(tmp_path / "explain_ecmp_fits.csv")) == 8
    best = min(fits, key=lambda row: row["mean_relative_error_percent"])
    assert best["routing"] == "spanning tree"
    assert len(rows(tmp_path / "explain_ecmp.csv")) == 8 * 20
    assert is_png(tmp_path / "explain_ecmp.png")
