"""Edge colouring of a bipartite multigraph whose edges have sizes: one stage of a Clos network.

Nodes send and receive; an edge is a flow from one to another, and a colour is a switch of the middle stage: each
node has one link to, and one from, every colour. Where all sizes are one link, so that a colour carries one
flow per node, this is the edge colouring of König (1916), which Slepian (1952) and Duguid (1959) found to be what
routes a Clos network: no node with more flows than colours, no collision. Flows of any size go through the same
steps:

* a flow takes a colour that has room for it at both of its nodes;
* where none has, one colour with room at the sender (a) and one with room at the receiver (b) are taken, the flow
  gets a, and at the receiver another flow goes from a to b; if that is too much for its sender, there one goes from
  b to a; and so on along a trail that ends where there is room. No flow moves twice on a trail.

Flows of one size 1/m always find a trail, as flows larger than half a link do: at every node of it one flow has
come and one can go. For mixed sizes a trail may get stuck. Then it is undone, the other end or other colours are
tried, and at last the flow goes where it exceeds least.
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
    """Give every flow a colour, in ``colour`` (flows,), which comes with those wished for or NO_COLOUR.

    ``sender`` and ``receiver`` int32 (flows,) are nodes, ``size`` int64 (flows,) is in the unit of the rooms; flows
    come by falling size. A flow keeps the colour it wishes for while there is
    room: first the ``wide`` largest, each more than half a link, get theirs or another, then the rest.
    ``room_up`` and ``room_down`` int64 (nodes * colours,) are what the links between node n and colour c, at
    n * colours + c, have left, far below 0 for a failed one. They are taken from, and end below 0 where flows do
    not fit.
    """
    flows, slots = size.size, room_up.size
    # A flow has two ends: its own number at the sender, flows + its number at the receiver. So have links.
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
                        if not _trail(
                            flow, a, b, 1, colour, size, link, room, first, after, before, trail, moved
                        ):
                            _trail(
                                flow, b, a, 0, colour, size, link, room, first, after, before, trail, moved
                            )
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

    Returns whether that ended with room for all. Where not, all is as it was.
    """
    flows = size.size
    _recolour(flow, a, colour, size, link, room, first, after, before)
    trail[0], length = flow, 1
    moved[flow] = True
    end = flow + far * flows
    found = True
    while room[link[end] + a] < 0:
        over, most = -room[link[end] + a], room[link[end] + b]
        out = _NOBODY  # the smallest end that makes room, and finds some
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
    flow: int,
    new: int,
    colour: Int32,
    size: Int64,
    link: Int32,
    room: Int64,
    first: Int32,
    after: Int32,
    before: Int32,
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
