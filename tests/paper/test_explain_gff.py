"""explain-gff: readings of Global First Fit against the paper's simulator."""

import pytest

from paper import explain_gff
from results.published import FIGURE_9_SIMULATED
from tests.paper.commands import is_png, rows, run_json


def test_every_reading_of_every_matrix(tmp_path):
    readings = run_json(explain_gff, "--seeds", 2, "--tick", 0.02, "--jobs", 1, "--out", tmp_path)
    assert [row["reading"] for row in readings] == list(explain_gff.READINGS)
    found = rows(tmp_path / "explain_gff.csv")
    assert len(found) == 4 * 19
    mean = {(row["reading"], row["matrix"]): float(row["mean_mbps"]) for row in found}
    assert mean["as read", "stride4"] == pytest.approx(12_533, rel=0.01), "whatever the order of the flows"
    assert mean["random order", "stride4"] <= 12_700
    assert mean["measured rates", "stride4"] < 12_000, "colliding flows look as if they fitted on one link"
    assert is_png(tmp_path / "explain_gff.png")


def test_a_reading_is_summed_up():
    values = [10_000.0, 12_000.0, 11_000.0]
    published = FIGURE_9_SIMULATED["stride4"]["hedera-gff"]
    row = explain_gff._prediction("a", "stride4", values)
    assert (row.mean_mbps, row.sd_mbps, row.lowest_mbps, row.highest_mbps) == (11_000, 1000, 10_000, 12_000)
    assert row.deviations == pytest.approx((published - 11_000) / 1000)
    same = explain_gff._prediction("a", "stride1", [12_533.3, 12_533.3, 12_533.3])
    assert same.deviations is None
    (told,) = explain_gff.summary([row, same], 3)
    assert (told.matrices, told.inside, told.worst_matrix) == (2, 2, "stride4")
    assert told.bias_percent == pytest.approx(50 * (11_000 / published + 12_533.3 / 12_533 - 2))
