"""A core per host: patterns that no assignment can place."""

from itertools import permutations, product

import numpy as np
import pytest

from hedera.demand import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import exceeded_capacity
from paper import one_core
from topos.fattree import FatTree


@pytest.mark.parametrize("k", [4, 6, 8, 16])
def test_the_counter_example_meets_both_conditions(k):
    _, src, dst = one_core.counter_example(k)
    tree = FatTree(k)
    assert max(np.bincount(src).max(), np.bincount(dst).max()) == k // 2
    assert estimate_demands(src, dst, tree.num_hosts) == pytest.approx(2 / k)
    assert (src // tree.half != dst // tree.half).all(), "every flow leaves its edge switch"


def test_no_assignment_of_cores_to_hosts_places_it_at_k_4():
    """All there are of the hosts that receive: their pods are three, with two, one and two of them."""
    _, src, dst = one_core.counter_example(4)
    tree, demand = FatTree(4), np.full(src.size, 0.5)
    receivers = np.unique(dst)
    assert receivers.tolist() == [4, 5, 8, 12, 13]
    core_of = np.zeros(16, dtype=np.int32)
    least = np.inf
    for cores in product(range(4), repeat=receivers.size):
        core_of[receivers] = cores
        least = min(least, exceeded_capacity(tree, src, dst, demand, core_of[dst], LinkState(tree)))
    assert least == one_core.least_excess(one_core.counter_example(4)) == 1.0
    assert one_core.per_flow(one_core.counter_example(4)) == 0


def test_what_one_core_per_host_can_place_is_found():
    """Strides have one flow to every host, so a core per host is a core per flow."""
    hosts = np.arange(16, dtype=np.int32)
    assert one_core.least_excess((4, hosts, (hosts + 4) % 16)) == 0


def test_random_patterns_have_as_many_flows_at_every_host():
    for seed, k in permutations((4, 6), 2):
        _, src, dst = one_core.random_pattern(k, seed)
        assert (np.bincount(src) == k // 2).all()
        assert (np.bincount(dst) == k // 2).all()
        assert (src != dst).all()
