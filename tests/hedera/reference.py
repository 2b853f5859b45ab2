"""Flows to place; and plain, slow, exact counterparts of the compiled algorithms, written from their definitions."""

from collections import defaultdict
from fractions import Fraction

import numpy as np

from hedera.demand import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity

NO_FLOWS = LargeFlows(*(np.empty(0, dtype=kind) for kind in "qiidii"))

TOLERANCE = 1e-12
"""Two demands closer than this, as fractions of a NIC's rate, are the same."""


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


def figure_7(src, dst, num_hosts):
    """ESTIMATE-DEMANDS as the paper prints it (section 4.2, Figure 7)."""
    demand = [0.0] * len(src)
    converged = [False] * len(src)
    while True:
        before = list(demand)
        for host in range(num_hosts):
            _est_src([f for f in range(len(src)) if src[f] == host], demand, converged)
        for host in range(num_hosts):
            _est_dst([f for f in range(len(dst)) if dst[f] == host], demand, converged)
        if all(abs(a - b) < TOLERANCE for a, b in zip(before, demand, strict=True)):
            return demand


def _est_src(flows, demand, converged):
    """A sender shares what its converged flows leave equally among the others."""
    free = [f for f in flows if not converged[f]]
    used = sum(demand[f] for f in flows if converged[f])
    for f in free:
        demand[f] = (1.0 - used) / len(free)


def _est_dst(flows, demand, converged):
    """An oversubscribed receiver limits its largest flows to an equal share each; they have converged.

    Flows that want less than this share are not limited by this receiver, which leaves more to the others.
    """
    if sum(demand[f] for f in flows) <= 1.0 + TOLERANCE:
        return
    limited, share = flows, 1.0 / len(flows)
    while small := [f for f in limited if demand[f] < share - TOLERANCE]:
        limited = [f for f in limited if f not in small]
        share = (1.0 - sum(demand[f] for f in flows if f not in limited)) / len(limited)
    for f in limited:
        demand[f], converged[f] = share, True
