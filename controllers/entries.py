"""What the entries in switches' tables say about the paths of flows: an edge switch's entry tells the aggregation
switch, and that one's entry the core."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from controllers.driver import FlowStat
from controllers.eventlog import EventLog
from controllers.flows import KnownFlows
from controllers.learn_rules import LEARNED_COOKIE
from controllers.measurements import Polls
from controllers.packet import FiveTuple
from controllers.rules import out_port
from controllers.switches import Switches
from topos.fattree import FatTree

RECALL_S = 5.0
"""For so long a switch that connects may keep to itself what is in its table; then it has the flows known anyway."""


class _Above:
    """The out ports of the entries of aggregation switches, by switch and flow."""

    def __init__(self, tree: FatTree) -> None:
        self._tree = tree
        self.ports: dict[str, dict[FiveTuple, int]] = defaultdict(dict)

    def paths(self, src: int, dst: int, port: int) -> list[tuple[int, str]]:
        """The cores by which paths go that leave the first switch by ``port``, each with its aggregation switch."""
        tree, edge, pod = self._tree, self._tree.edge_of(src), self._tree.place(src).pod
        cores = [core for core in tree.path_cores(src, dst) if out_port(tree, edge, dst, core) == port]
        return [(core, tree.aggregation_name(pod, core // tree.half)) for core in cores]

    def core(self, flow: FiveTuple, src: int, dst: int, port: int) -> int | None:
        """The core of a flow that leaves its first switch by ``port``; None while nothing tells it."""
        inside = self._tree.place(src).pod == self._tree.place(dst).pod
        for core, above in self.paths(src, dst, port):
            if inside or self.ports[above].get(flow) == out_port(self._tree, above, dst, core):
                return core
        return None


class Recall:
    """Knows flows again from the entries that switches hold, for a controller that has just started.

    Entries come in any order, and a path that the flow had before may have left one of its own: until `finish` is
    called, because all switches are here, a flow's path is what fits best so far.
    """

    def __init__(self, switches: Switches, flows: KnownFlows, log: EventLog) -> None:
        self._switches = switches
        self._flows = flows
        self._log = log
        self._tree = switches.topo.tree
        self._above = _Above(self._tree)
        self._finished = False

    def finish(self) -> None:
        """All switches have told what they hold: what is known now is not changed again."""
        self._finished = True
        self._above.ports.clear()

    def know(self, switch: str, stat: FlowStat) -> None:
        """Know the flow of an entry on its way up from its source again, if it is a host's of ours.

        A core that nothing tells is assumed, and the path made so.
        """
        t = stat.flow
        if (ends := self._flows.ends(switch, t)) is None:
            return
        src, dst = ends
        flow, edge = self._flows.find(t), self._tree.edge_of(src)
        if switch == edge:
            port = stat.out_port
        elif stat.out_port in [self._tree.up_port(index) for index in range(self._tree.half)]:
            self._above.ports[switch][t] = stat.out_port
            port_to = self._tree.up_port(int(switch.split("_")[1]) - self._tree.half)
            port = port_to if flow is None else self._switches.entries(flow)[edge]
        else:
            return  # it does not lead up to a core, and is none of ours
        static = self._flows.route(t, src, dst)
        possible = [core for core, _ in self._above.paths(src, dst, port)]
        if not possible:
            return
        core, assumed = self._above.core(t, src, dst, port), static if flow is None else flow.core
        if core is None:
            core = assumed if assumed in possible else possible[0]
        if flow is None:
            free = stat.cookie < LEARNED_COOKIE and self._flows.get(stat.cookie) is None
            key = stat.cookie if free else None
            flow = self._flows.add(t, src, dst, core, self._switches.driver.now(), key=key, reason="adopted")
            flow.hashed = static
        elif core != flow.core and not self._finished:
            flow.core = core
            self._log("reroute", key=flow.key, core=core, round=None)
        else:
            return
        for name in self._switches.entries(flow):
            if name in self._switches.connected:  # it has told what it holds, which may be another path, or none
                self._switches.install_at(name, flow, modify=True)


@dataclass(slots=True)
class _Seen:
    key: int
    src: int
    dst: int
    stat: FlowStat
    seen_at: float


class LearnedFlows:
    """The flows that switches route by themselves, known from the entries that these have learned.

    Replies of edge and aggregation switches are taken in any order; ``added()`` is called when there are new flows.
    All entries are read every ``interval`` seconds from `start` on.
    """

    def __init__(self, switches: Switches, flows: KnownFlows, added: Callable[[], None]) -> None:
        self._switches = switches
        self._tree = switches.topo.tree
        self._driver = switches.driver
        self._flows = flows
        self._added = added
        self._above = _Above(self._tree)
        self._seen: dict[str, dict[FiveTuple, _Seen]] = {}
        self.polls = Polls(switches, self._polled)
        self._names = {name for name in self._tree.switches if self._tree.layer(name) != "core"}

    def start(self, interval: float) -> None:
        self._driver.call_later(interval, lambda: self.start(interval))
        self.polls.ask(self._names & self._switches.connected)

    def _polled(self, switch: str, stats: list[FlowStat], asked_at: float) -> None:
        self._flows.expire_missing(switch, {stat.cookie for stat in self.identify(switch, stats)}, asked_at)
        # At once, not when all have answered: one that takes its time must not cost the others' flows their names.
        self.settle(int(switch.split("_")[0]))

    def identify(self, switch: str, stats: Iterable[FlowStat]) -> list[FlowStat]:
        """A switch's whole reply, each entry of an edge switch with its flow's key as the cookie.

        Empty for an aggregation switch: that has the same flows once more.
        """
        if self._tree.layer(switch) == "aggregation":
            self._above.ports[switch] = {stat.flow: stat.out_port for stat in stats}
            return []
        before, found = self._seen.get(switch, {}), []
        self._seen[switch] = now = {}
        for stat in stats:
            flow = self._flows.find(stat.flow)
            if flow is not None:
                found.append(stat._replace(cookie=flow.key))
            elif (hosts := self._flows.ends(switch, stat.flow)) is not None:
                known = before.get(stat.flow)
                key = self._flows.new_key() if known is None else known.key
                now[stat.flow] = _Seen(key, *hosts, stat, self._driver.now())
                found.append(stat._replace(cookie=key))
        return found

    def settle(self, pod: int | None = None) -> None:
        """Know the flows whose whole path has been seen; those from one pod alone, where it is given."""
        before = len(self._flows)
        for switch, seen in self._seen.items():
            if pod is not None and not switch.startswith(f"{pod}_"):
                continue
            for t, one in list(seen.items()):
                core = self._above.core(t, one.src, one.dst, one.stat.out_port)
                if nowhere := core is None and self._is_dropped(t, one):
                    core = self._flows.route(t, one.src, one.dst)
                if core is None:
                    continue
                del seen[t]
                if self._flows.find(t) is None:
                    now = self._driver.now()
                    age = round(one.stat.duration_s + now - one.seen_at, 4)
                    flow = self._flows.add(t, one.src, one.dst, core, now, key=one.key, reason="learned", age_s=age)
                    if nowhere:
                        self._switches.install(flow, modify=True)
        if len(self._flows) > before:
            self._added()

    def _is_dropped(self, flow: FiveTuple, seen: _Seen) -> bool:
        """Whether a switch on its way up had no port that was up when the flow came. What it learned then drops the
        flow, and lives for as long as packets come."""
        above = [name for _, name in self._above.paths(seen.src, seen.dst, seen.stat.out_port)]
        return not seen.stat.out_port or any(self._above.ports[name].get(flow) == 0 for name in above)
