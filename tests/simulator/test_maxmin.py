"""Rates that are changed where an event changes them, against rates that are all filled anew at every event."""

from dataclasses import replace

import numpy as np
import pytest

from hedera.linkstate import LinkState
from hedera.maxmin import find_sprayed_paths
from simulator.maxmin import MaxMinEngine
from tests.simulator.filling import Filling
from topos.fattree import FatTree
from topos.links import NO_LINK, num_links, path_links
from traffic.flows import LASTING, NOBODY, WAITS, make_flows

SIZES = [1.0, 1500.0, 1e5, 1e6, 1e7, 1e9, LASTING]


def arrivals(rng, flows, hosts):
    """Flows of 1 byte to 1 GB, some of which start or end together, and some of which wait for others."""
    src = rng.integers(hosts, size=flows)
    dst = (src + rng.integers(1, hosts, flows)) % hosts
    start = rng.uniform(0, 0.4, flows)
    together = rng.random(flows) < 0.4
    start[together] = 0.00005 + rng.integers(0, 4, together.sum()) / 10  # not where a tick ends, which rounding decides
    size = rng.choice(SIZES, flows) if rng.random() < 0.5 else rng.exponential(1e7, flows) + 1
    size[rng.random(flows) < 0.05] = 0.0
    work = make_flows(src.astype(np.int32), dst.astype(np.int32), start, size)
    after = np.full(flows, NOBODY)
    turns = np.flatnonzero((rng.random(flows) < 0.2) & (np.arange(flows) > 0))
    after[turns] = [rng.integers(flow) for flow in turns]
    start = np.where(after == NOBODY, work.start_s, WAITS)
    return replace(work, start_s=start, after=after.astype(work.after.dtype))


def any_paths(rng, flows, links):
    """Paths that are no network's: up to six different ones of these links, in any order, and gaps between them."""
    paths = rng.permuted(np.tile(np.arange(links), (flows, 1)), axis=1)[:, :6].astype(np.int32)
    kept = rng.random(paths.shape) < rng.random()
    kept[np.arange(flows), rng.integers(paths.shape[1], size=flows)] = True
    return np.where(kept, paths, NO_LINK).astype(np.int32)


def on_tree(rng, work):
    """Paths of a fat-tree, of 4 to 8 ports."""
    tree = FatTree(int(rng.choice([4, 6, 8])))
    src, dst = work.src % tree.num_hosts, work.dst % tree.num_hosts
    dst = np.where(src == dst, (dst + 1) % tree.num_hosts, dst)
    cores = rng.integers(tree.num_cores, size=(2, len(work)))
    shares = np.ones(num_links(tree))
    if rng.random() < 0.3:
        shares = rng.choice([0.5, 1.0, 4.0], shares.size)
    return [path_links(tree, src, dst, core) for core in cores], shares


def is_fair(links, parts, capacity, rate):
    """Whether each flow has a full link on which no flow has more, and no link carries more than its rate."""
    there = links != NO_LINK
    flow = np.nonzero(there)[0]
    load, most = np.zeros((2, capacity.size))
    np.add.at(load, links[there], (rate[:, None] * parts)[there])
    np.maximum.at(most, links[there], rate[flow])
    full = load >= capacity * (1 - 1e-9) - 1e-9
    bottleneck = np.zeros(links.shape, dtype=bool)
    bottleneck[there] = full[links[there]] & (rate[flow] >= most[links[there]] * (1 - 1e-9))
    return bool((load <= capacity * (1 + 1e-9) + 1e-9).all() and bottleneck.any(axis=1).all())


def same(one, other):
    return one == pytest.approx(other, rel=1e-9, abs=1e-12, nan_ok=True)


def hold_against(rng, work, engine, plain, links, parts=None):
    """Run both through the same time, in which flows are moved to other paths; ``links``: rows to choose from."""
    tick_s, parts = engine.tick_s, np.ones(links[0].shape) if parts is None else parts
    for _ in range(6):
        if len(links) > 1:
            moved = np.flatnonzero(rng.random(len(work)) < rng.choice([0.02, 0.3])).astype(np.int32)
            to = links[rng.integers(len(links))][moved]
            engine.reroute(moved, to)
            plain.links[moved] = to
        total = engine.advance(int(rng.integers(1, 120)))
        plain.run(engine.tick * tick_s)
        active = engine.active
        assert active.tolist() == sorted(plain.active)
        assert same(engine.sent_bytes(), plain.sent)
        assert (total >= 0).all()
        assert is_fair(plain.links[active], parts[active], plain.capacity, engine.rates_mbps[active])
    assert same(engine.began_s, plain.began)
    assert same(engine.finished_s, plain.finished)


def seeds(number):
    """The first are quick together, and hundreds are not."""
    return [seed if seed < 40 else pytest.param(seed, marks=pytest.mark.slow) for seed in range(number)]


@pytest.mark.parametrize("seed", seeds(500))
def test_on_any_links_it_is_as_if_all_rates_were_filled_at_every_event(seed):
    rng = np.random.default_rng(seed)
    work = arrivals(rng, int(rng.integers(2, 40)), 8)
    num_links = int(rng.integers(2, 12))
    paths = [any_paths(rng, len(work), num_links) for _ in range(2)]
    shares = rng.choice([0.1, 0.5, 1.0, 1.0, 2.0], num_links)
    shares[rng.random(num_links) < 0.05] = 0.0  # a failed one
    engine = MaxMinEngine(work, paths[0], shares, tick_s=0.001, link_mbps=100.0)
    hold_against(rng, work, engine, Filling(work, paths[0], 100.0 * shares), paths)


@pytest.mark.parametrize("seed", seeds(400))
def test_on_a_fat_tree_it_is_as_if_all_rates_were_filled_at_every_event(seed):
    rng = np.random.default_rng(seed)
    work = arrivals(rng, int(rng.integers(20, 120)), 16)
    links, shares = on_tree(rng, work)
    engine = MaxMinEngine(work, links[0], shares, tick_s=0.001)
    hold_against(rng, work, engine, Filling(work, links[0], 1000.0 * shares), links)


@pytest.mark.parametrize("seed", seeds(100))
def test_sprayed_flows_have_the_rates_of_all_their_paths(seed):
    rng = np.random.default_rng(seed)
    state = LinkState(FatTree(4))
    state.fail(rng.choice(num_links(state.tree), 3, replace=False).tolist())
    work = arrivals(rng, 30, 16)
    links, parts = find_sprayed_paths(state, work.src, work.dst)
    shares = np.ones(num_links(state.tree) + 1)
    shares[-1] = 0.0
    stuck = (links == NO_LINK).all(axis=1)
    links[stuck, 0], parts[stuck, 0] = shares.size - 1, 1.0
    engine = MaxMinEngine(work, links, shares, tick_s=0.001, parts=parts)
    hold_against(rng, work, engine, Filling(work, links, 1000.0 * shares, parts=parts), [links], parts)
