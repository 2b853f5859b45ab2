"""explain-sa: what section 4.4 claims for a core per host."""

from itertools import permutations, product

import numpy as np
import pytest

from hedera.demand import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import exceeded_capacity
from studies.paper import explain_sa
from tests.studies.commands import rows, run
from topos.fattree import FatTree

SHORT = ("-k", 4, "--seconds", 12, "--seeds", 2, "--random-patterns", 2, "--jobs", 1)


def test_it_writes_what_it_tells(tmp_path):
    done = run(explain_sa, *SHORT, "--out", tmp_path)
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
    assert explain_sa.gains(found, "aimd", 1000) == pytest.approx([20, 10])


def test_the_search_space_by_counting():
    """16 hosts: four cores for each, or 4! ways in each of four pods."""
    assert explain_sa.search_space(4) == pytest.approx(np.log10(4.0**16 / 24**4))


@pytest.mark.parametrize("k", [4, 6, 8, 16])
def test_the_counter_example_meets_both_conditions(k):
    _, src, dst = explain_sa.counter_example(k)
    tree = FatTree(k)
    assert max(np.bincount(src).max(), np.bincount(dst).max()) == k // 2
    assert estimate_demands(src, dst, tree.num_hosts) == pytest.approx(2 / k)
    assert (src // tree.half != dst // tree.half).all(), "every flow leaves its edge switch"


def test_no_assignment_of_cores_to_hosts_places_it_at_k_4():
    """All there are of the hosts that receive: their pods are three, with two, one and two of them."""
    _, src, dst = explain_sa.counter_example(4)
    tree, demand = FatTree(4), np.full(src.size, 0.5)
    receivers = np.unique(dst)
    assert receivers.tolist() == [4, 5, 8, 12, 13]
    core_of = np.zeros(16, dtype=np.int32)
    least = np.inf
    for cores in product(range(4), repeat=receivers.size):
        core_of[receivers] = cores
        least = min(least, exceeded_capacity(tree, src, dst, demand, core_of[dst], LinkState(tree)))
    assert least == explain_sa.least_excess(explain_sa.counter_example(4)) == 1.0
    assert explain_sa.per_flow(explain_sa.counter_example(4)) == 0


def test_what_one_core_per_host_can_place_is_found():
    """Strides have one flow to every host, so a core per host is a core per flow."""
    hosts = np.arange(16, dtype=np.int32)
    assert explain_sa.least_excess((4, hosts, (hosts + 4) % 16)) == 0


def test_random_patterns_have_as_many_flows_at_every_host():
    for seed, k in permutations((4, 6), 2):
        _, src, dst = explain_sa.random_pattern(k, seed)
        assert (np.bincount(src) == k // 2).all()
        assert (np.bincount(dst) == k // 2).all()
        assert (src != dst).all()
