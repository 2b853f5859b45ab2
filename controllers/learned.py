"""The flows that switches route by themselves, known from the entries that these have learned.

An edge switch's entry tells the aggregation switch, and that one's entry the core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from controllers.driver import FlowStat
from controllers.eventlog import EventLog
from controllers.flows import KnownFlow, KnownFlows
from controllers.packet import FiveTuple
from controllers.polls import Polls
from controllers.rules import out_port
from controllers.switches import Switches


@dataclass(slots=True)
class _Seen:
    key: int
    src: int
    dst: int
    stat: FlowStat
    seen_at: float


class LearnedFlows:
    """Takes the replies of edge and aggregation switches, in any order, and adds new flows to ``flows``.

    ``ends(switch, packet)`` says which hosts a packet on its way up is between, or None; ``route(packet, src, dst)``
    is the core of a flow's static path; ``added()`` is called when there are new ones.
    """

    def __init__(
        self,
        switches: Switches,
        flows: KnownFlows,
        log: EventLog,
        *,
        ends: Callable[[str, FiveTuple], tuple[int, int] | None],
        route: Callable[[FiveTuple, int, int], int],
        added: Callable[[], None],
    ) -> None:
        self._switches = switches
        self._tree = switches.topo.tree
        self._driver = switches.driver
        self._flows = flows
        self._log = log
        self._ends = ends
        self._route = route
        self._added = added
        self._above: dict[str, dict[FiveTuple, int]] = {}
        self._seen: dict[str, dict[FiveTuple, _Seen]] = {}

    def identify(self, switch: str, stats: Iterable[FlowStat]) -> list[FlowStat]:
        """A switch's whole reply, each entry of an edge switch with its flow's key as the cookie.

        Empty for an aggregation switch: that has the same flows once more.
        """
        if self._tree.layer(switch) == "aggregation":
            self._above[switch] = {stat.flow: stat.out_port for stat in stats}
            return []
        before, found = self._seen.get(switch, {}), []
        self._seen[switch] = now = {}
        for stat in stats:
            flow = self._flows.find(stat.flow)
            if flow is not None:
                found.append(stat._replace(cookie=flow.key))
            elif (hosts := self._ends(switch, stat.flow)) is not None:
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
            for five_tuple, one in list(seen.items()):
                core = self._core(switch, one)
                if nowhere := core is None and self._is_dropped(switch, one):
                    core = self._route(five_tuple, one.src, one.dst)
                if core is None:
                    continue
                del seen[five_tuple]
                if self._flows.find(five_tuple) is None:
                    now = self._driver.now()
                    flow = self._flows.add(five_tuple, one.src, one.dst, switch, core, now, key=one.key)
                    age = one.stat.duration_s + flow.installed_at - one.seen_at
                    self._log("flow", **flow.as_event(), reason="learned", age_s=round(age, 4))
                    if nowhere:
                        self._switches.install(flow, modify=True)
        if len(self._flows) > before:
            self._added()

    def _is_dropped(self, edge: str, seen: _Seen) -> bool:
        """Whether a switch on its way up had no port that was up when the flow came. What it learned then drops the
        flow, and lives for as long as packets come."""
        if not seen.stat.out_port:
            return True
        place = self._tree.place(seen.src)
        for core in self._tree.path_cores(seen.src, seen.dst):
            above = self._tree.aggregation_name(place.pod, core // self._tree.half)
            leads_there = out_port(self._tree, edge, seen.dst, core) == seen.stat.out_port
            if leads_there and self._above.get(above, {}).get(seen.stat.flow) == 0:
                return True
        return False

    def _core(self, edge: str, seen: _Seen) -> int | None:
        """The core of the path that two switches' entries make; None while one of them has not been seen."""
        tree, stat = self._tree, seen.stat
        for core in tree.path_cores(seen.src, seen.dst):
            if out_port(tree, edge, seen.dst, core) != stat.out_port:
                continue
            if tree.place(seen.src).pod == tree.place(seen.dst).pod:
                return core
            aggregation = tree.aggregation_name(tree.place(seen.src).pod, core // tree.half)
            if self._above.get(aggregation, {}).get(stat.flow) == out_port(tree, aggregation, seen.dst, core):
                return core
        return None


class EntryReader:
    """Reads all learned entries: of its own accord every ``interval`` seconds from `start` on, and when asked.

    ``expire(flow)`` is called for a flow whose entry is gone.
    """

    def __init__(
        self, switches: Switches, flows: KnownFlows, learned: LearnedFlows, expire: Callable[[KnownFlow], None]
    ) -> None:
        self._switches = switches
        self._driver = switches.driver
        self._flows = flows
        self._learned = learned
        self._expire = expire
        self._polls = Polls(switches, self._polled)
        tree = switches.topo.tree
        self._names = {name for name in tree.switches if tree.layer(name) != "core"}

    def start(self, interval: float) -> None:
        self._driver.call_later(interval, lambda: self.start(interval))
        self.read()

    def read(self) -> None:
        self._polls.ask(self._names & self._switches.connected)

    def flow_stats(self, dpid: int, xid: int, stats: Iterable[FlowStat], more: bool) -> None:
        self._polls.reply(dpid, xid, stats, more)

    def switch_down(self, name: str) -> None:
        self._polls.lost(name)

    def _polled(self, switch: str, stats: list[FlowStat], asked_at: float) -> None:
        there = {stat.cookie for stat in self._learned.identify(switch, stats)}
        for flow in [f for f in self._flows if f.source == switch]:
            if flow.key not in there and flow.installed_at < asked_at:
                self._expire(flow)
        # At once, not when all have answered: one that takes its time must not cost the others' flows their names.
        self._learned.settle(int(switch.split("_")[0]))
