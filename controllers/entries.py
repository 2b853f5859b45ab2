"""What the entries in the switches' tables say about the paths of flows, for a controller that has just started."""

from __future__ import annotations

from collections.abc import Callable

from controllers.driver import FlowStat
from controllers.eventlog import EventLog
from controllers.flows import KnownFlows
from controllers.learn_rules import LEARNED_COOKIE
from controllers.packet import FiveTuple
from controllers.rules import out_port
from controllers.switches import Switches

RECALL_S = 5.0
"""For so long a switch that connects may keep to itself what is in its table; then it has the flows known anyway."""


class Recall:
    """Knows flows again from the entries that switches hold.

    Entries come in any order, and a path that the flow had before may have left one of its own: until `finish` is
    called, because all switches are here, a flow's path is what fits best so far. ``ends(switch, packet)`` says which
    hosts a packet on its way up is between, or None; ``route`` is the core of a flow's static path.
    """

    def __init__(
        self,
        switches: Switches,
        flows: KnownFlows,
        ends: Callable[[str, FiveTuple], tuple[int, int] | None],
        route: Callable[[FiveTuple, int, int], int],
        log: EventLog,
    ) -> None:
        self._switches = switches
        self._flows = flows
        self._ends = ends
        self._route = route
        self._log = log
        self._tree = switches.topo.tree
        self._above: dict[tuple[str, FiveTuple], int] = {}  # the out ports of entries of aggregation switches
        self._finished = False

    def finish(self) -> None:
        """All switches have told what they hold: what is known now is not changed again."""
        self._finished = True
        self._above.clear()

    def adopt(self, switch: str, stat: FlowStat) -> None:
        """Know a flow again that was forgotten, from its entry at the edge switch of its source."""
        if self._flows.find(stat.flow) is None:
            self.know(switch, stat)

    def know(self, switch: str, stat: FlowStat) -> None:
        """Know the flow of an entry on its way up from its source again, if it is a host's of ours.

        The edge switch's entry tells the aggregation switch, that one's the core. A core that nothing tells is
        assumed, and the path made so.
        """
        t = stat.flow
        ends = self._ends(switch, t)
        if ends is None:
            return
        src, dst = ends
        flow, edge = self._flows.find(t), self._tree.edge_of(src)
        if switch == edge:
            port = stat.out_port
        elif stat.out_port in [self._tree.up_port(index) for index in range(self._tree.half)]:
            self._above[switch, t] = stat.out_port
            port_to = self._tree.up_port(int(switch.split("_")[1]) - self._tree.half)
            port = port_to if flow is None else self._switches.entries(flow)[edge]
        else:
            return  # it does not lead up to a core, and is none of ours
        static = self._route(t, src, dst)
        core = self._core(t, src, dst, port, static if flow is None else flow.core)
        if core is None:
            return
        if flow is None:
            free = stat.cookie < LEARNED_COOKIE and self._flows.get(stat.cookie) is None
            key = stat.cookie if free else None
            flow = self._flows.add(t, src, dst, edge, core, self._switches.driver.now(), key=key)
            flow.hashed = static
            self._log("flow", **flow.as_event(), reason="adopted")
        elif core != flow.core and not self._finished:
            flow.core = core
            self._log("reroute", key=flow.key, core=core, round=None)
        else:
            return
        for name in self._switches.entries(flow):
            if name in self._switches.connected:  # it has told what it holds, which may be another path, or none
                self._switches.install_at(name, flow, modify=True)

    def _core(self, flow: FiveTuple, src: int, dst: int, port: int, otherwise: int) -> int | None:
        """The core of a flow that leaves its first switch by ``port``; None when no path of it does.

        The port tells the aggregation switch, and that one's entry the core. Where it has none, or has not
        answered yet, the core is ``otherwise`` if it is above the same switch, else the first that is.
        """
        tree = self._tree
        edge, pod = tree.edge_of(src), tree.place(src).pod
        cores = [core for core in tree.path_cores(src, dst) if out_port(tree, edge, dst, core) == port]
        for core in cores:
            aggregation = tree.aggregation_name(pod, core // tree.half)
            if self._above.get((aggregation, flow)) == out_port(tree, aggregation, dst, core):
                return core
        return otherwise if otherwise in cores else next(iter(cores), None)
