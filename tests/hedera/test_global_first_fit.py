from dataclasses import replace

import numpy as np
import pytest

from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from tests.hedera.reference import NO_FLOWS, flows_of, random_flows
from topos.fattree import FatTree
from topos.links import links_between, num_links, path_links

TREE = FatTree(4)
EDGE_UP, CORE_UP = 16, 32  # first link of their blocks


def flows(*rows, hashed=3):
    """Rows of key, src, dst, demand."""
    key, src, dst, demand = (np.array(column) for column in zip(*rows, strict=True))
    on = np.full(key.size, hashed, dtype=np.int32)
    return LargeFlows(key, src.astype(np.int32), dst.astype(np.int32), demand.astype(float), on, on)


def place(gff, *rows, links=None):
    return gff.place(flows(*rows), links or LinkState(TREE)).tolist()


def test_first_path_in_order_that_fits():
    # Flow 2 shares the edge switch, flow 3 the pod; each takes the first core with room on every link.
    assert place(GlobalFirstFit(TREE), (1, 0, 4, 1.0), (2, 1, 5, 1.0), (3, 2, 6, 1.0)) == [0, 2, 1]


def test_a_full_rate_flow_fits_an_empty_link_and_shares_fill_one():
    gff = GlobalFirstFit(TREE)
    third = 1 / 3
    rows = [(key, key % 2, 4 + key % 4, third) for key in range(3)]
    assert place(gff, *rows) == [0, 0, 0]
    assert place(gff, *rows, (9, 1, 5, 0.4)) == [0, 0, 0, 2]


def test_what_fits_nowhere_keeps_its_hashed_path_and_reserves_nothing():
    gff = GlobalFirstFit(TREE)
    rows = [(1, 0, 4, 0.75), (2, 0, 5, 0.75), (3, 1, 6, 0.5)]
    assert place(gff, *rows) == [0, 2, 3]
    assert gff.assigned.tolist() == [1, 2]
    assert gff.reserved[EDGE_UP : EDGE_UP + 2].tolist() == [0.75, 0.75]


def test_reservations_follow_the_demand():
    gff = GlobalFirstFit(TREE)
    place(gff, (1, 0, 4, 1.0), (2, 1, 5, 0.5))
    assert place(gff, (1, 0, 4, 0.5), (2, 1, 5, 0.5), (3, 1, 6, 0.5)) == [0, 2, 0]  # shrinks: room for 3
    assert gff.reserved[EDGE_UP : EDGE_UP + 2].tolist() == [1.0, 0.5]
    place(gff, (1, 0, 4, 0.8), (2, 1, 5, 0.5), (3, 1, 6, 0.5))  # grows: as far as there is room
    assert gff.reserved[EDGE_UP : EDGE_UP + 2].tolist() == pytest.approx([1.0, 0.5])


def test_flows_inside_a_pod_and_below_an_edge_switch():
    gff = GlobalFirstFit(TREE)
    assert place(gff, (1, 0, 2, 1.0), (2, 1, 3, 1.0), (3, 4, 5, 1.0)) == [0, 2, 0]
    assert gff.reserved[CORE_UP : CORE_UP + 32].sum() == 0
    assert gff.reserved.sum() == 4.0


def test_a_failed_path_is_given_up_and_not_offered():
    gff, links = GlobalFirstFit(TREE), LinkState(TREE)
    row = (1, 0, 4, 1.0)
    assert place(gff, row, links=links) == [0]
    down = links_between(TREE, "4_1_1", "1_2_1")[0]  # far from the source
    links.fail([down])
    assert place(gff, row, links=links) == [1]
    assert gff.reserved[down] == 0
    links.restore([down])
    assert place(gff, row, links=links) == [1]


@pytest.mark.parametrize("k", [4, 8])
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
