"""Max-min fair rates of flows that come and go, all of them filled anew at every event: the plain way, to hold
`simulator.maxmin` against."""

from heapq import heappop, heappush

import numpy as np

from hedera.maxmin import compute_max_min_rates
from simulator.maxmin import ROUNDING
from simulator.starts import find_starts


class Filling:
    """The rates of flows as `simulator.maxmin.MaxMinEngine` says them; time in seconds.

    ``links`` and ``parts`` of shape (flows, tiers), ``capacity`` (links,) in Mb/s.
    """

    def __init__(self, work, links, capacity, *, graph=None, parts=None):
        self.links, self.capacity = links.copy(), capacity
        self.parts = np.ones(links.shape) if parts is None else parts.copy()
        self.starts = find_starts(work, graph)
        self.size, self.sent, self.rate = work.size_bytes, np.zeros(len(work)), np.zeros(len(work))
        self.began, self.finished = np.full((2, len(work)), np.nan)
        self.now, self.arrived, self.freed, self.active = 0.0, 0, [], []

    def run(self, until):
        """Go on to the time ``until``: ends that are due at it happen, starts do not."""
        while self.now < until:
            self._start_due()
            active = np.array(self.active, dtype=int)
            self.rate[:] = 0.0
            self.rate[active] = compute_max_min_rates(self.links[active], self.capacity, self.parts[active], calls=1)
            pace = self.rate[active] * 1e6 / 8
            left = self.size[active] - self.sent[active]
            ends = pace > 0
            due = [until]
            due += [self.freed[0][0]] if self.freed else []
            due += [self.starts.due_s[self.arrived]] if self.arrived < self.starts.known else []
            next_s, lasts = min(due), min(due) - self.now
            if ends.any() and (first := (left[ends] / pace[ends]).min()) < lasts:
                next_s, lasts = self.now + first, first
            self.now = next_s
            self.sent[active] += pace * lasts
            for flow in active[self.sent[active] >= self.size[active] * (1 - ROUNDING)].tolist():
                self.active.remove(flow)
                self._end(flow)

    def _start_due(self):
        while True:
            if self.arrived < self.starts.known and self.starts.due_s[self.arrived] <= self.now:
                flow = int(self.starts.queue[self.arrived])
                self.arrived += 1
            elif self.freed and self.freed[0][0] <= self.now:
                flow = heappop(self.freed)[1]
            else:
                return
            self.began[flow] = self.now
            if self.size[flow] > 0:
                self.active.append(flow)
            else:
                self._end(flow)

    def _end(self, flow):
        self.sent[flow], self.finished[flow] = self.size[flow], self.now
        self.rate[flow] = 0.0
        for other in self.starts.follower[self.starts.first[flow] : self.starts.first[flow + 1]].tolist():
            self.starts.missing[other] -= 1
            if not self.starts.missing[other]:
                heappush(self.freed, (self.now + self.starts.delay_s[other], other))
