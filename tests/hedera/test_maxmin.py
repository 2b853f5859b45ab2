from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedera import maxmin
from hedera.maxmin import bound_total, compute_max_min_rates
from tests.hedera.reference import plain_max_min
from topos.fattree import FatTree
from topos.links import num_links, parse, path_links
from topos.network import NonBlocking

TREE = FatTree(4)
HOSTS = np.arange(16)


PATHS = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True), max_size=15)
CAPACITIES = st.lists(st.integers(0, 8), min_size=6, max_size=6)


def links_of(paths):
    links = np.full((len(paths), 4), -1, dtype=np.int32)
    for flow, path in enumerate(paths):
        links[flow, 4 - len(path) :] = path
    return links


@settings(max_examples=300, deadline=None)
@given(PATHS, CAPACITIES)
def test_agrees_with_fractions(paths, capacity):
    exact = plain_max_min(paths, [Fraction(c) for c in capacity])
    rates = compute_max_min_rates(links_of(paths), capacity)
    assert rates == pytest.approx([float(r) for r in exact], abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(PATHS, CAPACITIES)
def test_compiled_or_not_the_rates_are_the_same_to_the_last_bit(paths, capacity):
    links = links_of(paths)
    arguments = links, np.array(capacity, float), np.ones(links.shape)
    plain, fast = (fill(*arguments) for fill in (maxmin._fill, maxmin._load_compiled_fill()))
    assert compute_max_min_rates(links, capacity).tolist() == plain.tolist() == fast.tolist()


def test_a_flow_without_links_has_no_limit():
    assert compute_max_min_rates([[-1, -1], [0, -1]], [2.0]).tolist() == [np.inf, 2.0]


def capacity(*faults, topo=TREE):
    links = np.full(num_links(topo), 10.0)
    for fault in faults:
        links[list(parse(fault, TREE, 9).links(TREE))] = 0
    return links


def test_a_whole_fat_tree_carries_every_permutation():
    rng = np.random.default_rng(1)
    for _ in range(5):
        assert bound_total(TREE, HOSTS, rng.permutation(16), capacity()) == pytest.approx(160)


def test_what_a_failure_takes_can_be_counted():
    stride = (HOSTS + 4) % 16
    assert bound_total(TREE, HOSTS, stride, capacity("switch:4_1_1@1")) == pytest.approx(120)
    # one cable less for what leaves pod 0, and for what enters it: 10 of each of two pods' 40
    assert bound_total(TREE, HOSTS, stride, capacity("link:0_2_1-4_1_1@1")) == pytest.approx(140)
    # hosts 0 and 1 neither send nor receive
    assert bound_total(TREE, HOSTS, stride, capacity("switch:0_0_1@1")) == pytest.approx(120)


def test_receivers_limit_the_control():
    star = NonBlocking(16)
    assert bound_total(star, [0, 1, 2], [5, 5, 6], capacity(topo=star)) == pytest.approx(20)


def test_no_placement_with_fair_shares_exceeds_it():
    rng = np.random.default_rng(2)
    for _ in range(20):
        src, dst = rng.integers(16, size=24), rng.integers(16, size=24)
        src, dst = src[src != dst], dst[src != dst]
        links = capacity()
        links[rng.integers(16, 80, size=10)] = 0
        rates = compute_max_min_rates(path_links(TREE, src, dst, rng.integers(4, size=src.size)), links)
        assert rates.sum() <= bound_total(TREE, src, dst, links) + 1e-6


def test_without_flows_and_with_too_many(monkeypatch):
    assert bound_total(TREE, [], [], capacity()) == 0
    monkeypatch.setattr(maxmin, "MAX_CHOICES", 63)
    assert bound_total(TREE, HOSTS, (HOSTS + 4) % 16, capacity()) is None
