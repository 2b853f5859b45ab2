"""Max-min fair rates of flows that come and go: an event costs what it changes.

`MaxMinEngine` gives every flow its max-min fair rate at all times: no TCP, no noise, no chance, and no ticks. It
answers what the paths alone allow, and so explains what AIMD (`simulator.aimd`) shows on top of it.

**The condition.** Rates are max-min fair exactly when each flow has a *bottleneck*: a link of its path that is full and
on which no flow has more (Bertsekas and Gallager, *Data Networks*, section 6.5.2). The condition is local, so after an
event only flows whose bottleneck is lost have to be looked at, and those along the links that these then change (the
"bottleneck structure" of Ros-Giralt et al., 2019, is the graph along which a change spreads).

**Water that rises.** Rates are found by progressive filling, as in `hedera.maxmin`: a level rises from 0, and a link
that is full at it stops its flows. Here the flows of the last solution are *settled*: they have their old rates until
the level meets a link that says otherwise. A link is looked at only if an event has touched it, and for one of two
reasons:

* It is **too full**. Its share is the level s at which it is full if no flow on it has more than s: settled flows that
  have less keep it, growing flows and those that have more get s. When the level comes to s, they are settled there.
* It is **loose**: a flow has left it, or has less than it had. When the level comes to the rate of those that it had
  stopped, and it is not full at it, they grow again.

Whoever gets less than it had makes the links of its path loose; whoever grows again touches those of its own. A flow
can only be stopped at the level or above it, so one pass of the level settles all of them, each once, and what comes
out is the solution of progressive filling. The work is in the flows that change, times their links, times the flows on
these; the number of other flows and links does not enter.

**Ends** wait in a heap with one place for each flow. A flow whose rate does not change keeps its place, and what a flow
has sent is reckoned when its rate changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedera.compiled import inlined, uncounted
from simulator.starts import EVERY, find_starts
from topos.arrays import Float64, Int32, Int64
from topos.links import NO_LINK
from traffic.flows import Flows
from traffic.graph import FlowGraph

ROUNDING = 1e-9
"""Of a flow's size: what floating point may leave of it at its end, so that flows that end together do."""
# Rates that differ by less than this share are one rate. It is far above what sums of a thousand rates are off by,
# and far below what anybody asks for; without it a flow whose rate is computed anew, by other sums, would change in its
# last digit, and touch all that its links carry.
_SAME = 1e-12

_WAITS, _SETTLED, _GROWS, _MOVES, _ENDED = range(5)  # phases of a flow
_ACTIVE, _ARRIVED, _GROWING, _LOOSE = range(4)  # counts

# What belongs to a flow or a link lies together, in one line of a cache.
_FLOW = np.dtype(
    [
        ("size", np.float64),  # times: ticks; rates: Mb/s; sizes: what 1 Mb/s sends in a tick
        ("sent", np.float64),  # at the time ``since``
        ("since", np.float64),  # its rate has changed last, or it has ended
        ("rate", np.float64),
        ("began", np.float64),  # nan for one that waits
        ("place", np.int32),  # in the heap of ends or of those that are freed, -1 for none
        ("listed", np.int32),  # its place among the active flows
        ("phase", np.int32),
        ("bottleneck", np.int32),  # of a settled flow: the link that stops it
    ],
    align=True,
)
_LINK = np.dtype(
    [
        ("capacity", np.float64),
        ("load", np.float64),  # what settled flows have
        ("wanting", np.float64),  # how many grow, each counted as the part of it that goes here
        ("most", np.float64),  # no settled flow has more
        ("level", np.float64),  # at which it was full
        ("place", np.int32),  # in the heap of those to look at, -1 for none
        ("head", np.int32),  # the first slot of its list
        ("stops", np.int32),  # of how many settled flows it is the bottleneck
        ("loose", np.bool_),
        ("exact", np.bool_),  # at its key in the heap it is full
    ],
    align=True,
)
# A path has a power of two of slots, one for each of its links, which are the first; those of flow f begin at
# f << shift. A slot stands in the list of its link.
_SLOT = np.dtype([("link", np.int32), ("before", np.int32), ("after", np.int32)])

# Compiled code reads and writes fields of these as attributes, for which NumPy has no types.
Records = NDArray[Any]


class _Heap(NamedTuple):
    """Flows by a time, or links by a level, the least first.

    ``item``, ``key``: the numbers and keys of ``size`` (1,) items. Keys lie side by side, as that is what a heap
    compares. Where an item stands is in its record, ``place``.
    """

    item: Int32
    key: Float64
    size: Int64


class _Net(NamedTuple):
    """Flows and links, and the heaps of both.

    ``slots`` (flows << shift,); ``part`` of that shape: the share of the flow's rate that goes there, or empty where
    all carry all of it. ``touched``: the links to look at, by the level below which nothing happens there; ``ends``:
    flows by their ends. ``counts``: of flows that are active, that have arrived and that grow, and of loose links;
    ``total`` (1,): the sum of all rates; ``changes`` (1,): how many of them have changed so far, but for flows' own
    ends.
    """

    shift: int
    slots: Records
    part: Float64
    flows: Records
    links: Records
    touched: _Heap
    ends: _Heap
    counts: Int64
    total: Float64
    changes: Int64


class _Turns(NamedTuple):
    """When flows start: `simulator.starts.Starts` in ticks, ``freed``, a heap of those that wait for nobody any more,
    and the flows that are ``active``."""

    queue: Int32
    due: Float64
    known: int
    first: Int64
    follower: Int32
    missing: Int32
    delay: Float64
    freed: _Heap
    active: Int32


class MaxMinEngine:
    """The max-min fair rates of a workload's flows; its attributes and methods are those of `aimd.AimdEngine`.

    So are its arguments. ``parts``, float64 (flows, tiers), is the share of a flow's rate that each link of its row
    carries (all of it unless given); no row names a link twice. It goes from one start or end of a flow to the next,
    each at its own time. A tick is only what `advance` counts in.

    A flow without any link has nobody to wait for, and ends as it starts.
    """

    def __init__(
        self,
        work: Flows,
        links: Int32,
        shares: Float64,
        *,
        tick_s: float,
        link_mbps: float = 1000.0,
        graph: FlowGraph | None = None,
        parts: Float64 | None = None,
    ) -> None:
        count, tiers = links.shape
        self.tick, self.tick_s = 0, tick_s
        self._bytes = 1e6 / 8 * tick_s  # 1 Mb/s, for one tick
        self._shift = max(0, tiers - 1).bit_length()
        link, part = self._find_slots(links, parts)
        slots = np.zeros(link.size, dtype=_SLOT)
        slots["link"] = link.reshape(-1)
        flows = np.zeros(count, dtype=_FLOW)
        flows["size"], flows["began"], flows["place"] = work.size_bytes / self._bytes, np.nan, -1
        ports = np.zeros(shares.size, dtype=_LINK)
        ports["capacity"], ports["head"], ports["place"] = link_mbps * shares, -1, -1
        self._net = _Net(
            self._shift, slots, part.reshape(-1), flows, ports, _make_heap(shares.size), _make_heap(count),
            np.zeros(4, dtype=np.int64), np.zeros(1), np.zeros(1, dtype=np.int64),
        )  # fmt: skip
        order = find_starts(work, graph)
        self._turns = _Turns(
            order.queue, order.due_s / tick_s, order.known, order.first, order.follower, order.missing,
            order.delay_s / tick_s, _make_heap(count), np.empty(count, dtype=np.int32),
        )  # fmt: skip

    def advance(self, ticks: int) -> Float64:
        """Run ``ticks`` ticks; returns the mean sum of all rates in each, Mb/s, float64 (ticks,)."""
        totals = np.zeros(ticks)
        _advance(float(self.tick), totals, self._net, self._turns)
        self.tick += ticks
        return totals

    @property
    def active(self) -> Int32:
        """The flows that have started and not finished, in ascending order: int32 (active,)."""
        return np.sort(self._turns.active[: self._net.counts[_ACTIVE]])

    @property
    def idle(self) -> bool:
        """Whether no flow is active and none will start."""
        counts = self._net.counts
        return bool(counts[_ACTIVE] == self._turns.freed.size[0] == 0 and counts[_ARRIVED] == self._turns.known)

    @property
    def began_s(self) -> Float64:
        """When every flow has started, nan for those that have not: float64 (flows,)."""
        began: Float64 = self._net.flows["began"] * self.tick_s
        return began

    @property
    def finished_s(self) -> Float64:
        """When every flow has sent its last bit, nan for those that have not: float64 (flows,)."""
        flows = self._net.flows
        return np.where(flows["phase"] == _ENDED, flows["since"], np.nan) * self.tick_s

    @property
    def rates_mbps(self) -> Float64:
        """Every flow's rate, 0 when it is not active: float64 (flows,)."""
        _settle(float(self.tick), self._net)
        return np.array(self._net.flows["rate"])

    def sent_bytes(self, flows: Int32 | slice = EVERY) -> Float64:
        """What each of these flows has sent so far, never more than its size: float64, of their shape."""
        some = self._net.flows[flows]
        sent: Float64 = np.minimum(some["sent"] + some["rate"] * (self.tick - some["since"]), some["size"])
        return sent * self._bytes

    def reroute(self, flows: Int32, links: Int32, parts: Float64 | None = None) -> None:
        """Move ``flows`` (shape (moved,)), active or still to start, to new ``links`` (moved, tiers), of which each
        carries the share in ``parts``, if the engine was made with some."""
        _reroute(flows, *self._find_slots(links, parts), self._net)

    def _find_slots(self, links: Int32, parts: Float64 | None) -> tuple[Int32, Float64]:
        """A row of slots for each of these paths, int32 (flows, slots), the links first; and the part of each, float64
        of that shape, or of no column where each link carries all of a flow."""
        wide = np.full((len(links), 1 << self._shift), NO_LINK, dtype=np.int32)
        wide[:, : links.shape[1]] = links
        share = np.zeros((0, 0) if parts is None else wide.shape)
        if parts is not None:
            share[:, : parts.shape[1]] = parts
        gaps = np.flatnonzero((np.diff(wide >= 0, axis=1).sum(axis=1) > 1) | (wide[:, 0] < 0))
        order = np.argsort(wide[gaps] < 0, axis=1, kind="stable")
        wide[gaps] = np.take_along_axis(wide[gaps], order, axis=1)
        if parts is not None:
            share[gaps] = np.take_along_axis(share[gaps], order, axis=1)
        return wide, share


# --- heaps ---------------------------------------------------------------------------------------------------------


def _make_heap(room: int) -> _Heap:
    return _Heap(np.empty(room, dtype=np.int32), np.empty(room), np.zeros(1, dtype=np.int64))


@inlined
def _put(heap: _Heap, items: Records, item: int, key: float) -> None:
    """Put ``item`` into the heap, or give it another key where it is in there."""
    at = items[item].place
    if at < 0:
        at = heap.size[0]
        heap.size[0] += 1
        _rise(heap, items, at, item, key)
    elif key <= heap.key[at]:
        _rise(heap, items, at, item, key)
    else:
        _sink(heap, items, at, item, key)


@inlined
def _take_out(heap: _Heap, items: Records, item: int) -> None:
    """Take ``item`` out of the heap, if it is in there."""
    at = items[item].place
    if at < 0:
        return
    items[item].place = -1
    heap.size[0] -= 1
    last = heap.size[0]
    if at == last:
        return
    if heap.key[last] <= heap.key[at]:
        _rise(heap, items, at, heap.item[last], heap.key[last])
    else:
        _sink(heap, items, at, heap.item[last], heap.key[last])


@inlined
def _rise(heap: _Heap, items: Records, at: int, item: int, key: float) -> None:
    """Put ``item`` where ``at`` is, or above it."""
    while at > 0:
        above = (at - 1) >> 1
        if heap.key[above] <= key:
            break
        _place(heap, items, at, heap.item[above], heap.key[above])
        at = above
    _place(heap, items, at, item, key)


@inlined
def _sink(heap: _Heap, items: Records, at: int, item: int, key: float) -> None:
    """Put ``item`` where ``at`` is, or below it."""
    while True:
        below = 2 * at + 1
        if below >= heap.size[0]:
            break
        if below + 1 < heap.size[0]:
            below += heap.key[below + 1] < heap.key[below]
        if heap.key[below] >= key:
            break
        _place(heap, items, at, heap.item[below], heap.key[below])
        at = below
    _place(heap, items, at, item, key)


@inlined
def _place(heap: _Heap, items: Records, at: int, item: int, key: float) -> None:
    heap.item[at] = item
    heap.key[at] = key
    items[item].place = at


# --- the level rises --------------------------------------------------------------------------------------------


@inlined
def _look(number: int, level: float, links: Records, touched: _Heap) -> None:
    """Have the link looked at when something may happen to it, at ``level`` or above it, as something has changed.

    What growing flows have if settled ones keep what they have is at most the share of the link, and it is the share
    where no settled flow has more.
    """
    link = links[number]
    at, spare = np.inf, link.capacity - link.load
    exact = False
    if link.wanting > 0.0:
        at = spare / link.wanting
        exact = at >= link.most
    elif spare < -_SAME * link.capacity:
        at = level
    if link.loose:
        at = min(at, link.level)
    links[number].exact = exact
    if at == np.inf:
        _take_out(touched, links, number)
    else:
        at = max(at, level)
        if link.place < 0 or touched.key[link.place] != at:
            _put(touched, links, number, at)


@inlined
def _loosen(number: int, level: float, links: Records, touched: _Heap, counts: Int64) -> None:
    """A flow left the link, or has less: those that it stops may grow, when ``level`` comes to them."""
    link = links[number]
    links[number].exact = False
    if link.stops > 0:
        if not link.loose:
            links[number].loose = True
            counts[_LOOSE] += 1
        at = max(level, link.level)
        if link.place < 0 or touched.key[link.place] > at:
            _put(touched, links, number, at)


@inlined
def _compute_share(number: int, level: float, net: _Net) -> float:
    """The share of a link that is too full, ``level`` at least; infinity for one that is not, and never will be.

    Settled flows that have less than the share do not get it, which leaves more for the others. So the share is
    approached from below, and each step sets free the flows whose rate it has reached.
    """
    links, flows, slots = net.links, net.flows, net.slots
    weighted, lowered_before = net.part.size > 0, -1
    share = level
    while True:
        used, wanting, load, most, lowered = 0.0, 0.0, 0.0, 0.0, 0
        rate_reached = share * (1 + _SAME)
        slot = links[number].head
        while slot >= 0:
            flow = flows[slot >> net.shift]
            part = net.part[slot] if weighted else 1.0
            if flow.phase == _GROWS:
                wanting += part
            else:
                load += part * flow.rate
                most = max(most, flow.rate)
                if flow.rate > rate_reached:
                    wanting += part
                    lowered += 1
                else:
                    used += part * flow.rate
            slot = slots[slot].after
        if lowered_before < 0:
            links[number].load = load
            links[number].most = most
        if wanting == 0.0:
            return np.inf
        share = max(share, (links[number].capacity - used) / wanting)
        if lowered == 0 or lowered == lowered_before:
            return share
        lowered_before = lowered


@inlined
def _grow(flow: int, level: float, net: _Net) -> None:
    """Let a flow grow from ``level`` on."""
    links, weighted, rate = net.links, net.part.size > 0, 0.0
    if net.flows[flow].phase == _SETTLED:
        rate = net.flows[flow].rate
        links[net.flows[flow].bottleneck].stops -= 1
    net.flows[flow].phase = _GROWS
    net.counts[_GROWING] += 1
    begin = flow << net.shift
    for slot in range(begin, begin + (1 << net.shift)):
        link = net.slots[slot].link
        if link < 0:
            break
        part = net.part[slot] if weighted else 1.0
        links[link].load -= part * rate
        links[link].wanting += part
        _look(link, level, links, net.touched)


@inlined
def _stop(now: float, number: int, level: float, full: int, net: _Net) -> None:
    """Settle a flow at ``level``, as the link ``full`` is."""
    flow, links, weighted = net.flows[number], net.links, net.part.size > 0
    grows, before = flow.phase == _GROWS, flow.rate
    if grows:
        net.counts[_GROWING] -= 1
    else:
        links[flow.bottleneck].stops -= 1
    links[full].stops += 1
    net.flows[number].bottleneck = full
    net.flows[number].phase = _SETTLED
    after = before
    if abs(level - before) > _SAME * before:
        after = level
        net.changes[0] += 1
        _reckon(now, number, level, net)
    elif not grows:
        return
    gained = after if grows else after - before
    begin = number << net.shift
    for slot in range(begin, begin + (1 << net.shift)):
        link = net.slots[slot].link
        if link < 0:
            break
        part = net.part[slot] if weighted else 1.0
        links[link].load += part * gained
        if grows:
            links[link].wanting -= part
        links[link].most = max(links[link].most, after)
        if link == full:
            continue
        links[link].exact = False
        if after < before:
            _loosen(link, level, links, net.touched, net.counts)


@inlined
def _reckon(now: float, number: int, rate: float, net: _Net) -> None:
    """Give a flow another rate from ``now`` on, and so another end."""
    flow = net.flows[number]
    sent = flow.sent + flow.rate * (now - flow.since)
    net.total[0] += rate - flow.rate
    net.flows[number].sent = sent
    net.flows[number].since = now
    net.flows[number].rate = rate
    left = flow.size - sent
    if rate > 0 and left < np.inf:
        _put(net.ends, net.flows, number, now + max(0.0, left) / rate)
    else:
        _take_out(net.ends, net.flows, number)


@uncounted
def _forget(links: Records, touched: _Heap) -> None:
    """Keep of the touched links those that are too full: no flow grows, so nothing will happen to the others."""
    touched_links = touched.size[0]
    touched.size[0] = 0
    for i in range(touched_links):
        number, key = touched.item[i], touched.key[i]
        links[number].place = -1
        if links[number].load > links[number].capacity * (1 + _SAME):
            _put(touched, links, number, key)


@uncounted
def _settle(now: float, net: _Net) -> None:
    """Let the level rise until all flows are settled."""
    links, flows, slots, touched, counts = net.links, net.flows, net.slots, net.touched, net.counts
    level = 0.0
    while touched.size[0] > 0:
        if counts[_GROWING] == 0 and counts[_LOOSE] == 0:
            _forget(links, touched)
            if touched.size[0] == 0:
                break
        number, before = touched.item[0], touched.key[0]
        level = max(level, before)
        if not links[number].exact:
            _look(number, level, links, touched)
            if links[number].place < 0 or touched.key[links[number].place] > before:
                continue
        link = links[number]
        if link.loose and link.level <= level:
            links[number].loose = False
            counts[_LOOSE] -= 1
            room = link.capacity - link.load - link.wanting * link.level
            if link.stops > 0 and room > _SAME * link.capacity:
                slot = link.head
                while slot >= 0:
                    flow = slot >> net.shift
                    if flows[flow].phase == _SETTLED and flows[flow].bottleneck == number:
                        _grow(flow, level, net)
                    slot = slots[slot].after
            _look(number, level, links, touched)
            continue
        if not link.exact:
            share = _compute_share(number, level, net)
            links[number].exact = True
            if share > level:
                if link.loose:
                    share = min(share, link.level)
                if share < np.inf:
                    _put(touched, links, number, share)
                else:
                    _take_out(touched, links, number)
                continue
        _take_out(touched, links, number)
        if link.loose:
            links[number].loose = False
            counts[_LOOSE] -= 1
        links[number].level = level
        rate_reached = level * (1 + _SAME)
        slot = link.head
        while slot >= 0:
            flow = slot >> net.shift
            if flows[flow].phase == _GROWS or flows[flow].rate > rate_reached:
                _stop(now, flow, level, number, net)
            slot = slots[slot].after


# --- flows come and go -----------------------------------------------------------------------------------------------


@inlined
def _enter(flow: int, net: _Net) -> None:
    """Put a flow on the links of its path, where it grows."""
    slots, links = net.slots, net.links
    begin = flow << net.shift
    for slot in range(begin, begin + (1 << net.shift)):
        link = slots[slot].link
        if link < 0:
            break
        first = links[link].head
        slots[slot].before = -1
        slots[slot].after = first
        if first >= 0:
            slots[first].before = slot
        links[link].head = slot
    _grow(flow, 0.0, net)


@inlined
def _leave(flow: int, net: _Net) -> None:
    """Take a flow off the links of its path."""
    slots, links, weighted = net.slots, net.links, net.part.size > 0
    grows, rate = net.flows[flow].phase == _GROWS, net.flows[flow].rate
    if grows:
        net.counts[_GROWING] -= 1
    else:
        links[net.flows[flow].bottleneck].stops -= 1
    begin = flow << net.shift
    for slot in range(begin, begin + (1 << net.shift)):
        link = slots[slot].link
        if link < 0:
            break
        before, after = slots[slot].before, slots[slot].after
        if before >= 0:
            slots[before].after = after
        else:
            links[link].head = after
        if after >= 0:
            slots[after].before = before
        part = net.part[slot] if weighted else 1.0
        if links[link].head < 0:  # whatever sums leave
            links[link].load = 0.0
            links[link].wanting = 0.0
            links[link].most = 0.0
        elif grows:
            links[link].wanting -= part
        else:
            links[link].load -= part * rate
        _loosen(link, 0.0, links, net.touched, net.counts)


@inlined
def _start(now: float, flow: int, net: _Net, turns: _Turns) -> None:
    net.flows[flow].began = now
    net.flows[flow].since = now
    if net.flows[flow].size == 0 or net.slots[flow << net.shift].link < 0:
        net.flows[flow].sent = net.flows[flow].size
        net.flows[flow].phase = _ENDED
        _release_followers(now, flow, net, turns)
        return
    active = net.counts[_ACTIVE]
    turns.active[active] = flow
    net.flows[flow].listed = active
    net.counts[_ACTIVE] += 1
    _enter(flow, net)


@inlined
def _end(now: float, flow: int, net: _Net, turns: _Turns) -> None:
    _leave(flow, net)
    _reckon(now, flow, 0.0, net)
    net.flows[flow].sent = net.flows[flow].size
    net.flows[flow].phase = _ENDED
    net.counts[_ACTIVE] -= 1
    last, place = turns.active[net.counts[_ACTIVE]], net.flows[flow].listed
    turns.active[place] = last
    net.flows[last].listed = place
    if net.counts[_ACTIVE] == 0:
        net.total[0] = 0.0  # whatever sums leave
    _release_followers(now, flow, net, turns)


@inlined
def _release_followers(now: float, flow: int, net: _Net, turns: _Turns) -> None:
    """Line up those that waited for this flow alone by now."""
    for edge in range(turns.first[flow], turns.first[flow + 1]):
        other = turns.follower[edge]
        turns.missing[other] -= 1
        if turns.missing[other] == 0:
            _put(turns.freed, net.flows, other, now + turns.delay[other])


@uncounted
def _start_due(now: float, net: _Net, turns: _Turns) -> None:
    while net.counts[_ARRIVED] < turns.known and turns.due[net.counts[_ARRIVED]] <= now:
        net.counts[_ARRIVED] += 1
        _start(now, turns.queue[net.counts[_ARRIVED] - 1], net, turns)
    while turns.freed.size[0] > 0 and turns.freed.key[0] <= now:
        flow = turns.freed.item[0]
        _take_out(turns.freed, net.flows, flow)
        _start(now, flow, net, turns)


@uncounted
def _end_due(now: float, net: _Net, turns: _Turns) -> None:
    """End those that have sent all, but for what rounding leaves of it: who should end together does."""
    while net.ends.size[0] > 0:
        flow = net.flows[net.ends.item[0]]
        if (net.ends.key[0] - now) * flow.rate > ROUNDING * flow.size:
            break
        _end(now, net.ends.item[0], net, turns)


@uncounted
def _advance(first: float, totals: Float64, net: _Net, turns: _Turns) -> None:
    """From one start or end of a flow to the next."""
    now, end = first, first + totals.size
    net.total[0] = 0.0  # so that what sums leave does not grow
    for i in range(net.counts[_ACTIVE]):
        net.total[0] += net.flows[turns.active[i]].rate
    while now < end:
        _start_due(now, net, turns)
        _settle(now, net)
        until = end
        if net.counts[_ARRIVED] < turns.known:
            until = min(until, turns.due[net.counts[_ARRIVED]])
        if turns.freed.size[0] > 0:
            until = min(until, turns.freed.key[0])
        if net.ends.size[0] > 0:
            until = min(until, net.ends.key[0])
        _add(totals, now - first, until - first, net.total[0])
        now = until
        _end_due(now, net, turns)


@uncounted
def _add(totals: Float64, begin: float, end: float, rate: float) -> None:
    """Add to the mean of each tick, float64 (ticks,), a rate from ``begin`` to ``end``, in ticks."""
    tick, last = int(begin), int(end)
    if tick == last:
        totals[tick] += rate * (end - begin) if end > begin else 0.0
        return
    totals[tick] += rate * (tick + 1 - begin)
    for whole in range(tick + 1, last):
        totals[whole] = rate
    if end > last:
        totals[last] = rate * (end - last)


@uncounted
def _reroute(flows: Int32, links: Int32, parts: Float64, net: _Net) -> None:
    """All of them leave their old links first."""
    for flow in flows:
        if net.flows[flow].phase == _SETTLED or net.flows[flow].phase == _GROWS:
            _leave(flow, net)
            net.flows[flow].phase = _MOVES
    for i in range(flows.size):
        begin = flows[i] << net.shift
        for tier in range(1 << net.shift):
            net.slots[begin + tier].link = links[i, tier]
            if net.part.size > 0:
                net.part[begin + tier] = parts[i, tier]
        if net.flows[flows[i]].phase == _MOVES:
            _enter(flows[i], net)
