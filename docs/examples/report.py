"""Global First Fit as the replication report's code had it, and with either of its two faults mended.

Every entry counts as a flow: a flow's acknowledgements, and for 10 s, until its entry expires, the connection (both
ways) by which a sender had asked whether its receiver listens. Each round reserves for all of them once more, and only
the last reservation of one is released, when its entry has expired. Where that is mended a flow has one reservation,
and stays on its path while that has room.
"""

import numpy as np

from hedera.demand import estimate_demands
from topos.links import NO_LINK, num_links, path_links

ROUNDS = 5  # of 2 s, in which such a connection's entry is there


class BothFaults:
    every_entry, anew = True, True

    def __init__(self, tree, rng, options):
        self.tree, self.rng, self.round = tree, rng, 0
        self.load, self.held = np.zeros(num_links(tree)), {}

    def place(self, flows, links):
        self.round += 1
        ways = (4 if self.round <= ROUNDS else 2) if self.every_entry else 1
        src = np.concatenate([flows.src, flows.dst] * ways)[: ways * flows.key.size]
        dst = np.concatenate([flows.dst, flows.src] * ways)[: ways * flows.key.size]
        entries = [(way, key) for way in range(ways) for key in flows.key.tolist()]
        for ended in self.held.keys() - set(entries):
            demand, path = self.held.pop(ended)
            self.load[path] -= demand
        core, demands = flows.core.copy(), estimate_demands(src, dst, self.tree.num_hosts)
        for flow in np.lexsort((self.rng.random(dst.size), dst)):  # as edge switches answer, port by port
            choices = list(self.tree.path_cores(int(src[flow]), int(dst[flow])))
            if not self.anew and (before := self.held.pop(entries[flow], None)) is not None:
                demand, path = before
                self.load[path] -= demand
                if flow < core.size:  # where it is, if it fits there
                    choices.sort(key=lambda choice: choice != core[flow])
            for choice in choices:
                (path,) = path_links(self.tree, [src[flow]], [dst[flow]], [choice])
                path = path[path != NO_LINK]
                if demands[flow] > 0.1 and (self.load[path] + demands[flow] <= 1 + 1e-9).all():
                    self.load[path] += demands[flow]
                    self.held[entries[flow]] = demands[flow], path
                    if flow < core.size:
                        core[flow] = choice
                    break
        return core


class EveryEntry(BothFaults):
    anew = False


class ReservedAnew(BothFaults):
    every_entry = False


class Mended(BothFaults):
    every_entry, anew = False, False
