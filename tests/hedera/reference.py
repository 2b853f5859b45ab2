"""Flows to place; and plain, slow, exact counterparts of the compiled algorithms, written from their definitions."""

from collections import defaultdict
from fractions import Fraction

import numpy as np

from hedera.demand import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity

NO_FLOWS = LargeFlows(*(np.empty(0, dtype=kind) for kind in "qiidii"))


def flows_of(tree, src, dst, seed, demand=None):
    """Flows on random paths, which are their hashed ones, with their natural demand. ``seed``: a number or an rng."""
    src, dst = np.asarray(src, dtype=np.int32), np.asarray(dst, dtype=np.int32)
    demand = estimate_demands(src, dst, tree.num_hosts) if demand is None else demand
    hashed = np.random.default_rng(seed).integers(tree.num_cores, size=src.size).astype(np.int32)
    return LargeFlows(np.arange(src.size), src, dst, demand, hashed, hashed)


def random_flows(tree, count, seed):
    rng = np.random.default_rng(seed)
    src = rng.integers(tree.num_hosts, size=count)
    return flows_of(tree, src, (src + rng.integers(1, tree.num_hosts, count)) % tree.num_hosts, rng)


def excess(tree, flows, core, links=None):
    return exceeded_capacity(tree, flows.src, flows.dst, flows.demand, core, links or LinkState(tree))


def plain_max_min(paths, capacity):
    """Progressive filling in fractions: raise all rates together, freeze the flows of each link that fills."""
    rate = [Fraction(0)] * len(paths)
    growing = {flow for flow, path in enumerate(paths) if path}
    while growing:
        users = defaultdict(list)
        for flow in growing:
            for link in paths[flow]:
                users[link].append(flow)
        room = {
            link: capacity[link] - sum((rate[f] for f, path in enumerate(paths) if link in path), Fraction(0))
            for link in users
        }
        step = min(room[link] / len(users[link]) for link in users)
        for flow in growing:
            rate[flow] += step
        growing -= {f for link in users if room[link] == step * len(users[link]) for f in users[link]}
    return rate


def nic_max_min(flows, num_hosts):
    """Max-min fair rates on a non-blocking switch: the only links are the two directions of each NIC."""
    return plain_max_min([[s, num_hosts + d] for s, d in flows], [Fraction(1)] * (2 * num_hosts))
