"""Each large flow takes a path by chance in every round: all that a scheduler needs, and no idea yet."""

import numpy as np


class RandomPaths:
    def __init__(self, tree, rng, options):
        self.tree, self.rng = tree, rng

    def place(self, flows, links):
        core = flows.core.copy()
        for flow in range(core.size):
            src, dst = flows.src[flow], flows.dst[flow]
            choices = np.array(self.tree.path_cores(int(src), int(dst)))
            ends = np.full(choices.size, src), np.full(choices.size, dst)
            choices = choices[links.usable(*ends, choices)]
            if choices.size:  # else every path is broken, and the flow stays where it is
                core[flow] = self.rng.choice(choices)
        return core
