"""Schemes that only a simulator has: paths planned for a collective's graph, and packets sprayed over all paths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedera.clos import ClosColouring
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.arrays import Bool, Float64, Int32
from topos.links import NO_LINK, Cores, num_links, path_links
from traffic.graph import FlowGraph


def planned_cores(graph: FlowGraph, nodes: NDArray[np.intp], core: Cores, links: LinkState) -> Cores:
    """A core for each of these nodes, int32 (nodes,): the flows of one step together, by edge colouring.

    A flow's demand is what its sender and its receiver leave it beside the others of the step. ``core``: what
    computing keeps, and where colouring begins.
    """
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
            key = np.arange(src.size, dtype=np.int64)
            flows = LargeFlows(key, src, dst, 1.0 / busy, found[step], found[step])
            known[same] = placement.place(flows, links)
        found[step] = known[same]
    return found


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
    room = np.full(num_links(tree), link_mbps)
    while growing.any():
        load = np.bincount(link, part * growing[owner], minlength=room.size)
        used = load > 1e-9
        share = (room[used] / load[used]).min()
        rate[growing] += share
        room -= load * share
        full = used & (room <= 1e-9 * link_mbps)
        growing[owner[full[link]]] = False
    return rate
