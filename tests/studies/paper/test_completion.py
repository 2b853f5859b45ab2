"""Load against slowdown, also in networks of several sizes."""

import pytest
from matplotlib.axes import Axes

from studies.paper import completion as completion_module
from studies.paper.completion import completion, completion_growth
from tests.studies.commands import is_png, rows, run, run_json

QUICK = ("-k", 4, "--seconds", 1.2, "--tick", 0.001, "--loads", "0.6,0.2", "--jobs", 1)


@pytest.mark.slow
def test_flows_that_would_only_pile_up_are_counted_and_not_simulated(tmp_path, monkeypatch):
    monkeypatch.setattr(completion_module, "MAX_UPDATES", 200_000)
    options = (*QUICK, "--out", tmp_path)
    found = run_json(completion, *options, "--schemes", "nonblocking,spanning-tree", "--loads", "0.8")
    control, tree = found[:4], found[4:]
    assert all(row["mean_slowdown"] for row in control if row["flows"])
    assert [row["flows"] for row in tree] == [row["flows"] for row in control], "the same flows"
    for row in tree:
        assert (row["cut_off"], row["known_share"], row["mean_slowdown"]) == (row["flows"], 0, None)
    assert 0.2 < tree[0]["carried"] < 0.6
    done = run(completion, *options, "--schemes", "spanning-tree", "--loads", "0.8,0.9")
    assert "spanning tree: not simulated from a load of 0.8 on, as flows would only pile up" in done.stdout
    assert is_png(tmp_path / "completion_k4.png"), "a picture without a curve"


def test_one_load_is_a_picture_of_every_class_and_statistic(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Axes, "plot", lambda axes, x, y, *_, **style: drawn.append((x, y, style)))
    monkeypatch.setattr(completion_module, "set_logarithmic", lambda axes: None)
    run(completion, *QUICK, "--out", tmp_path, "--schemes", "nonblocking,ecmp", "--loads", "0.5")
    named = [(x, y) for x, y, style in drawn if style.get("label")]
    assert len(named) == 3 * 3 * 2, "mean, 99th percentile and ratio of three classes under two schemes"
    assert all(style["marker"] for *_, style in drawn if style.get("label"))
    assert {x[0] for x, _ in named if x} == {0, 1}, "side by side"


@pytest.mark.slow
def test_seeds_are_rows_of_their_own_and_a_table_of_percentiles(tmp_path):
    options = (*QUICK[:-2], "--schemes", "ecmp", "--loads", "0.5", "--out", tmp_path, "--jobs", 1)
    found = run_json(completion, *options, "--seeds", 3)
    assert [row["seed"] for row in found] == [seed for seed in (1, 2, 3) for _ in range(4)]
    assert is_png(tmp_path / "completion_k4.png")
    (alone,) = (row for row in run_json(completion, *options, "--seed", 2) if row["size_class"] == "all")
    assert {**alone, "seed": 2} in found
    mean = 1000 * sum(row["p95_s"] for row in found if row["size_class"] == "all") / 3
    assert f"{mean:.3g} (" in run(completion, *options, "--seeds", 3).stdout


QUICK_GROWTH = (
    "--seconds",
    0.3,
    "--loads",
    "0.6",
    "--seeds",
    3,
    "--jobs",
    1,
    "--schemes",
    "ecmp,hedera-sa,nonblocking",
)


@pytest.mark.slow
def test_networks_of_two_sizes_beside_each_other(tmp_path):
    found = run_json(completion_growth, *QUICK_GROWTH, "-k", "4,6", "--out", tmp_path)
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
