"""A scheme that only a simulator has: paths planned for a collective's graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedera.clos import ClosColouring
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import Cores
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
