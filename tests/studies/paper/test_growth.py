"""Load against slowdown in networks of several sizes."""

import pytest

from studies.paper.growth import completion_growth
from tests.studies.commands import is_png, rows, run_json

QUICK = ("--seconds", 0.3, "--loads", "0.6", "--seeds", 3, "--jobs", 1, "--schemes", "ecmp,hedera-sa,nonblocking")


@pytest.mark.slow
def test_networks_of_two_sizes_beside_each_other(tmp_path):
    found = run_json(completion_growth, *QUICK, "-k", "4,6", "--out", tmp_path)
    assert len(found) == 2 * 3 * 3 * 4, "networks, schemes, seeds, size classes"
    by = {(row["hosts"], row["scheme"], row["seed"], row["size_class"]): row for row in found}
    for (hosts, scheme, seed, size), row in by.items():
        beside = by[hosts, "ecmp", seed, size]
        assert row["flows"] == beside["flows"], "the same flows"
        if row["mean_slowdown"] is None:
            assert row["over_ecmp"] is None
        else:
            assert row["over_ecmp"] == pytest.approx(row["mean_slowdown"] / beside["mean_slowdown"])
            assert scheme != "ecmp" or row["over_ecmp"] == 1
    small = [sum(by[hosts, "ecmp", seed, "small"]["flows"] for seed in (1, 2, 3)) for hosts in (16, 54)]
    assert small[1] / small[0] == pytest.approx(54 / 16, rel=0.3), "every host sends as much"
    assert by[54, "nonblocking", 1, "all"]["over_ecmp"] < 1
    assert len(rows(tmp_path / "completion_growth.csv")) == len(found)
    assert is_png(tmp_path / "completion_growth.png")
