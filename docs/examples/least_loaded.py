"""Each large flow, the largest first, goes where the fullest link of its path is least loaded."""

import numpy as np

from topos.links import NO_LINK, num_links, path_links


class LeastLoaded:
    def __init__(self, tree, rng, options):
        self.tree = tree

    def place(self, flows, links):
        load = np.zeros(num_links(self.tree))
        core = flows.core.copy()
        for flow in np.argsort(-flows.demand, kind="stable"):
            src, dst = flows.src[flow], flows.dst[flow]
            choices = np.array(self.tree.path_cores(int(src), int(dst)))
            ends = np.full(choices.size, src), np.full(choices.size, dst)
            choices = choices[links.usable(*ends, choices)]
            if not choices.size:
                continue  # every path is broken: the flow stays where it is
            paths = path_links(self.tree, ends[0][: choices.size], ends[1][: choices.size], choices)
            fullest = np.where(paths == NO_LINK, 0.0, load[paths]).max(axis=1)
            best = fullest.argmin()
            core[flow] = choices[best]
            load[paths[best][paths[best] != NO_LINK]] += flows.demand[flow]
        return core
