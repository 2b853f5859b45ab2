"""How fast flows send: the paper's flow-level model of TCP (section 5.5), tick by tick.

`AimdEngine` is TCP's slow start and AIMD without packets. Each tick visits the active flows in a fresh random order.
A flow whose path has no spare capacity halves its rate and leaves slow start; any other doubles its rate in slow
start, or adds a constant in congestion avoidance, but takes no more than its path can spare. What a flow frees or
takes counts at once for the flows after it. Then due flows start, every flow sends for the length of the tick, and
finished flows are purged. Rates are integers, so "no spare capacity" is exact and no sum drifts: the unit is a
billionth of the fastest link's rate (1 bit/s at 1 Gb/s). Halving an odd rate rounds down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedera.compiled import compiled, draw_below, draw_bits
from simulator.starts import EVERY, find_starts
from topos.arrays import Float64, Int32, Int64
from traffic.flows import Flows
from traffic.graph import FlowGraph

LINK = 1_000_000_000
"""The rate of the fastest link, in the unit of AIMD."""
NOT_YET = -1
"""The tick in which a flow has started, if it has not."""
_ACTIVE, _ARRIVED, _FREED, _QUEUED = 0, 1, 2, 3  # counts of flows
_RATE, _SLOW_START = 6, 7  # columns after the six links in a flow's row: one flow is half a cache line
_FURTHER = 8  # the first column of the links that paths of a fat-tree do not have
_ENDLESS = np.int64(2**62)
_PLENTY = np.int32(2**30)  # spare capacity of the link that stands for a tier the path does not reach


def count_ticks_until(seconds: Float64, tick_s: float) -> Int64:
    """The first tick that begins at these times or after them; int64, of their shape.

    0.057 s are 57 ticks of 1 ms, though in floating point their ratio is a little more: some last digits are forgiven.
    """
    ticks = seconds / tick_s
    return np.ceil(ticks - 4 * np.spacing(ticks)).astype(np.int64)


# --- AIMD ----------------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """What the compiled loop works on: arrays (flows,), but for ``row`` (flows, 8) and ``spare`` (links + 1,).

    The first ``counts[_ACTIVE]`` of ``order`` are active. Of ``queue`` the first ``known`` flows have a start of their
    own, of which ``counts[_ARRIVED]`` have started; those behind them, up to ``counts[_QUEUED]``, wait for nobody any
    more, and have started up to ``counts[_FREED]``. Both parts are in the order in which they are ``due``.
    ``edges``, ``follower``, ``missing`` and ``delay`` are those of `Starts`. ``random``: the seed, and how many draws
    there have been. ``flat``: all paths have two links.
    """

    order: Int32
    queue: Int32
    due: Int64
    counts: Int64
    row: Int32
    left: Int64
    edges: Int64
    follower: Int32
    missing: Int32
    delay: Int64
    started: Int64
    finished: Int64
    leaving: Int32
    spare: Int32
    random: NDArray[np.uint64]
    known: int
    increase: int
    flat: bool


class AimdEngine:
    """The rates of a workload's flows under the paper's tick rules, in ticks of which ``tick`` have passed.

    ``links``: int32 (flows, tiers), the directed links of each flow's path, -1 where there is none. ``shares``,
    float64 (links,), are the rates of these links, as shares of ``link_mbps``. A flow starts at ``increase_mbps``
    and, in congestion avoidance, grows by as much per tick of ``tick_s`` seconds. ``seed`` fixes the
    order of flows. ``began_s`` float64 (flows,): the start of the tick in which each has started; nan before.

    A flow that starts takes at most what its path can spare; one that finds nothing starts at 0 in congestion
    avoidance, like a flow whose first update met a full path. So no link ever carries more than its rate.
    ``graph``: for whom the first flows wait; those of size 0 end as they start, and use no link.
    """

    def __init__(
        self,
        work: Flows,
        links: Int32,
        shares: Float64,
        *,
        tick_s: float,
        seed: int,
        link_mbps: float = 1000.0,
        increase_mbps: float = 120.0,
        graph: FlowGraph | None = None,
    ) -> None:
        link = int(LINK / max(1.0, shares.max()))  # link_mbps in our unit
        self.increase = round(increase_mbps / link_mbps * link)
        self.tick, self.tick_s = 0, tick_s
        self._mbps = link_mbps / link
        self._bytes = link_mbps * 1e6 / 8 * tick_s / link  # one unit of rate, for one tick
        self._unused = shares.size  # stands for the tiers that a path does not reach
        flows = len(work)
        further = max(0, links.shape[1] - _RATE)
        self._row = np.zeros((flows, _FURTHER + further), dtype=np.int32)
        self._row[:, :_RATE] = self._unused
        self._row[:, : min(_RATE, links.shape[1])] = self._replace_missing(links[:, :_RATE])
        self._row[:, _FURTHER:] = self._replace_missing(links[:, _RATE:])
        self._row[:, _SLOW_START] = 1
        self._spare = np.append(np.rint(shares * link), _PLENTY).astype(np.int32)
        size = np.minimum(np.ceil(work.size_bytes / self._bytes), float(_ENDLESS))
        self._size = size.astype(np.int64)
        self._left = self._size.copy()
        queue, due_s, known, edges, follower, missing, delay_s = find_starts(work, graph)
        due, delay = count_ticks_until(due_s, tick_s), count_ticks_until(delay_s, tick_s)
        self._count = np.array([0, 0, known, known], dtype=np.int64)
        self._started, self._finished = np.full((2, flows), NOT_YET, dtype=np.int64)
        self._order, leaving = np.empty((2, flows), dtype=np.int32)
        self._state = _State(
            self._order, queue, due, self._count, self._row, self._left, edges, follower, missing, delay,
            self._started, self._finished, leaving, self._spare, np.array([seed, 0], dtype=np.uint64),
            known, self.increase, links.shape[1] == 2 and bool((links >= 0).all()),
        )  # fmt: skip

    def advance(self, ticks: int) -> Float64:
        """Run ``ticks`` ticks; returns the sum of all rates in each, Mb/s, float64 (ticks,)."""
        totals = np.empty(ticks)
        _advance(self.tick, totals, self._state)
        self.tick += ticks
        return totals * self._mbps

    @property
    def active(self) -> Int32:
        """The flows that have started and not finished, in ascending order: int32 (active,)."""
        return np.sort(self._order[: self._count[_ACTIVE]])

    @property
    def idle(self) -> bool:
        """Whether no flow is active and none will start."""
        active, arrived, freed, queued = self._count
        return bool(active == 0 and arrived == self._state.known and freed == queued)

    @property
    def began_s(self) -> Float64:
        return np.where(self._started == NOT_YET, np.nan, self._started * self.tick_s)

    @property
    def rates_mbps(self) -> Float64:
        """Every flow's rate in the last tick, 0 when it is not active: float64 (flows,)."""
        rates = np.zeros(len(self._row))
        active = self.active
        rates[active] = self._row[active, _RATE] * self._mbps
        return rates

    def sent_bytes(self, flows: Int32 | slice = EVERY) -> Float64:
        """What each of these flows has sent so far, never more than its size: float64, of their shape."""
        sent: Float64 = (self._size[flows] - np.maximum(self._left[flows], 0)) * self._bytes
        return sent

    @property
    def finished_s(self) -> Float64:
        """When every flow sent its last bit, nan for those that have not; float64 (flows,).

        The rate of the last tick tells how far into the tick that was.
        """
        rate = np.maximum(self._row[:, _RATE], 1)
        sent = np.where(self._finished >= 0, self._finished + 1 + self._left / rate, np.nan)
        computed = np.where(self._started >= 0, self._started, np.nan)
        return np.where(self._size == 0, computed, sent) * self.tick_s

    def reroute(self, flows: Int32, links: Int32) -> None:
        """Move ``flows`` (shape (moved,)), active or still to start, to new ``links`` (moved, tiers).

        All of them leave their old links first; then, one after the other, each takes its old rate on its new
        path, or what that path can spare when it is less. Slow start or congestion avoidance goes on.
        """
        _reroute(flows, self._replace_missing(links).astype(np.int32), self._row, self._spare)

    def _replace_missing(self, links: Int32) -> Int32:
        """Links with the stand-in instead of -1."""
        return np.where(links < 0, self._unused, links).astype(np.int32)


@compiled
def _take(f: int, wanted: int, row: Int32, spare: Int32) -> int:
    """Give flow f ``wanted``, or what its path can spare when that is less; returns what it got."""
    room = wanted
    for tier in range(_RATE):
        room = min(room, spare[row[f, tier]])
    for tier in range(_FURTHER, row.shape[1]):
        room = min(room, spare[row[f, tier]])
    _move(f, room, row, spare)
    return room


@compiled
def _move(f: int, change: int, row: Int32, spare: Int32) -> None:
    """Change flow f's rate, and with it the spare capacity of its links."""
    row[f, _RATE] += change
    for tier in range(_RATE):
        spare[row[f, tier]] -= change
    for tier in range(_FURTHER, row.shape[1]):
        spare[row[f, tier]] -= change
    spare[-1] = _PLENTY


@compiled
def _reroute(flows: Int32, links: Int32, row: Int32, spare: Int32) -> None:
    wanted = row[flows, _RATE].copy()
    for f in flows:
        _move(f, -row[f, _RATE], row, spare)
    for i in range(flows.size):
        for tier in range(links.shape[1]):
            row[flows[i], tier if tier < _RATE else tier - _RATE + _FURTHER] = links[i, tier]
        _take(flows[i], wanted[i], row, spare)


@compiled
def _advance(first: int, totals: Float64, state: _State) -> None:
    """Run ``totals.size`` ticks from ``first`` on.

    The shuffle (Fisher-Yates from the front) and the update are one loop: a flow is updated when it is drawn, and its
    place in ``order`` is then final. Indices are unsigned where they are data:
    for signed ones Numba asks each time whether they count from the end, which takes as long as all the rest.
    """
    order, row, left, spare, count, flat = state.order, state.row, state.left, state.spare, state.counts, state.flat
    queue, due, leaving, known, increase = state.queue, state.due, state.leaving, state.known, state.increase
    seed, draws = state.random[0], state.random[1]
    active, arrived, freed, queued = count[_ACTIVE], count[_ARRIVED], count[_FREED], count[_QUEUED]
    nowhere, width = spare.size - 1, row.shape[1]
    total = np.int64(0)
    for i in range(active):
        total += row[order[i], _RATE]
    for tick in range(totals.size):
        now = first + tick
        done = 0
        for i in range(active):
            draws += np.uint64(1)
            j = np.uint64(i + draw_below(active - i, draw_bits(seed, draws)))  # one of the flows not yet updated
            order[i], order[j] = order[j], order[i]
            f = np.uint64(order[i])
            a, b, c = np.uint64(row[f, 0]), np.uint64(row[f, 1]), np.uint64(row[f, 2])
            d, e, g = np.uint64(row[f, 3]), np.uint64(row[f, 4]), np.uint64(row[f, 5])
            room = min(spare[a], spare[b])
            if not flat:
                room = min(room, min(min(spare[c], spare[d]), min(spare[e], spare[g])))
                for tier in range(_FURTHER, width):
                    room = min(room, spare[np.uint64(row[f, tier])])
            rate = row[f, _RATE]
            slow_start = row[f, _SLOW_START]
            # Section 5.5: a rate doubles in slow start, else it grows by a fixed step, and never beyond what the path
            # can spare.
            gain = min(rate if slow_start != 0 else increase, room)
            # Selected, not branched on: which of the two it is, no branch predictor can know.
            change = gain if room > 0 else -((rate + 1) >> 1)
            row[f, _SLOW_START] = slow_start if room > 0 else 0
            rate += change
            row[f, _RATE] = rate
            spare[a] -= change
            spare[b] -= change
            if not flat:
                spare[c] -= change
                spare[d] -= change
                spare[e] -= change
                spare[g] -= change
                for tier in range(_FURTHER, width):
                    spare[np.uint64(row[f, tier])] -= change
                spare[nowhere] = _PLENTY
            total += change
            left[f] -= rate
            if left[f] <= 0:
                leaving[done] = i
                done += 1

        while True:
            if arrived < known and due[arrived] <= now:
                f = queue[arrived]
                arrived += 1
            elif freed < queued and due[freed] <= now:
                f = queue[freed]
                freed += 1
            else:
                break
            state.started[f] = now
            if left[f] == 0:
                queued = _release_followers(f, now, state, freed, queued)
                continue
            got = _take(f, increase, row, spare)
            if got == 0:
                row[f, _SLOW_START] = 0
            total += got
            left[f] -= got
            if left[f] <= 0:
                leaving[done] = active
                done += 1
            order[active] = f
            active += 1
        totals[tick] = total

        # From the back, because the last active flow takes the place of one that leaves: it must not be one that is
        # still to leave.
        for n in range(done - 1, -1, -1):
            i = leaving[n]
            f = order[i]
            rate = row[f, _RATE]
            total -= rate
            _move(f, -rate, row, spare)
            row[f, _RATE] = rate  # kept for the time of the last bit; the links no longer carry it
            state.finished[f] = now
            active -= 1
            order[i] = order[active]
            queued = _release_followers(f, now + 1, state, freed, queued)
    state.random[1] = draws
    count[_ACTIVE], count[_ARRIVED], count[_FREED], count[_QUEUED] = active, arrived, freed, queued


@compiled
def _release_followers(f: int, tick: int, state: _State, freed: int, queued: int) -> int:
    """Line up those that waited for flow f alone by now, as it has ended at ``tick``; returns the queue's new end."""
    queue, due = state.queue, state.due
    for e in range(state.edges[f], state.edges[f + 1]):
        g = state.follower[e]
        state.missing[g] -= 1
        if state.missing[g] == 0:
            place, when = queued, tick + state.delay[g]
            while place > freed and due[place - 1] > when:
                queue[place], due[place] = queue[place - 1], due[place - 1]
                place -= 1
            queue[place], due[place] = g, when
            queued += 1
    return queued
