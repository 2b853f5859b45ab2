from dataclasses import fields, replace

import numpy as np
import pytest

from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from tests.classroom.solutions.first_fit import FirstFit
from tests.hedera.reference import NO_FLOWS, flows_of, random_flows
from topos.fattree import FatTree
from topos.links import find_canonical_cores, num_links, path_links

TREE = FatTree(4)
EDGE_UP = 16  # the first link of its block


def place(gff, *rows):
    """The cores of flows, which are rows of key, src, dst and demand."""
    key, src, dst, demand = (np.array(column) for column in zip(*rows, strict=True))
    on = np.full(key.size, 3, dtype=np.int32)
    flows = LargeFlows(key, src.astype(np.int32), dst.astype(np.int32), demand.astype(float), on, on)
    return gff.place(flows, LinkState(TREE)).tolist()


@pytest.mark.slow
def test_it_places_as_figure_5_has_it():
    """Flows come, go and come back, links fail and are mended: as a plain first fit places them, in the order of
    cores; what fits nowhere goes by its hash and holds nothing."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        gff, plain, links = GlobalFirstFit(TREE), FirstFit(TREE, None, None), LinkState(TREE)
        every = replace(random_flows(TREE, 60, rng), demand=rng.integers(1, 5, 60) / 4)
        for _ in range(10):
            links.fail(rng.integers(EDGE_UP, 80, size=1))
            links.restore(np.flatnonzero(~links.up)[rng.integers(2) :])
            on = np.flatnonzero(rng.random(60) < 0.7)
            table = LargeFlows(*(getattr(every, field.name)[on] for field in fields(every)))
            expected = find_canonical_cores(TREE, table.src, table.dst, plain.place(table, links))
            assert gff.place(table, links).tolist() == expected.tolist()
            assert gff.assigned.tolist() == sorted(plain.path_of)


def test_a_full_rate_flow_fits_an_empty_link_and_shares_fill_one():
    gff = GlobalFirstFit(TREE)
    third = 1 / 3
    rows = [(key, key % 2, 4 + key % 4, third) for key in range(3)]
    assert place(gff, *rows) == [0, 0, 0]
    assert place(gff, *rows, (9, 1, 5, 0.4)) == [0, 0, 0, 2]


def test_reservations_follow_the_demand():
    gff = GlobalFirstFit(TREE)
    place(gff, (1, 0, 4, 1.0), (2, 1, 5, 0.5))
    assert place(gff, (1, 0, 4, 0.5), (2, 1, 5, 0.5), (3, 1, 6, 0.5)) == [0, 2, 0]  # shrinks: room for 3
    assert gff.reserved[EDGE_UP : EDGE_UP + 2].tolist() == [1.0, 0.5]
    place(gff, (1, 0, 4, 0.8), (2, 1, 5, 0.5), (3, 1, 6, 0.5))  # grows: as far as there is room
    assert gff.reserved[EDGE_UP : EDGE_UP + 2].tolist() == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize("k", [pytest.param(4, marks=pytest.mark.slow), 8])
def test_nothing_leaks_in_ten_thousand_random_events(k):
    """One flow per host to a permutation; flows come, go, and lose links, which come back."""
    tree = FatTree(k)
    rng = np.random.default_rng(k)
    gff, links = GlobalFirstFit(tree), LinkState(tree)
    src, dst = np.arange(tree.num_hosts), np.empty(tree.num_hosts, dtype=int)
    circle = rng.permutation(src)
    dst[circle] = np.roll(circle, 1)
    active = np.zeros(tree.num_hosts, dtype=bool)
    keys = np.arange(tree.num_hosts)
    fabric = np.arange(tree.num_hosts, 5 * tree.num_hosts)
    for event in range(10_000 if k == 4 else 2_000):
        kind = rng.integers(10)
        if kind == 0:
            links.fail(rng.choice(fabric, 1))
        elif kind == 1:
            links.restore(np.flatnonzero(~links.up)[:2].tolist())
        else:
            host = rng.integers(tree.num_hosts)
            active[host] = not active[host]
            keys[host] += tree.num_hosts  # a new flow when it comes back
        on = np.flatnonzero(active)
        table = replace(flows_of(tree, src[on], dst[on], 1, np.ones(on.size)), key=keys[on])
        core = gff.place(table, links)
        held = np.isin(table.key, gff.assigned)
        assert gff.assigned.size == held.sum()
        paths = path_links(tree, table.src[held], table.dst[held], core[held])
        load = np.bincount(paths[paths >= 0], minlength=num_links(tree))
        assert (gff.reserved[fabric] == load[fabric]).all(), event
        assert gff.reserved.max(initial=0) <= 1
        assert not gff.reserved[~links.up].any()
    active[:] = False
    links.restore(fabric.tolist())
    gff.place(NO_FLOWS, links)
    assert not gff.reserved.any()


@pytest.mark.parametrize("k", [4, 8, 16])
def test_never_exceeds_a_link(k):
    tree = FatTree(k)
    rng = np.random.default_rng(1)
    gff = GlobalFirstFit(tree)
    for _ in range(5):
        flows = random_flows(tree, 3 * tree.num_hosts, rng)
        table = replace(flows, key=rng.permutation(flows.key), demand=rng.random(flows.key.size))
        gff.place(table, LinkState(tree))
        assert gff.reserved.min() >= 0
        assert gff.reserved.max() <= 1
        assert gff.reserved.sum() > tree.num_hosts
