"""CONGA (Alizadeh et al., SIGCOMM '14) by flows: a flow goes where the fullest link of its path is least loaded.

Loads are the flows' measured rates; a new flow counts as a whole link until it is measured. CONGA moves a flow when it
pauses; here a round moves it where that takes a quarter of a link from its fullest one."""

import numpy as np

from topos.links import NO_LINK, num_links, path_links

GAIN = 0.25


class Conga:
    def __init__(self, tree, rng, options):
        self.tree, self.rng = tree, rng
        self.load = np.zeros(num_links(tree) + 1)  # the last one stands for NO_LINK

    def route(self, flow, links):
        choices, paths = self.paths(flow.src, flow.dst, links)
        if not choices.size:
            return 0
        best = self.fullest(paths).argmin()
        self.add(paths[best], 1.0)
        return choices[best]

    def place(self, flows, links):
        core, self.load[:] = flows.core.copy(), 0.0
        on = path_links(self.tree, flows.src, flows.dst, core)[:, 1:-1]
        for path, rate in zip(on, flows.rate, strict=True):
            self.add(path, rate)
        for flow in self.rng.permutation(core.size):
            choices, paths = self.paths(flows.src[flow], flows.dst[flow], links)
            if choices.size:
                now = self.fullest(on[flow])
                self.add(on[flow], -flows.rate[flow])
                then = self.fullest(paths) + flows.rate[flow]
                best = then.argmin()
                if then[best] < now - GAIN:
                    on[flow], core[flow] = paths[best], choices[best]
                self.add(on[flow], flows.rate[flow])
        return core

    def paths(self, src, dst, links):
        """The paths between two hosts that work, in an order that is drawn, and their links between switches."""
        choices = self.rng.permutation(self.tree.path_cores(int(src), int(dst)))
        ends = np.full(choices.size, src), np.full(choices.size, dst)
        choices = choices[links.usable(*ends, choices)]
        return choices, path_links(self.tree, *(end[: choices.size] for end in ends), choices)[:, 1:-1]

    def fullest(self, paths):
        return np.where(paths == NO_LINK, 0.0, self.load[paths]).max(axis=-1)

    def add(self, path, rate):
        self.load[path[path != NO_LINK]] += rate
