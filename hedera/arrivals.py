"""Large flows grouped by destination, and the load they put on links: the data of annealing per destination host."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedera.compiled import compiled
from hedera.placement import UNIT
from topos.arrays import Bool, Int32, Int64
from topos.fattree import FatTree
from topos.links import Cores, tier_links

# The load table is indexed by link. Hosts' links never limit a placement, so the first of them stands in for the core
# link that a flow inside a pod does not use (and the next ones for "c further"): they have unlimited room.
_NOWHERE = 0
_BOUNDLESS = np.int64(1 << 62)


class Shape(NamedTuple):
    """The fat-tree as lookup tables: dividing host numbers by k/2 each time would take longer than everything else.

    ``edge_up``, ``core_up``, ``core_down``, ``edge_down``, int32 (hosts,): the numbers (`topos.links`) of the links
    that flows take by way of core 0, upwards from a host or downwards to one. By way of core c, add ``up[c]`` to an
    edge link and c to a core link; ``up`` int32 (cores,) is the core's aggregation index. Hosts below the same edge
    switch have the same ``edge_up``, hosts of a pod the same ``core_up``. ``pod`` int32 (hosts,) is the first host of
    the pod.
    """

    edge_up: Int32
    core_up: Int32
    core_down: Int32
    edge_down: Int32
    up: Int32
    pod: Int32


def shape_of(tree: FatTree) -> Shape:
    host, core = np.arange(tree.num_hosts, dtype=np.int32), np.arange(tree.num_cores, dtype=np.int32)
    tiers = tier_links(host, host, np.zeros_like(host), tree.half)
    edge_up, core_up, core_down, edge_down = (tier.astype(np.int32) for tier in tiers[1:5])
    return Shape(edge_up, core_up, core_down, edge_down, core // tree.half, host - host % tree.num_cores)


class Arrivals(NamedTuple):
    """The flows that leave their edge switch, grouped by destination: those to h are first[h]..first[h+1]-1.

    ``edge_up`` and ``core_up``, int32 (flows,), are those of the source, in `Shape`'s words. ``demand`` is int64
    (flows,), in units. ``into_edge`` and ``into_pod`` are int64 (hosts,): the demand to each host from outside its
    edge switch and its pod.
    """

    first: Int32
    edge_up: Int32
    core_up: Int32
    demand: Int64
    into_edge: Int64
    into_pod: Int64


@compiled
def group(src: Int32, dst: Int32, demand: Int64, shape: Shape) -> Arrivals:
    """Sort flows, arrays of shape (flows,) with ``demand`` in units, by destination."""
    edge, pod = shape.edge_up, shape.core_up
    hosts = edge.size
    first = np.zeros(hosts + 1, dtype=np.int32)
    for flow in range(src.size):
        s, d = np.uint64(src[flow]), np.uint64(dst[flow])  # unsigned: see `hedera.simulated_annealing`
        first[d] += edge[s] != edge[d]
    end = 0
    for host in range(hosts + 1):
        end += first[host]
        first[host] = end
    edge_up = np.empty(end, dtype=np.int32)
    core_up = np.empty(end, dtype=np.int32)
    amount = np.empty(end, dtype=np.int64)
    into_edge = np.zeros(hosts, dtype=np.int64)
    into_pod = np.zeros(hosts, dtype=np.int64)
    for flow in range(src.size - 1, -1, -1):
        s, d, wanted = np.uint64(src[flow]), np.uint64(dst[flow]), demand[flow]
        if edge[s] != edge[d]:
            first[d] -= 1
            at = np.uint64(first[d])
            amount[at] = wanted
            edge_up[at] = edge[s]
            into_edge[d] += wanted
            if pod[s] != pod[d]:
                core_up[at] = pod[s]
                into_pod[d] += wanted
            else:
                core_up[at] = _NOWHERE
    return Arrivals(first, edge_up, core_up, amount, into_edge, into_pod)


@compiled
def load(arrivals: Arrivals, core_of: Cores, works: Bool, shape: Shape) -> Int64:
    """Load minus capacity, int64 (links,) in units; ``works`` (links,) says which links work."""
    core_down, edge_down, up = shape.core_down, shape.edge_down, shape.up
    first, demand = arrivals.first, arrivals.demand
    edge_up, core_up = arrivals.edge_up, arrivals.core_up
    into_edge, into_pod = arrivals.into_edge, arrivals.into_pod
    hosts = core_of.size
    excess = np.empty(works.size, dtype=np.int64)
    excess[:hosts] = excess[works.size - hosts :] = -_BOUNDLESS
    for link in range(hosts, works.size - hosts):
        excess[link] = -UNIT if works[link] else 0
    for host in range(hosts):
        core = core_of[host]
        aggregation = up[np.uint64(core)]
        excess[np.uint64(core_down[host] + core)] += into_pod[host]
        excess[np.uint64(edge_down[host] + aggregation)] += into_edge[host]
        for i in range(np.uint64(first[host]), np.uint64(first[host + 1])):
            excess[np.uint64(edge_up[i] + aggregation)] += demand[i]
            excess[np.uint64(core_up[i] + core)] += demand[i]
    return excess


@compiled
def cores_of_flows(src: Int32, dst: Int32, core_of: Cores, shape: Shape) -> Cores:
    """Each flow's core, int32 (flows,), numbered as `topos.links.canonical_cores` does."""
    edge, pod, up = shape.edge_up, shape.core_up, shape.up
    half = up[-1] + 1
    core = np.empty(src.size, dtype=np.int32)
    for flow in range(src.size):
        s, d = np.uint64(src[flow]), np.uint64(dst[flow])
        wanted = core_of[d]
        inside_pod = up[np.uint64(wanted)] * half if edge[s] != edge[d] else 0
        core[flow] = wanted if pod[s] != pod[d] else inside_pod
    return core
