"""Table 1: how placements grow."""

import pytest

from paper import table_1
from tests.paper.commands import rows, run


def test_growth_is_found_in_what_grows_so():
    made = [
        {
            "k": k, "flows_per_host": many, "step_us": 3e-3 * (k / 2) ** 2 * many**0.5,
            "megabytes": (7 * k**3 + 50 * many * k**3 / 4) / 1e6,
        }
        for k in (8, 16, 32)
        for many in (1, 2, 4)
    ]  # fmt: skip
    found = table_1.growth(made)
    assert found == pytest.approx({"k_power": 2, "flows_power": 0.5, "per_k3": 7, "per_flow": 50})


def test_both_placements_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(table_1, "SIZES", (8, 16))
    monkeypatch.setattr(table_1, "FLOWS_PER_HOST", (1, 8))
    done = run(table_1, "--seconds", 0, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "table1.csv")
    assert [(row["algorithm"], int(row["k"]), int(row["flows_per_host"])) for row in found] == [
        (name, k, many) for name in table_1.BUILT for k in (8, 16) for many in (1, 8)
    ]
    assert all(float(row["step_us"]) > 0 for row in found)
    last = float(found[3]["megabytes"])
    assert last > 32 * 8 * 1024 / 1e6, "the flows that are given alone are that much"
    assert done.stdout.count("memory ") == 2
