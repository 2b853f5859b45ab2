"""The idealised engine: every flow always has its max-min fair rate on its path. No TCP, no noise, no chance.

It answers what the paths alone allow, and so explains what `simulator.aimd` shows on top of it.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

import numpy as np

from hedera.maxmin import max_min_rates
from simulator.workload import start_queue, waits
from topos.arrays import Float64, Int32
from traffic.flows import Flows
from traffic.graph import FlowGraph


class MaxMinEngine:
    """The rates of a workload's flows by progressive filling; its methods are those of `simulator.aimd.AimdEngine`.

    So are its arguments; ``rates`` says the rates of the flows under way, Mb/s (active,), instead of their links.
    Flows start and end on ticks; rates are computed anew only after a tick in which a flow started, ended or moved.
    """

    def __init__(
        self,
        work: Flows,
        links: Int32,
        num_links: int,
        *,
        tick_s: float,
        link_mbps: float = 1000.0,
        closed: int | None = None,
        graph: FlowGraph | None = None,
        rates: Callable[[Int32], Float64] | None = None,
        shares: Float64 | None = None,
    ) -> None:
        flows = len(work)
        self.tick, self.tick_s = 0, tick_s
        self._rates = rates or (lambda active: max_min_rates(self._links[active], self._capacity))
        self._links = links.astype(np.int32)
        self._capacity = np.full(num_links, link_mbps)
        if shares is not None:
            self._capacity[: shares.size] *= shares
        if closed is not None:
            self._capacity[closed] = 0.0
        self._bytes = 1e6 / 8 * tick_s  # 1 Mb/s, for one tick
        self._size = work.size_bytes
        self._sent = np.zeros(flows)
        self._rate = np.zeros(flows)
        self._waits = waits(work, graph, tick_s)
        self._missing = self._waits.missing.copy()
        self._freed: list[tuple[int, int, int]] = []  # a heap: when due, the how-manieth, which flow
        self._ever_freed = 0
        self._queue, self._due, self._queued = start_queue(work, tick_s)
        self._arrived = 0
        self._active = np.empty(0, dtype=np.int32)
        self._started = np.full(flows, np.nan)
        self._finished = np.full(flows, np.nan)
        self._stale = True

    def advance(self, ticks: int) -> Float64:
        totals = np.empty(ticks)
        first, end = self.tick, self.tick + ticks
        while self.tick < end:
            self._start_due()
            if self._stale:
                self._rate[self._active] = self._rates(self._active)
                self._stale = False
            rate = self._rate[self._active] * self._bytes
            left = self._size[self._active] - self._sent[self._active]
            until = end
            if self._arrived < self._queued:
                until = min(until, int(self._due[self._arrived]))
            if self._freed:
                until = min(until, self._freed[0][0])
            ends = np.isfinite(left) & (rate > 0)
            if ends.any():
                until = int(min(until, self.tick + max(1.0, np.ceil((left[ends] / rate[ends]).min()))))
            totals[self.tick - first : until - first] = self._rate[self._active].sum()
            self._sent[self._active] += rate * (until - self.tick)
            self.tick = until
            self._purge()
        return totals

    def _start_due(self) -> None:
        waiting = self._due[self._arrived : self._queued]
        count = int(np.searchsorted(waiting, self.tick, side="right"))
        new = self._begin(self._queue[self._arrived : self._arrived + count])
        self._arrived += count
        while self._freed and self._freed[0][0] <= self.tick:
            due = []
            while self._freed and self._freed[0][0] <= self.tick:
                due.append(heappop(self._freed)[2])
            new = np.concatenate([new, self._begin(np.array(due, dtype=np.int32))])
        if new.size:
            self._active = np.concatenate([self._active, new])
            self._stale = True

    def _begin(self, flows: Int32) -> Int32:
        """Start these flows; returns those that have something to send. The others have ended thereby."""
        self._started[flows] = self.tick * self.tick_s
        sends = self._size[flows] > 0
        if sends.all():
            return flows
        computing = flows[~sends]
        self._finished[computing] = self._started[computing]
        self._free(computing)
        return flows[sends]

    def _free(self, ended: Int32) -> None:
        edges, follower, _, delay = self._waits
        for f in ended.tolist():
            for g in follower[edges[f] : edges[f + 1]].tolist():
                self._missing[g] -= 1
                if self._missing[g] == 0:
                    heappush(self._freed, (self.tick + int(delay[g]), self._ever_freed, g))
                    self._ever_freed += 1

    def _purge(self) -> None:
        over = self._sent[self._active] >= self._size[self._active]
        if over.any():
            done = self._active[over]
            excess = 8 * (self._sent[done] - self._size[done]) / self._rate[done] / 1e6
            self._finished[done] = self.tick * self.tick_s - excess
            self._sent[done] = self._size[done]
            self._rate[done] = 0.0
            self._active = self._active[~over]
            self._free(done)
            self._stale = True

    @property
    def active(self) -> Int32:
        return np.sort(self._active)

    @property
    def idle(self) -> bool:
        return self._active.size == 0 and self._arrived == self._queued and not self._freed

    @property
    def rates_mbps(self) -> Float64:
        return np.array(self._rate)

    @property
    def sent_bytes(self) -> Float64:
        return np.array(self._sent)

    @property
    def started_s(self) -> Float64:
        return np.array(self._started)

    @property
    def finished_s(self) -> Float64:
        return np.array(self._finished)

    def reroute(self, flows: Int32, links: Int32) -> None:
        self._links[flows] = links
        self._stale = True
