"""Figures 3, 9, 10 and 11: models, rows and pictures."""

import re

import numpy as np
import pytest

from record.published import FIGURE_9, FIGURE_9_SIMULATED
from studies.paper import figures
from studies.paper.figures import (
    MODELS,
    compute_max_min_loss,
    compute_worst_link_loss,
    draw_flows,
    draw_poisson_flows,
    figure_3,
    figure_9,
    figure_10,
    figure_11,
)
from tests.plots.sweeps import run_document, store, store_rates
from tests.studies.commands import is_png, rows, run, run_json
from topos.fattree import FatTree
from topos.links import path_links
from traffic.patterns import draw

SHORT_10 = ("-k", 4, "--seconds", 12, "--interval", 1, "--jobs", 1)
SHORT_11 = ("-k", 4, "--arrivals", 1, "--jobs", 1)


def plain_worst_link_loss(tree, flows_per_host, seed):
    """The same, from arrays of all flows and the project's own paths."""
    src, dst, core = draw_flows(tree, flows_per_host, seed)
    inner = path_links(tree, src, dst, core)[:, 1:5]
    load = np.bincount(inner[inner >= 0], minlength=6 * tree.num_hosts) / flows_per_host
    factor = np.append(np.minimum(1, 1 / np.maximum(load, 1)), 1.0)  # -1 picks the last
    return 1 - factor[inner].min(axis=1).mean()


@pytest.mark.parametrize("k", [4, 8])
@pytest.mark.parametrize("flows", [1, 7])
def test_the_compiled_model_agrees_with_a_plain_one(k, flows):
    tree = FatTree(k)
    assert compute_worst_link_loss(tree, flows, 5) == pytest.approx(plain_worst_link_loss(tree, flows, 5))


def test_flows_are_random_and_never_go_to_their_own_host():
    tree = FatTree(8)
    src, dst, core = draw_flows(tree, 500, 3)
    assert (src == np.repeat(np.arange(128), 500)).all()
    assert (src != dst).all()
    assert np.bincount(dst, minlength=128) == pytest.approx(500, abs=6 * 500**0.5)
    assert np.bincount(core, minlength=16) == pytest.approx(4000, abs=6 * 4000**0.5)


@pytest.mark.parametrize("model", MODELS)
def test_more_flows_lose_less_and_seeds_draw_anew(model):
    losses = [MODELS[model](FatTree(16), flows, 1) for flows in (1, 4, 16)]
    assert losses[0] != MODELS[model](FatTree(16), 1, 2)
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > 0.4


def test_sharing_what_others_leave_loses_less():
    tree = FatTree(16)
    assert compute_max_min_loss(tree, 4, 1) < compute_worst_link_loss(tree, 4, 1)


def test_the_papers_size_comes_near_its_number():
    assert 100 * compute_worst_link_loss(FatTree(48), 1, 1) == pytest.approx(60.8, abs=2.5)
    assert 2.5 < 100 * compute_worst_link_loss(FatTree(48), 100, 1) < 20


def test_figure_3_has_both_models_and_the_papers_two_numbers(tmp_path):
    found = run_json(figure_3, "-k", 8, "--max-flows", 10, "--seeds", 2, "--jobs", 1, "--out", tmp_path)
    assert {row["model"] for row in rows(tmp_path / "figure3.csv")} == {"worst link", "max-min"}
    assert is_png(tmp_path / "figure3.png")
    assert [row["flows_per_host"] for row in found if row["model"] == "max-min"] == [1, 2, 3, 5, 10]
    assert [row["published_percent"] for row in found[:4]] == [60.8, 60.8, None, None]
    for row in found:
        assert row["lowest_percent"] <= row["loss_percent"] <= row["highest_percent"]


@pytest.mark.slow
def test_figure_9_holds_every_matrix_against_its_published_bar(tmp_path):
    found = run_json(figure_9, "--simulated", "--seeds", 1, "--tick", 0.02, "--jobs", 1, "--out", tmp_path)
    assert len(found) == len(rows(tmp_path / "figure9_simulated.csv")) == 20 * 5
    bar = {(row["matrix"], row["scheme"]): row for row in found}
    assert bar["stride8", "hedera-sa"]["mean_mbps"] == pytest.approx(12_533, rel=0.02)
    for name, published in FIGURE_9_SIMULATED.items():
        for scheme in ("ecmp", "hedera-gff", "hedera-sa", "nonblocking"):
            assert bar[name, scheme]["published_simulator_mbps"] == published[scheme]
            assert bar[name, scheme]["published_testbed_mbps"] == FIGURE_9[name][scheme]
        # What chance has no part in, the paper's simulator and ours agree on.
        assert bar[name, "nonblocking"]["mean_mbps"] == pytest.approx(published["nonblocking"], rel=0.01)
    assert bar["stride8", "spanning-tree"]["published_simulator_mbps"] is None
    assert bar["hotspot", "ecmp"]["published_simulator_mbps"] is None
    assert is_png(tmp_path / "figure9_simulated.png")


@pytest.mark.slow
def test_figure_10_has_every_pattern_scheme_and_engine(tmp_path):
    done = run(figure_10, *SHORT_10, "--iterations", 1000, "--seeds", 3, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    found = rows(tmp_path / "figure10_k4.csv")
    assert len(found) == 2 * 12 * 5 * 3
    hashed = {row["percent_of_full"] for row in found if row["traffic"] == "randbij" and row["scheme"] == "ecmp"}
    assert len(hashed) > 3, "three seeds, two engines"
    assert is_png(tmp_path / "figure10_k4.png")
    assert done.stdout.count("hedera-sa over static hashing, at most") == 2


def made(traffic, *percents, seed=1):
    schemes = ("ecmp", "hedera-gff", "hedera-sa", "nonblocking")
    return [
        {"engine": "aimd", "traffic": traffic, "scheme": scheme, "seed": seed, "percent_of_full": percent}
        for scheme, percent in zip(schemes, percents, strict=True)
    ]


def test_figure_10_s_sentences_follow_from_the_rows():
    both = made("a", 40, 60, 80, 100) + made("b", 50, 90, 70, 90)
    annealing, first_fit, annealing_gain, first_fit_gain = figures.summarise(both)
    assert annealing["ours"] == pytest.approx((80 + 100 * 70 / 90) / 2)
    assert "lowest on b (77.8 %)" in annealing["case"]
    assert (first_fit["ours"], first_fit["from"]) == (80, None)
    assert (annealing_gain["ours"], annealing_gain["case"][-4:]) == (pytest.approx(100), "at a")
    assert (first_fit_gain["ours"], first_fit_gain["case"][-4:]) == (pytest.approx(80), "at b")


def test_figure_10_s_intervals_are_of_shares_with_the_same_seed():
    """The control's draw cancels: 90 % of it with every seed."""
    found = [row for seed in range(4) for row in made("a", 40, 60, 0.9 * (70 + seed), 70 + seed, seed=seed)]
    assert [figures.summarise(found)[0][name] for name in ("ours", "from", "to")] == pytest.approx([90, 90, 90])


def test_figure_11_is_a_series_over_time(tmp_path):
    found = run_json(figure_11, *SHORT_11, "--seeds", 2, "--seconds", 12, "--mean-size", 20, "--out", tmp_path)
    assert len(found) == len(rows(tmp_path / "figure11_k4.csv")) == 5 * 24 * 2
    curve = [row for row in found if (row["scheme"], row["seed"]) == ("nonblocking", 2)]
    assert [row["seconds"] for row in curve[:3]] == [0.25, 0.75, 1.25]
    assert curve[-1]["gbps"] > 0
    assert is_png(tmp_path / "figure11_k4.png")


def test_poisson_arrivals_have_the_rate_the_sizes_and_the_gaps_asked_for():
    matrix = draw("randx:2", 16, seed=5)
    work = draw_poisson_flows(matrix, 50.0, 1000.0, 100.0, np.random.default_rng(1))
    assert len(work) == pytest.approx(16 * 50 * 100, rel=0.02)
    assert (np.diff(work.start_s) >= 0).all()
    assert work.start_s.min() >= 0
    assert work.start_s.max() < 100
    assert work.size_bytes.mean() == pytest.approx(1000.0, rel=0.02)
    assert work.size_bytes.std() == pytest.approx(1000.0, rel=0.03), "exponential: as wide as its mean"
    gaps = np.diff(work.start_s[work.src == 3])
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.06)
    pairs = set(zip(work.src.tolist(), work.dst.tolist(), strict=True))
    assert pairs == set(zip(matrix.src.tolist(), matrix.dst.tolist(), strict=True))
    per_pair = np.bincount(work.src * 16 + work.dst)
    assert per_pair[per_pair > 0] == pytest.approx(2500, rel=0.1), "receivers of a host share its arrivals"


ARRIVING = "poisson:exponential:250000000,0.5 to stride:4"


def test_figure_11_of_runs_has_what_they_measured_beside_the_simulator_with_their_flows(tmp_path):
    for scheme in ("ecmp", "nonblocking"):
        store(tmp_path, run_document(ARRIVING, scheme, seconds=12))
    store(tmp_path, run_document(ARRIVING, "hedera-gff", seconds=12, verdict="invalid", reasons=["too slow"]))
    found = run_json(figure_11, tmp_path, "--jobs", 1)
    assert len(found) == len(rows(tmp_path / "figure11_measured_k4.csv"))
    sources = {(row["source"], row["scheme"]): [] for row in found}
    for row in found:
        sources[row["source"], row["scheme"]].append(row)
    assert {source: len(curve) for source, curve in sources.items()} == {
        ("simulated (section 5.5)", "ecmp"): 24,
        ("simulated (section 5.5)", "nonblocking"): 24,
        ("measured (real TCP)", "ecmp"): 12,
        ("measured (real TCP)", "nonblocking"): 12,
    }
    measured = run_document(ARRIVING, "ecmp", seconds=12)["rates"]["total_mbps"]
    curve = sources["measured (real TCP)", "ecmp"]
    assert [row["gbps"] for row in curve] == pytest.approx([mbps / 1000 for mbps in measured])
    assert [row["seconds"] for row in curve[:2]] == [0.5, 1.5]
    # 16 links of 10 Mb/s at a load of a half: the simulator has the links of the runs.
    simulated = [row["gbps"] for row in sources["simulated (section 5.5)", "nonblocking"]]
    assert 0.02 < max(simulated) <= 0.16
    assert is_png(tmp_path / "figure11_measured_k4.png")


@pytest.mark.parametrize(
    ("rates", "reason"),
    [
        ({}, "has no valid run under any of ecmp"),
        ({("stride:1", "ecmp"): 90, ("stride:2", "ecmp"): 80}, "Figure 11 is of one pattern, and .* has 2: stride:1"),
    ],
)
def test_figure_11_is_of_runs_of_one_pattern(tmp_path, rates, reason):
    if rates:
        store_rates(tmp_path, rates)
    done = run(figure_11, tmp_path)
    assert done.exit_code
    assert re.search(reason, " ".join(done.output.split()))
