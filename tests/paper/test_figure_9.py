"""Figure 9, simulated: every published matrix under five schemes."""

import pytest

from paper import figure_9
from tests.paper.commands import is_png, rows, run, run_json


def test_it_needs_to_be_asked_for_simulated(tmp_path):
    done = run(figure_9, "--out", tmp_path)
    assert done.exit_code == 2
    assert "--simulated" in done.stderr


def test_it_holds_every_matrix_against_its_published_bar(tmp_path):
    found = run_json(figure_9, "--simulated", "--seeds", 1, "--tick", 0.02, "--jobs", 1, "--out", tmp_path)
    assert len(found) == len(rows(tmp_path / "figure9_simulated.csv")) == 20 * 5
    bar = next(row for row in found if row["matrix"] == "stride8" and row["scheme"] == "hedera-sa")
    assert bar["published_testbed_mbps"] == 12_550
    assert bar["mean_mbps"] == pytest.approx(12_533, rel=0.02)
    assert is_png(tmp_path / "figure9_simulated.png")
