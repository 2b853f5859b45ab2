"""Placement by edge colouring: a fat-tree is a folded Clos network, and is routed as one.

There are two stages of edge colouring (`hedera.edge_colouring`). First the edge switches, which have k/2 links up and
k/2 down, are the nodes, and the aggregation indices are the colours. Then, for each aggregation index, its switches
in all pods are the nodes, and the cores above it are the colours. If every flow has a whole NIC to itself, each edge
switch sends and receives at most k/2 flows, and so does each aggregation switch. Both colourings then succeed: any
permutation is routed without a collision, at every k (Slepian 1952, Duguid 1959: a Clos network of this size is
rearrangeably non-blocking). The same holds for flows of one size 1/m, and for any flows larger than half a link.
Other flows are coloured in order of falling size, without a guarantee. A flow that still exceeds a link takes the
first path that fits it, if there is one.

Paths change only where that lowers the excess. A period that begins without excess moves nothing. If there is excess,
flows first keep the paths that fit, the largest flows first, and only the others are coloured. A new flow as large as
a NIC displaces at most two others from its edge links, and the trail of each changes the aggregation switch of fewer
than k^2 flows (it meets no edge switch twice in one direction). If a link is still exceeded then, all flows are
coloured afresh, and the better result is taken. That is done at once if half of the flows meet an exceeded link, as
hashed flows do in a full network, because hardly any of them could stay.

Failed links have no room. The colouring of edge switches does not look ahead to failed links above; first fit then
finds another path, if one has room.
"""

from __future__ import annotations

import numpy as np

from hedera.compiled import NO_LINK, choice_links, compiled, excess_of_links
from hedera.edge_colouring import NO_COLOUR, colour_flows
from hedera.global_first_fit import UNASSIGNED, first_path, take
from hedera.linkstate import UNIT, LinkState
from hedera.placement import LargeFlows, in_units
from topos.arrays import Bool, Int32, Int64
from topos.fattree import FatTree
from topos.links import Cores, canonical_cores, climb, path_links

_FAILED = -(1 << 60)  # the room of a failed link: below that of any link that works, whatever it carries


class ClosColouring:
    """The placement. It needs no memory of its own: a flow's core comes back in the next table."""

    def __init__(self, tree: FatTree) -> None:
        self.tree = tree
        self.energy = 0.0
        """The exceeded capacity, in link capacities, that the last period ended with (see `exceeded_capacity`)."""

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        """The core for each flow, int32 (flows,): see `hedera.placement.Placement`."""
        size = in_units(flows.demand)
        best = canonical_cores(self.tree, flows.src, flows.dst, flows.core)
        least, flows_met = self._exceeded(flows, size, best, links)
        nothing = np.full_like(best, NO_COLOUR)
        for wish in (best, nothing) if 2 * flows_met < size.size else (nothing,):
            if least == 0:
                break
            core = self._coloured(flows, size, wish, links)
            exceeded, _ = self._exceeded(flows, size, core, links)
            if exceeded < least:
                best, least = core, exceeded
        self.energy = least / UNIT
        return best

    def _coloured(self, flows: LargeFlows, size: Int64, wish: Cores, links: LinkState) -> Cores:
        """Cores for all flows, each the one it wishes for where that fits (NO_COLOUR: none)."""
        half, pod = self.tree.half, self.tree.num_cores
        room = np.where(links.up, np.int64(UNIT), np.int64(_FAILED)).reshape(6, -1)
        _, edge_up, core_up, core_down, edge_down, _ = room
        core = np.zeros(size.size, dtype=np.int32)
        climbed = climb(flows.src, flows.dst, half)

        some = np.argsort(-size, kind="stable")
        some = some[climbed[some] > 0]
        src, dst, sizes = flows.src[some] // half, flows.dst[some] // half, size[some]
        up = _part(wish[some], wish[some] // half)
        colour_flows(src, dst, sizes, _wide(sizes).sum(), up, edge_up, edge_down, half)
        core[some] = up * half

        far = climbed[some] == 2
        some, up = some[far], up[far]
        # One aggregation index after the other. They share no link, so a trail stays in one corner of memory.
        order = np.argsort((up + half * ~_wide(size[some])).astype(np.int16), kind="stable")
        some, up = some[order], up[order]
        src, dst, sizes = flows.src[some] // pod * half + up, flows.dst[some] // pod * half + up, size[some]
        above = _part(wish[some], wish[some] % half)
        colour_flows(src, dst, sizes, _wide(sizes).sum(), above, core_up, core_down, half)
        core[some] += above
        _move_by_first_fit(flows.src, flows.dst, size, core, room.reshape(-1), half)
        return core

    def _exceeded(self, flows: LargeFlows, size: Int64, core: Cores, links: LinkState) -> tuple[int, int]:
        """What `hedera.placement.exceeded_capacity` computes, in units; and how many flows meet an exceeded link."""
        excess = excess_of_links(self.tree, flows.src, flows.dst, size, core, links)
        met = (excess[path_links(self.tree, flows.src, flows.dst, core)[:, 1:5]] > 0).any(axis=1)
        return int(np.maximum(excess, 0).sum()), int(met.sum())


def _wide(size: Int64) -> Bool:
    return size > UNIT // 2


def _part(wish: Cores, part: Cores) -> Int32:
    return np.where(wish == NO_COLOUR, NO_COLOUR, part).astype(np.int32)


@compiled
def _move_by_first_fit(src: Int32, dst: Int32, size: Int64, core: Cores, room: Int64, half: int) -> None:
    """Move flows from links without room to the first path with room, where there is one."""
    for flow in range(size.size):
        links = choice_links(src[flow], dst[flow], core[flow], half)
        for link in links:
            if link != NO_LINK and room[link] < 0:
                take(room, links, -size[flow])
                found = first_path(src[flow], dst[flow], size[flow], room, half)
                if found == UNASSIGNED:
                    take(room, links, size[flow])
                else:
                    core[flow] = found
                break
