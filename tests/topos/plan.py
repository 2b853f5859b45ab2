"""The fat-tree of 16 hosts as a plan."""

from topos.fattree import FatTree
from topos.network import PlannedNetwork

TREE = FatTree(4)


class TreePlan:
    hosts = 16

    def links(self):
        for link in TREE.links():
            yield (TREE.hosts.index(link.lower) if link.lower in TREE.hosts else link.lower), link.upper

    def paths(self, src, dst):
        return [TREE.path(src, dst, core)[1:-1] for core in TREE.path_cores(src, dst)]


SAME = PlannedNetwork("tree", TreePlan)
