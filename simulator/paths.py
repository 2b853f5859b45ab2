"""Schemes that only a simulator has: paths planned for a collective's graph, and packets sprayed over all paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedera.clos import ClosColouring
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity
from topos.arrays import Bool, Float64, Int32
from topos.fattree import FatTree
from topos.links import NO_LINK, Cores, link_rates, path_links
from traffic.graph import FlowGraph

ORDERS = 16


def planned_cores(graph: FlowGraph, nodes: NDArray[np.intp], core: Cores, links: LinkState) -> Cores:
    """A core for each of these nodes, int32 (nodes,): the flows of one step together, by edge colouring.

    A flow's demand is what its sender and its receiver leave it beside the others of the step. ``core``: what
    computing keeps, and where colouring begins.
    """
    assert isinstance(links.tree, FatTree)
    placement, found = ClosColouring(links.tree), core.copy()
    known: dict[bytes, Cores] = {}  # rings send the same way in every step
    level = np.where(graph.computes[nodes], -1, graph.level[nodes])
    order = np.argsort(level, kind="stable")
    for step in np.split(order, np.flatnonzero(np.diff(level[order])) + 1):
        if not step.size or level[step[0]] < 0:
            continue
        src, dst = graph.src[nodes[step]], graph.dst[nodes[step]]
        same = src.tobytes() + dst.tobytes()
        if same not in known:
            busy = np.maximum(np.bincount(src)[src], np.bincount(dst)[dst])
            known[same] = _coloured(placement, src, dst, 1.0 / busy, found[step], links)
        found[step] = known[same]
    return found


def _coloured(
    placement: ClosColouring, src: Int32, dst: Int32, demand: Float64, core: Cores, links: LinkState
) -> Cores:
    """The best of some colourings, each of the flows in another order, where the first leaves an excess.

    Colouring goes by their order where it cannot look ahead to a failed link, and counts a flow on such a link as one
    too many on any other; these flows move on.
    """
    rng, best, least = np.random.default_rng(1), core, np.inf
    order = np.arange(src.size)
    for _ in range(ORDERS):
        start = core[order]
        flows = LargeFlows(order, src[order], dst[order], demand[order], start, start)
        answer = np.empty_like(core)
        answer[order] = placement.place(flows, links)
        answer = links.detour(src, dst, answer)
        exceeded = exceeded_capacity(links.tree, src, dst, demand, answer, links)
        if exceeded < least:
            best, least = answer, exceeded
        if least == 0:
            break
        order = rng.permutation(src.size)
    return best


def sprayed_rates(links: LinkState, src: Int32, dst: Int32, link_mbps: float) -> Float64:
    """Max-min fair rates, Mb/s, of flows that go in equal parts by all their paths that work: float64 (flows,).

    All rates grow together until a link is full; the flows that have a part on it stop there. A flow without a path
    has none. ``src`` and ``dst``: int32 (flows,).
    """
    tree, flows = links.tree, src.size
    usable = links.usable_cores(src, dst) & links.connected(src, dst)[:, None]
    flow, core = np.nonzero(usable)
    paths = path_links(tree, src[flow], dst[flow], core.astype(np.int32))
    part = np.broadcast_to((1.0 / usable.sum(axis=1)[flow])[:, None], paths.shape)[paths != NO_LINK]
    owner = np.broadcast_to(flow[:, None], paths.shape)[paths != NO_LINK]
    link = paths[paths != NO_LINK]
    rate = np.zeros(flows)
    growing: Bool = np.isin(np.arange(flows), flow)
    room = link_mbps * link_rates(tree)
    while growing.any():
        load = np.bincount(link, part * growing[owner], minlength=room.size)
        used = load > 1e-9
        share = (room[used] / load[used]).min()
        rate[growing] += share
        room -= load * share
        full = used & (room <= 1e-9 * link_mbps)
        growing[owner[full[link]]] = False
    return rate
