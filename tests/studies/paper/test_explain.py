"""The published ECMP and Global First Fit bars explained, and what section 4.4 claims for a core per host."""

from itertools import permutations, product

import numpy as np
import pytest

from hedera.demand import estimate_demands
from hedera.hashes import HASHES
from hedera.linkstate import LinkState
from hedera.placement import exceeded_capacity
from record.published import FIGURE_9
from simulator.config import Config
from studies.paper import explain
from studies.paper.explain import fit
from tests.studies.commands import is_png, rows, run, run_json
from topos.fattree import FatTree

MEASURED = np.array([bars["ecmp"] for bars in FIGURE_9.values()])
SHORT = ("-k", 4, "--seconds", 12, "--seeds", 2, "--random-patterns", 2, "--jobs", 1)


def predict(scheme, seed=1):
    return explain.predict(Config(scheme, "published", seconds=6.0, engine="maxmin", seed=seed))


def test_errors_are_relative_to_what_was_measured_after_the_best_scale():
    values = np.array([1.0, 2.0, 5.0])
    assert fit(values, 3 * values) == pytest.approx((3, 0, 1))
    scale, error, correlation = fit(np.array([1.0, 1.0]), np.array([1.0, 3.0]))
    assert (scale, error) == pytest.approx((2, (1 + 1 / 3) / 2))
    assert np.isnan(correlation)


def test_a_spanning_tree_under_max_min_by_hand():
    # stride8: every flow crosses core 0, one link into each pod of four hosts. stride4: the same.
    rates = dict(zip(FIGURE_9, predict("spanning-tree"), strict=True))
    assert [rates["stride8"], rates["stride4"]] == pytest.approx([4000, 4000])


def test_the_published_bars_are_nearer_to_a_spanning_tree_than_to_5_tuple_hashing():
    _, tree, like_a_tree = fit(predict("spanning-tree"), MEASURED)
    predicted = [predict("ecmp", seed) for seed in range(20)]
    _, hashed, like_hashing = fit(np.mean(predicted, axis=0), MEASURED)
    assert tree < 0.05 < 0.15 < hashed
    assert like_a_tree > 0.99 > like_hashing


@pytest.mark.slow
def test_it_compares_the_tree_and_every_hash_by_two_engines(tmp_path):
    fits = run_json(explain.explain_ecmp, "--seeds", 3, "--aimd-seeds", 1, "--jobs", 1, "--out", tmp_path)
    tried = [row["routing"] for row in fits if row["engine"] == "maxmin"]
    of_ours = [row["routing"] for row in fits if row["engine"] == "aimd"]
    hashes = [f"{name}:{fields}" for name, one in HASHES.items() for fields in one.fields]
    assert tried == ["spanning tree", *hashes]
    assert of_ours == ["spanning tree", *(name for name in hashes if name.split(":")[0] in ("salted", "unsalted"))]
    assert len(rows(tmp_path / "explain_ecmp_fits.csv")) == len(fits)
    best = min(fits, key=lambda row: row["mean_relative_error_percent"])
    assert best["routing"] == "spanning tree"
    assert len(rows(tmp_path / "explain_ecmp.csv")) == len(fits) * 20
    assert is_png(tmp_path / "explain_ecmp.png")
    by_name = {row["routing"]: row for row in fits if row["engine"] == "maxmin"}
    assert by_name["unsalted:5-tuple"]["mean_share_percent"] < by_name["salted:5-tuple"]["mean_share_percent"]
    assert [by_name[name]["seeds"] for name in ("linux:addresses", "crc32:5-tuple", "crc32:addresses")] == [3, 3, 1]


def test_first_fit_on_every_matrix(tmp_path):
    (told,) = run_json(explain.explain_gff, "--seeds", 2, "--tick", 0.02, "--jobs", 1, "--out", tmp_path)
    assert (told["matrices"], told["seeds"]) == (19, 2)
    mean = {row["matrix"]: float(row["mean_mbps"]) for row in rows(tmp_path / "explain_gff.csv")}
    assert mean["stride4"] == pytest.approx(12_533, rel=0.01), "whatever the order of the flows"


def test_first_fit_is_summed_up():
    known = {"published_mbps": 10_000.0, "lowest_mbps": 9_999.6}
    found = [
        {**known, "matrix": "a", "mean_mbps": 11_000.0, "highest_mbps": 12_000.0, "deviations": -2.0},
        {**known, "matrix": "b", "mean_mbps": 9_500.0, "highest_mbps": 9_999.7, "deviations": None},
    ]
    told = explain.summarise(found, 3)
    assert (told["inside"], told["worst_matrix"], told["worst_deviations"]) == (2, "a", 2.0)
    assert (told["bias_percent"], told["error_percent"]) == (pytest.approx(2.5), pytest.approx(7.5))


def test_it_writes_what_it_tells(tmp_path):
    done = run(explain.explain_sa, *SHORT, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    assert len(rows(tmp_path / "explain_sa_k4.csv")) == 2 * 2 * (1 + 2 * 3)
    assert len(rows(tmp_path / "explain_sa_patterns.csv")) == 3 + 2
    assert "10^11,922 times smaller" in done.stdout
    assert "of 2 random patterns" in done.stdout


def test_gains_are_paired_by_seed():
    found = [
        {"engine": "aimd", "scheme": scheme, "iterations": 1000, "seed": seed, "percent_of_full": percent}
        for scheme, shares in (("hedera-sa", (60, 66)), ("hedera-flow-sa", (50, 60)))
        for seed, percent in enumerate(shares, 1)
    ]
    assert explain.compute_gains(found, "aimd", 1000) == pytest.approx([20, 10])


def test_the_search_space_by_counting():
    """16 hosts: four cores for each, or 4! ways in each of four pods."""
    assert explain.compute_search_space(4) == pytest.approx(np.log10(4.0**16 / 24**4))


@pytest.mark.parametrize("k", [4, 6, 8, 16])
def test_the_counter_example_meets_both_conditions(k):
    _, src, dst = explain.make_counter_example(k)
    tree = FatTree(k)
    assert max(np.bincount(src).max(), np.bincount(dst).max()) == k // 2
    assert estimate_demands(src, dst, tree.num_hosts) == pytest.approx(2 / k)
    assert (src // tree.half != dst // tree.half).all(), "every flow leaves its edge switch"


def test_no_assignment_of_cores_to_hosts_places_it_at_k_4():
    """All there are of the hosts that receive: their pods are three, with two, one and two of them."""
    _, src, dst = explain.make_counter_example(4)
    tree, demand = FatTree(4), np.full(src.size, 0.5)
    receivers = np.unique(dst)
    assert receivers.tolist() == [4, 5, 8, 12, 13]
    core_of, links = np.zeros(16, dtype=np.int32), LinkState(tree)
    least = np.inf
    for cores in product(range(4), repeat=receivers.size):
        core_of[receivers] = cores
        least = min(least, exceeded_capacity(tree, src, dst, demand, core_of[dst], links))
    assert least == explain.minimise_excess(explain.make_counter_example(4)) == 1.0
    assert explain.simulate_per_flow(explain.make_counter_example(4)) == 0


def test_what_one_core_per_host_can_place_is_found():
    """Strides have one flow to every host, so a core per host is a core per flow."""
    hosts = np.arange(16, dtype=np.int32)
    assert explain.minimise_excess((4, hosts, (hosts + 4) % 16)) == 0


def test_random_patterns_have_as_many_flows_at_every_host():
    for seed, k in permutations((4, 6), 2):
        _, src, dst = explain.draw_pattern(k, seed)
        assert (np.bincount(src) == k // 2).all()
        assert (np.bincount(dst) == k // 2).all()
        assert (src != dst).all()
