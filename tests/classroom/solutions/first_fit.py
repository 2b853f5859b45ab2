"""Figure 5, as a student might write it."""

import numpy as np

from topos.links import NO_LINK, num_links, path_links


class FirstFit:
    def __init__(self, tree, rng, options):
        self.tree = tree
        self.path_of = {}

    def place(self, flows, links):
        self.path_of = {key: self.path_of[key] for key in flows.key.tolist() if key in self.path_of}
        used = np.zeros(num_links(self.tree))
        core = flows.hashed.copy()
        for n, key in enumerate(flows.key.tolist()):
            if key in self.path_of and links.usable(*self.ends(flows, n), [self.path_of[key]])[0]:
                core[n] = self.path_of[key]
                used[self.between_switches(flows, n, core[n])] += flows.demand[n]
            else:
                self.path_of.pop(key, None)
        for n, key in enumerate(flows.key.tolist()):
            if key in self.path_of:
                continue
            for choice in self.tree.path_cores(int(flows.src[n]), int(flows.dst[n])):
                path = self.between_switches(flows, n, choice)
                if (used[path] + flows.demand[n] <= 1.0).all() and links.up[path].all():
                    used[path] += flows.demand[n]
                    core[n] = self.path_of[key] = choice
                    break
        return core

    def ends(self, flows, n):
        return [flows.src[n]], [flows.dst[n]]

    def between_switches(self, flows, n, core):
        path = path_links(self.tree, *self.ends(flows, n), [core])[0, 1:5]
        return path[path != NO_LINK]
