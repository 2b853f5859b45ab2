"""Placement by edge colouring: a fat-tree is a folded Clos network, and is routed as one.

There are two stages of edge colouring (below). First the edge switches, which have k/2 links up and
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

One stage is the edge colouring of a bipartite multigraph whose edges have sizes. Nodes send and receive. An edge is a
flow from one node to another, and a colour is a switch of the middle stage: each node has one link to, and one from,
every colour. If every flow fills a link, a colour carries one flow per node, and this is the edge colouring of König
(1916). Slepian (1952) and Duguid (1959) found that it routes a Clos network without collisions, as long as no node has
more flows than there are colours. Flows of any size take the same steps:

* A flow takes a colour that has room for it at both of its nodes.
* If there is none, take one colour with room at the sender (a) and one with room at the receiver (b). The flow gets
  a, and at the receiver another flow moves from a to b. If that is too much for that flow's sender, a flow there
  moves from b to a; and so on, along a trail that ends where there is room. No flow moves twice on a trail.

Flows of one size 1/m always find a trail, and so do flows larger than half a link: at every node of the trail one
flow has come and one can go. For mixed sizes a trail may get stuck. Then it is undone, and the other end or other
colours are tried; if all fail, the flow goes where it exceeds least.
"""

from __future__ import annotations

import numpy as np

from hedera.compiled import NO_LINK, compiled, compute_excess, find_choice_links
from hedera.global_first_fit import UNASSIGNED, find_first_path, take
from hedera.linkstate import UNIT, LinkState
from hedera.placement import LargeFlows, in_units
from topos.arrays import Bool, Int32, Int64
from topos.fattree import FatTree
from topos.links import Cores, climb, find_canonical_cores, path_links

NO_COLOUR = -1
_NOBODY = -1

TRIES = 8
"""Pairs of colours whose trails are tried for a flow that fits nowhere."""


@compiled
def colour_flows(
    sender: Int32,
    receiver: Int32,
    size: Int64,
    wide: int,
    colour: Int32,
    room_up: Int64,
    room_down: Int64,
    colours: int,
) -> None:
    """Give every flow a colour, in ``colour`` (flows,), which at first has the preferred colours, or NO_COLOUR.

    ``sender`` and ``receiver`` int32 (flows,) are nodes; ``size`` int64 (flows,) is in the unit of the rooms. Flows
    are sorted by falling size. A flow gets the colour it prefers while there is room: the ``wide`` largest flows,
    each more than half a link, are coloured first, then the rest. ``room_up`` and ``room_down`` int64 (nodes *
    colours,) are the room on the link between node n and colour c, at n * colours + c; far below 0 for a failed link.
    Sizes are subtracted from them; they end below 0 where flows do not fit.
    """
    flows, slots = size.size, room_up.size
    # A flow has two ends: its own number at the sender, flows + its number at the receiver. Links have two as well.
    link = np.empty(2 * flows, dtype=np.int32)  # the end's link to colour 0
    for flow in range(flows):
        link[flow] = sender[flow] * colours
        link[flows + flow] = slots + receiver[flow] * colours
    room = np.concatenate((room_up, room_down))
    first = np.full(2 * slots, _NOBODY, dtype=np.int32)  # of the ends at a link,
    after = np.empty(2 * flows, dtype=np.int32)  # which are a list
    before = np.empty(2 * flows, dtype=np.int32)  # in both directions
    trail = np.empty(flows, dtype=np.int32)
    moved = np.zeros(flows, dtype=np.bool_)
    waiting = np.empty(flows, dtype=np.int32)

    for begin, end in ((0, wide), (wide, flows)):
        late = 0
        for flow in range(begin, end):
            wish = colour[flow]
            colour[flow] = NO_COLOUR
            up, down = link[flow] + wish, link[flows + flow] + wish
            if wish != NO_COLOUR and room[up] >= size[flow] and room[down] >= size[flow]:
                _recolour(flow, wish, colour, size, link, room, first, after, before)
            else:
                waiting[late] = flow
                late += 1
        for flow in waiting[:late]:
            up, down, amount = link[flow], link[flows + flow], size[flow]
            roomiest, most = 0, min(room[up], room[down])
            for c in range(1, colours):
                if begin < wide and most >= amount:
                    break
                least_room = min(room[up + c], room[down + c])
                if least_room > most:
                    roomiest, most = c, least_room
            if most >= amount:
                _recolour(flow, roomiest, colour, size, link, room, first, after, before)
                continue
            tries = 0
            for a in range(colours):
                if room[up + a] < amount:
                    continue
                for b in range(colours):
                    if room[down + b] < amount:
                        continue
                    if tries < TRIES and colour[flow] == NO_COLOUR:
                        tries += 1
                        if not _recolour_trail(
                            flow, a, b, 1, colour, size, link, room, first, after, before, trail, moved
                        ):
                            _recolour_trail(flow, b, a, 0, colour, size, link, room, first, after, before, trail, moved)
            if colour[flow] == NO_COLOUR:
                _recolour(flow, roomiest, colour, size, link, room, first, after, before)
    room_up[:] = room[:slots]
    room_down[:] = room[slots:]


@compiled
def _recolour_trail(
    flow: int,
    a: int,
    b: int,
    far: int,
    colour: Int32,
    size: Int64,
    link: Int32,
    room: Int64,
    first: Int32,
    after: Int32,
    before: Int32,
    trail: Int32,
    moved: Bool,
) -> bool:
    """Give ``flow`` colour ``a``; from its ``far`` end (0 sender, 1 receiver) on, others go from a to b and back.

    Returns whether the trail ended with room for all. If not, nothing is changed.
    """
    flows = size.size
    _recolour(flow, a, colour, size, link, room, first, after, before)
    trail[0], length = flow, 1
    moved[flow] = True
    end = flow + far * flows
    extended = True
    while room[link[end] + a] < 0:
        over, most = -room[link[end] + a], room[link[end] + b]
        out = _NOBODY  # the smallest end that makes enough room, and has room elsewhere
        other = first[link[end] + a]
        while other != _NOBODY:
            amount = size[other % flows]
            if over <= amount <= most and not moved[other % flows]:
                out, most = other, amount - 1
            other = after[other]
        if out == _NOBODY:
            extended = False
            break
        going = out % flows
        _recolour(going, b, colour, size, link, room, first, after, before)
        trail[length] = going
        length += 1
        moved[going] = True
        end = out + flows if out < flows else going
        a, b = b, a
    for i in range(length):
        moved[trail[i]] = False
    if not extended:
        for i in range(length - 1, 0, -1):
            back = a + b - colour[trail[i]]
            _recolour(trail[i], back, colour, size, link, room, first, after, before)
        _recolour(flow, NO_COLOUR, colour, size, link, room, first, after, before)
    return extended


@compiled
def _recolour(
    flow: int, new: int, colour: Int32, size: Int64, link: Int32, room: Int64, first: Int32, after: Int32, before: Int32
) -> None:
    """Move both ends of a flow from the links of its colour to those of ``new``; either may be NO_COLOUR."""
    old = colour[flow]
    for end in range(flow, 2 * size.size, size.size):
        if old != NO_COLOUR:
            at = link[end] + old
            room[at] += size[flow]
            if before[end] == _NOBODY:
                first[at] = after[end]
            else:
                after[before[end]] = after[end]
            if after[end] != _NOBODY:
                before[after[end]] = before[end]
        if new != NO_COLOUR:
            at = link[end] + new
            room[at] -= size[flow]
            before[end], after[end] = _NOBODY, first[at]
            if first[at] != _NOBODY:
                before[first[at]] = end
            first[at] = end
    colour[flow] = new


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
        best = find_canonical_cores(self.tree, flows.src, flows.dst, flows.core)
        least_exceeded, flows_met = self._measure_excess(flows, size, best, links)
        nothing = np.full_like(best, NO_COLOUR)
        for wish in (best, nothing) if 2 * flows_met < size.size else (nothing,):
            if least_exceeded == 0:
                break
            core = self._colour_flows(flows, size, wish, links)
            exceeded, _ = self._measure_excess(flows, size, core, links)
            if exceeded < least_exceeded:
                best, least_exceeded = core, exceeded
        self.energy = least_exceeded / UNIT
        return best

    def _colour_flows(self, flows: LargeFlows, size: Int64, wish: Cores, links: LinkState) -> Cores:
        """Cores for all flows, each the one it wishes for where that fits (NO_COLOUR: none)."""
        half, pod = self.tree.half, self.tree.num_cores
        room = np.where(links.up, np.int64(UNIT), np.int64(_FAILED)).reshape(6, -1)
        _, edge_up, core_up, core_down, edge_down, _ = room
        core = np.zeros(size.size, dtype=np.int32)
        climbed = climb(flows.src, flows.dst, half)

        some = np.argsort(-size, kind="stable")
        some = some[climbed[some] > 0]
        src, dst, sizes = flows.src[some] // half, flows.dst[some] // half, size[some]
        up = _select_part(wish[some], wish[some] // half)
        colour_flows(src, dst, sizes, _is_wide(sizes).sum(), up, edge_up, edge_down, half)
        core[some] = up * half

        far = climbed[some] == 2
        some, up = some[far], up[far]
        # One aggregation index after the other. They share no link, so a trail stays in one corner of memory.
        order = np.argsort((up + half * ~_is_wide(size[some])).astype(np.int16), kind="stable")
        some, up = some[order], up[order]
        src, dst, sizes = flows.src[some] // pod * half + up, flows.dst[some] // pod * half + up, size[some]
        above = _select_part(wish[some], wish[some] % half)
        colour_flows(src, dst, sizes, _is_wide(sizes).sum(), above, core_up, core_down, half)
        core[some] += above
        _move_by_first_fit(flows.src, flows.dst, size, core, room.reshape(-1), half)
        return core

    def _measure_excess(self, flows: LargeFlows, size: Int64, core: Cores, links: LinkState) -> tuple[int, int]:
        """What `hedera.placement.exceeded_capacity` computes, in units; and how many flows meet an exceeded link."""
        excess = compute_excess(self.tree, flows.src, flows.dst, size, core, links)
        met = (excess[path_links(self.tree, flows.src, flows.dst, core)[:, 1:-1]] > 0).any(axis=1)
        return int(np.maximum(excess, 0).sum()), int(met.sum())


def _is_wide(size: Int64) -> Bool:
    return size > UNIT // 2


def _select_part(wish: Cores, part: Cores) -> Int32:
    return np.where(wish == NO_COLOUR, NO_COLOUR, part).astype(np.int32)


@compiled
def _move_by_first_fit(src: Int32, dst: Int32, size: Int64, core: Cores, room: Int64, half: int) -> None:
    """Move flows from links without room to the first path with room, where there is one."""
    for flow in range(size.size):
        links = find_choice_links(src[flow], dst[flow], core[flow], half)
        for link in links:
            if link != NO_LINK and room[link] < 0:
                take(room, links, -size[flow])
                chosen = find_first_path(src[flow], dst[flow], size[flow], room, half)
                if chosen == UNASSIGNED:
                    take(room, links, size[flow])
                else:
                    core[flow] = chosen
                break
