"""What the statistics of switches' entries say: how fast each flow is, and by which path it goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from controllers.driver import TCP, EventLog, FiveTuple, FlowStat, compute_delay
from controllers.rules import LEARNED_COOKIE, find_entries
from controllers.state import KnownFlows, Switches
from topos.network import Network

# A switch that never answers must not keep all the others from being ready.
RECALL_S = 5.0
"""For so long a switch that connects may keep to itself what is in its table. Then it gets its rules anyway."""

# A frame without data has at most 14 + 20 + 60 = 94 bytes; a full one has 1,514. Acknowledgements must not be scheduled
# nor have a demand: every TCP flow would halve the demand of the flows that its receiver sends.
ACK_BYTES = 128
"""A TCP stream whose packets are smaller than this on average is the acknowledgements of a stream the other way."""

# Such a flow is a ping, or a connection that waits (10 kb/s at 10 Mb/s). Demand estimation would take it to want a
# share of two NICs.
IDLE_RATE = 0.001
"""A flow below this fraction of the NIC rate moves nothing to speak of."""


@dataclass(slots=True)
class _Request:
    switch: str
    asked_at: float
    stats: list[FlowStat] = field(default_factory=list)


class Polls:
    """Requests under way. ``complete(switch, stats, asked_at)`` is called with each whole reply.

    Replies come in parts and may be late or lost. They are matched by switch and transaction id, so a late
    one is still taken for what it is, and a lost one holds up nothing but its own switch. After ``patience_s``, if
    given, what has come is taken for the whole.
    """

    def __init__(
        self,
        switches: Switches,
        complete: Callable[[str, list[FlowStat], float], None],
        patience_s: float | None = None,
    ):
        self._switches = switches
        self._patience_s = patience_s
        self._complete = complete
        self._requests: dict[tuple[int, int], _Request] = {}
        self.waiting: set[str] = set()
        """The switches that have not answered the latest `ask` yet."""

    def ask(self, names: Iterable[str]) -> None:
        driver = self._switches.driver
        # They are asked in the order of their names. In that of a set they would be asked, and answer, in another one
        # in every process.
        for name in sorted(names):
            request = self._switches.request_stats(name)
            self._requests[request] = _Request(name, driver.now())
            self.waiting.add(name)
            if self._patience_s is not None:
                driver.call_later(self._patience_s, partial(self._end, *request))

    def reply(self, dpid: int, xid: int, stats: Iterable[FlowStat], more: bool) -> None:
        """A part of a reply; one that answers no request of ours is ignored."""
        if (dpid, xid) in self._requests:
            self._requests[dpid, xid].stats.extend(stats)
            if not more:
                self._end(dpid, xid)

    def _end(self, dpid: int, xid: int) -> None:
        request = self._requests.get((dpid, xid))
        if request is not None:
            # A switch answers in order: what it was asked before this and has not answered, it never will.
            self._requests = {
                key: r
                for key, r in self._requests.items()
                if r.switch != request.switch or r.asked_at > request.asked_at
            }
            if not any(r.switch == request.switch for r in self._requests.values()):
                self.waiting.discard(request.switch)
            self._complete(request.switch, request.stats, request.asked_at)

    def lost(self, name: str) -> None:
        """The connection to a switch is lost, and with it what it was asked."""
        self.waiting.discard(name)
        self._requests = {key: r for key, r in self._requests.items() if r.switch != name}


class _Reading(NamedTuple):
    packets: int = 0
    bytes: int = 0
    age_s: float = 0.0
    rate: float = 0.0
    carries_data: bool = False


class Measurements:
    """Rates of flows, each from its switch's last two whole replies. ``nic_bps`` is the NIC rate in bits/s.

    A rate is the difference of two polls, over that of the entry's ages. A flow's first rate is over its whole age, and
    so is that of an entry made anew.
    """

    def __init__(self, nic_bps: float):
        self._nic_bytes_per_s = nic_bps / 8
        self._readings: dict[str, dict[FiveTuple, _Reading]] = {}  # by switch

    def update(self, switch: str, stats: Iterable[FlowStat]) -> None:
        """Take a switch's whole reply; flows that are not in it are forgotten."""
        before = self._readings.get(switch, {})
        self._readings[switch] = {stat.flow: self._look(stat, before.get(stat.flow, _Reading())) for stat in stats}

    def rate(self, switch: str, flow: FiveTuple) -> float:
        """A flow's rate as a fraction of the NIC rate; 0 for acknowledgements and for what is not known yet."""
        reading = self._readings.get(switch, {}).get(flow, _Reading())
        return reading.rate if reading.carries_data and reading.rate >= IDLE_RATE else 0.0

    def _look(self, stat: FlowStat, last: _Reading) -> _Reading:
        if stat.packets < last.packets or stat.bytes < last.bytes or stat.duration_s < last.age_s:  # made anew
            last = _Reading(carries_data=last.carries_data)
        # The ages of the entry are the switch's own. A clock here would also count how long the answers travelled.
        packets, size, elapsed_s = stat.packets - last.packets, stat.bytes - last.bytes, stat.duration_s - last.age_s
        rate = size / elapsed_s / self._nic_bytes_per_s if elapsed_s > 0 else last.rate  # the same counters read twice
        carries_data = size >= ACK_BYTES * packets if packets else last.carries_data
        return _Reading(stat.packets, stat.bytes, stat.duration_s, rate, carries_data or stat.flow.protocol != TCP)


class _PortsFurtherOn:
    """The out ports of the entries of switches beyond the first, by switch and flow."""

    def __init__(self, topo: Network) -> None:
        self._topo = topo
        self.ports: dict[str, dict[FiveTuple, int]] = defaultdict(dict)

    def paths(self, src: int, dst: int, switch: str, port: int) -> dict[int, Mapping[str, int]]:
        """The paths that leave a switch by ``port``: all entries of each, by its core."""
        ports_by_core = {core: find_entries(self._topo, src, dst, core) for core in self._topo.path_cores(src, dst)}
        return {core: ports for core, ports in ports_by_core.items() if ports.get(switch) == port}

    def core(self, flow: FiveTuple, src: int, dst: int, port: int) -> int | None:
        """The core of a flow that leaves its first switch by ``port``; None while nothing tells it."""
        edge = self._topo.edge_of(src)
        for core, ports in self.paths(src, dst, edge, port).items():
            if all(name == edge or self.ports[name].get(flow) == out for name, out in ports.items()):
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
        self._tree = switches.topo
        self._further_on = _PortsFurtherOn(self._tree)
        self._finished = False

    def finish(self) -> None:
        """All switches have told what they hold: what is known now is not changed again."""
        self._finished = True
        self._further_on.ports.clear()

    def know(self, switch: str, stat: FlowStat) -> None:
        """Know the flow of an entry on its way up from its source again, if it is a host's of ours.

        A core that nothing tells is assumed, and the path made so.
        """
        t = stat.flow
        if (ends := self._flows.ends(switch, t)) is None:
            return
        src, dst = ends
        flow, edge = self._flows.find(t), self._tree.edge_of(src)
        possible = self._further_on.paths(src, dst, switch, stat.out_port)
        if not possible:
            return  # it is on no path, and none of ours
        port = stat.out_port
        if switch != edge:
            self._further_on.ports[switch][t] = port
            port = next(iter(possible.values()))[edge] if flow is None else self._switches.entries(flow)[edge]
            possible = self._further_on.paths(src, dst, edge, port)
        static = self._flows.static(t, src, dst)
        core, assumed = self._further_on.core(t, src, dst, port), static if flow is None else flow.core
        if core is None:
            core = assumed if assumed in possible else next(iter(possible))
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


class LearnedFlows:
    """The flows that switches route by themselves, known from the entries that these have learned.

    Replies of edge and aggregation switches are taken in any order; ``added()`` is called when there are new flows.
    All entries are read every ``interval`` seconds from `start` on.
    """

    def __init__(self, switches: Switches, flows: KnownFlows, added: Callable[[], None]) -> None:
        self._switches = switches
        self._tree = switches.topo
        self._driver = switches.driver
        self._flows = flows
        self._added = added
        self._further_on = _PortsFurtherOn(self._tree)
        self._unknown: dict[str, list[tuple[FlowStat, float]]] = {}
        """By switch the entries of flows that are not known yet, and when they were read."""
        self.polls = Polls(switches, self._take_poll)
        self._names = {name for name in self._tree.switches if self._tree.layer(name) != "core"}

    def start(self, interval: float) -> None:
        self._driver.call_later(compute_delay(self._driver.now(), interval) or interval, lambda: self.start(interval))
        self.polls.ask(self._names & self._switches.connected)

    def _take_poll(self, switch: str, stats: list[FlowStat], asked_at: float) -> None:
        self.read(switch, stats)
        self._flows.expire_missing(switch, {stat.flow for stat in stats}, asked_at)
        # At once, not when all have answered: one that takes its time must not keep the others' flows unknown.
        self.settle(int(switch.split("_")[0]))

    def read(self, switch: str, stats: list[FlowStat]) -> None:
        """Take a switch's whole reply. An aggregation switch has the same flows as the edge switches once more."""
        if self._tree.layer(switch) == "aggregation":
            self._further_on.ports[switch] = {stat.flow: stat.out_port for stat in stats}
        else:
            now = self._driver.now()
            self._unknown[switch] = [(stat, now) for stat in stats if self._flows.find(stat.flow) is None]

    def settle(self, pod: int | None = None) -> None:
        """Know the flows whose whole path has been seen; those from one pod alone, where it is given."""
        before = len(self._flows)
        for switch, entries_read in self._unknown.items():
            if pod is None or switch.startswith(f"{pod}_"):
                self._unknown[switch] = [
                    (stat, read_at) for stat, read_at in entries_read if not self._is_known(switch, stat, read_at)
                ]
        if len(self._flows) > before:
            self._added()

    def _is_known(self, switch: str, stat: FlowStat, read_at: float) -> bool:
        """Whether nothing more need be read of a flow: it is known (now, perhaps), or none of ours."""
        hosts = self._flows.ends(switch, stat.flow)
        if hosts is None or self._flows.find(stat.flow) is not None:
            return True
        core = self._further_on.core(stat.flow, *hosts, stat.out_port)
        if nowhere := core is None and self._is_dropped(stat, *hosts):
            core = self._flows.route(stat.flow, *hosts)
        if core is None:
            return False
        now = self._driver.now()
        age_s = round(stat.duration_s + now - read_at, 4)
        flow = self._flows.add(stat.flow, *hosts, core, now, reason="learned", age_s=age_s)
        if nowhere:
            self._switches.install(flow, modify=True)
        return True

    def _is_dropped(self, stat: FlowStat, src: int, dst: int) -> bool:
        """Whether a switch on its way up had no port that was up when the flow came. What it learned then drops the
        flow, and lives for as long as packets come."""
        paths = self._further_on.paths(src, dst, self._tree.edge_of(src), stat.out_port).values()
        return not stat.out_port or any(
            self._further_on.ports[name].get(stat.flow) == 0 for path in paths for name in path
        )
