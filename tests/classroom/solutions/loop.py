"""The loop of sections 3 and 4, as a student might write it."""

import numpy as np

from hedera.placement import LargeFlows


class Loop:
    def __init__(self, tree, placement, estimate_demands, link_mbps):
        self.tree, self.placement, self.estimate_demands = tree, placement, estimate_demands
        self.link_mbps = link_mbps
        self.last = {}

    def round(self, counters, links):
        rate = np.zeros(counters.key.size)
        now = {}
        for n, key in enumerate(counters.key.tolist()):
            count, age = int(counters.bytes[n]), float(counters.duration_s[n])
            count_then, age_then = self.last.get(key, (0, 0.0))
            if count < count_then or age < age_then:
                count_then, age_then = 0, 0.0
            if age > age_then:
                rate[n] = 8 * (count - count_then) / (age - age_then) / (self.link_mbps * 1e6)
            now[key] = count, age
        self.last = now
        large = np.flatnonzero(rate > 0.1)
        demand = self.estimate_demands(counters.src[large], counters.dst[large], self.tree.num_hosts)
        flows = LargeFlows(
            counters.key[large],
            counters.src[large],
            counters.dst[large],
            np.asarray(demand, dtype=float),
            counters.core[large],
            counters.hashed[large],
        )
        core = self.placement.place(flows, links)
        moved = np.flatnonzero(core != flows.core)
        return {int(flows.key[n]): int(core[n]) for n in moved}
