"""Each new flow takes the path whose fullest link has been given the fewest flows so far, among those that work."""

import numpy as np

from topos.links import NO_LINK, num_links, path_links


class FewestFlows:
    def __init__(self, tree, rng, options):
        self.tree = tree
        self.given = np.zeros(num_links(tree), dtype=int)

    def route(self, flow, links):
        choices = np.array(self.tree.path_cores(flow.src, flow.dst))
        ends = np.full(choices.size, flow.src), np.full(choices.size, flow.dst)
        paths = path_links(self.tree, *ends, choices)[:, 1:-1]  # without the hosts' own links
        most_given = np.where(paths == NO_LINK, 0, self.given[paths]).max(axis=1)
        best = np.where(links.usable(*ends, choices), most_given, np.inf).argmin()
        self.given[paths[best][paths[best] != NO_LINK]] += 1
        return choices[best]
