"""What the entries in the switches' tables say about the paths of flows, for a controller that has just started."""

from __future__ import annotations

from controllers.driver import FlowStat
from controllers.packet import FiveTuple
from controllers.rules import out_port
from topos.fattree import FatTree


class FoundEntries:
    """The entries of aggregation switches that have been found, and what they make of those of edge switches."""

    def __init__(self, tree: FatTree):
        self._tree = tree
        self._ports: dict[tuple[str, FiveTuple], int] = {}

    def note(self, aggregation: str, stat: FlowStat) -> int | None:
        """Keep an entry of an aggregation switch on a flow's way up. Returns the port by which edge switches of
        the pod reach that switch, or None when the entry does not lead up to a core and so is none of ours."""
        tree = self._tree
        if stat.out_port not in [tree.up_port(index) for index in range(tree.half)]:
            return None
        self._ports[aggregation, stat.flow] = stat.out_port
        return tree.up_port(int(aggregation.split("_")[1]) - tree.half)

    def core(self, flow: FiveTuple, src: int, dst: int, port: int, otherwise: int) -> int | None:
        """The core of a flow that leaves its first switch by ``port``; None when no path of it does.

        The port tells the aggregation switch, and that one's entry the core. Where it has none, or has not
        answered yet, the core is ``otherwise`` if it is above the same switch, else the first that is.
        """
        tree = self._tree
        edge, pod = tree.edge_of(src), tree.place(src).pod
        cores = [core for core in tree.path_cores(src, dst) if out_port(tree, edge, dst, core) == port]
        for core in cores:
            aggregation = tree.aggregation_name(pod, core // tree.half)
            if self._ports.get((aggregation, flow)) == out_port(tree, aggregation, dst, core):
                return core
        return otherwise if otherwise in cores else next(iter(cores), None)

    def clear(self) -> None:
        """Forget them: the controller now knows better."""
        self._ports.clear()
