"""Edge colouring of a bipartite multigraph whose edges have sizes: one stage of a Clos network.

Nodes send and receive. An edge is a flow from one node to another, and a colour is a switch of the middle stage: each
node has one link to, and one from, every colour. If every flow fills a link, a colour carries one flow per node, and
this is the edge colouring of König (1916). Slepian (1952) and Duguid (1959) found that it routes a Clos network
without collisions, as long as no node has more flows than there are colours. Flows of any size take the same steps:

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

from hedera.compiled import compiled
from topos.arrays import Bool, Int32, Int64

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
                least = min(room[up + c], room[down + c])
                if least > most:
                    roomiest, most = c, least
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
                        if not _trail(flow, a, b, 1, colour, size, link, room, first, after, before, trail, moved):
                            _trail(flow, b, a, 0, colour, size, link, room, first, after, before, trail, moved)
            if colour[flow] == NO_COLOUR:
                _recolour(flow, roomiest, colour, size, link, room, first, after, before)
    room_up[:] = room[:slots]
    room_down[:] = room[slots:]


@compiled
def _trail(
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
    found = True
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
            found = False
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
    if not found:
        for i in range(length - 1, 0, -1):
            back = a + b - colour[trail[i]]
            _recolour(trail[i], back, colour, size, link, room, first, after, before)
        _recolour(flow, NO_COLOUR, colour, size, link, room, first, after, before)
    return found


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
