"""Hedera and ECMP with several flows per host."""

import pytest

from studies.paper.flows_per_host import flows_per_host
from tests.studies.commands import is_png, rows, run_json

FEW = ("-k", 4, "--flows-per-host", "1,12", "--seeds", 2, "--jobs", 1, "--engines", "maxmin")


def test_ratios_and_what_is_large(tmp_path):
    found = run_json(flows_per_host, *FEW, "--schemes", "hedera-gff", "--out", tmp_path)
    assert len(found) == 3 * 3 * 4, "patterns, counts and the replication's six halved, ECMP, control, two thresholds"
    by = {(r["traffic"], r["flows_per_host"], r["scheme"], r["threshold"]): r for r in found}
    for row in by.values():
        assert row["seeds"] == 2
        assert row["lowest_percent"] <= row["percent"] <= row["highest_percent"] <= 100.0001
        assert row["over_control"] < 1.0001
        assert (row["keep"] == 0.5) == (row["flows_per_host"] == 6)
    one, many = (by["stride:8", flows, "hedera-gff", 0.1] for flows in (1, 12))
    assert one["large_share"] == 1
    assert 0 < many["large_share"] < 0.2, "a twelfth of a link is not large"
    assert one["over_control"] == pytest.approx(1)
    assert many["over_ecmp"] < 1, "the few that were measured as large are placed as if alone"
    assert len(rows(tmp_path / "flows_per_host_k4.csv")) == len(found)
    assert is_png(tmp_path / "flows_per_host_k4.png")
