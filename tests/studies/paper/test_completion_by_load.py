"""Load against slowdown."""

import pytest
from matplotlib.axes import Axes

from studies.paper import completion_by_load
from studies.paper.completion_by_load import completion
from tests.studies.commands import is_png, run, run_json

QUICK = ("-k", 4, "--seconds", 1.2, "--tick", 0.001, "--loads", "0.6,0.2", "--jobs", 1)


@pytest.mark.slow
def test_flows_that_would_only_pile_up_are_counted_and_not_simulated(tmp_path, monkeypatch):
    monkeypatch.setattr(completion_by_load, "MAX_UPDATES", 200_000)
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
    monkeypatch.setattr(completion_by_load, "set_logarithmic", lambda axes: None)
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
