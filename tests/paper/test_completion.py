"""Load against slowdown."""

from paper import completion
from tests.paper.commands import is_png, rows, run, run_json

QUICK = ("-k", 4, "--seconds", 1.2, "--tick", 0.001, "--loads", "0.6,0.2", "--jobs", 1)


def test_a_row_per_load_scheme_period_and_class(tmp_path):
    asked = ("--schemes", "ecmp,hedera-gff", "--intervals", "0.5,0.1", "--detect", 0.01)
    found = run_json(completion, *QUICK, *asked, "--out", tmp_path)
    assert len(found) == 2 * 4 * 4
    assert [row["load"] for row in found] == [0.2] * 16 + [0.6] * 16
    curves = [(row["interval_s"], row["detect_s"]) for row in found[:16:4]]
    assert curves == [(None, None), (0.5, None), (0.1, None), (None, 0.01)]
    assert [row["size_class"] for row in found[:4]] == ["all", "small", "medium", "large"]
    for load in (found[:16], found[16:]):
        assert len({row["flows"] for row in load if row["size_class"] == "all"}) == 1, "the same flows"
    assert all(row["mean_slowdown"] >= 1 for row in found if row["flows"])
    light, heavy = (next(r for r in found if r["load"] == load) for load in (0.2, 0.6))
    assert light["mean_slowdown"] < heavy["mean_slowdown"]
    assert light["carried"] < heavy["carried"]
    assert len(rows(tmp_path / "completion_k4.csv")) == 32
    assert is_png(tmp_path / "completion_k4.png")


def test_flows_that_would_only_pile_up_are_counted_and_not_simulated(tmp_path, monkeypatch):
    monkeypatch.setattr(completion, "MAX_UPDATES", 200_000)
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
