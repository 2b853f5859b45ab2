"""What the controller knows of its network.

`KnownFlows` is soft state, by 5-tuple and by key. `Switches` says who is connected, what each is sent and when it has
done it. `Failures` says which links flows must not be sent over: ports that are down, and switches that cannot be told
about flows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

from controllers.driver import Driver, EventLog, FiveTuple, Rule
from controllers.rules import find_entries, make_flow_rule, make_initial_rules
from hedera.linkstate import LinkState
from hedera.routing import Routing
from topos.fattree import FatTree
from topos.links import find_links_between
from topos.network import Network


@dataclass(slots=True)
class KnownFlow:
    """One flow between two hosts. ``key`` is unique among all flows ever seen, and the cookie of its entries.

    ``source`` is the edge switch of its sender. ``hashed`` is the core of its static path, ``core`` that of its
    path now. ``installed_at`` is when its entries were last sent (driver time, seconds).
    """

    key: int
    five_tuple: FiveTuple
    src: int
    dst: int
    source: str
    hashed: int
    core: int
    installed_at: float


class KnownFlows:
    """All flows that have not expired. The log says when one comes and when it goes.

    ``routing`` gives flows their static paths; None where there is no choice of path, and so no flow to know.
    ``acks_with_data``: both ways of a connection are to use the same cables, where its other way works.
    """

    def __init__(self, tree: Network, routing: Routing | None, log: EventLog, acks_with_data: bool = False) -> None:
        self._tree = tree
        self._routing = routing
        self._acks_with_data = acks_with_data
        self._log = log
        self._by_tuple: dict[FiveTuple, KnownFlow] = {}
        self._by_key: dict[int, KnownFlow] = {}
        self._last_key = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[KnownFlow]:
        return iter(self._by_key.values())

    def find(self, five_tuple: FiveTuple) -> KnownFlow | None:
        return self._by_tuple.get(five_tuple)

    def get(self, key: int) -> KnownFlow | None:
        return self._by_key.get(key)

    def ends(self, switch: str, packet: FiveTuple) -> tuple[int, int] | None:
        """Source and destination of a packet; None unless they are two hosts, and the switch has an entry of such a
        flow by some path."""
        tree = self._tree
        src, dst = tree.host_by_ip.get(packet.src_ip), tree.host_by_ip.get(packet.dst_ip)
        if src is None or dst is None or src == dst:
            return None
        known = switch == tree.edge_of(src)
        known = known or any(switch in find_entries(tree, src, dst, core) for core in tree.path_cores(src, dst))
        return (src, dst) if known else None

    def route(self, packet: FiveTuple, src: int, dst: int) -> int:
        """The core of the path that a flow is given first: back over the cables of its connection's other way, if that
        is asked for, known and works; else its static path."""
        assert self._routing is not None
        other = self.other_way(packet)
        core = None if other is None else find_way_back(self._tree, other.src, other.dst, other.core)
        if core is not None and self._routing.links.usable([src], [dst], [core])[0]:
            return core
        return self.static(packet, src, dst)

    def other_way(self, five_tuple: FiveTuple) -> KnownFlow | None:
        """The other way of a flow's connection, if both are to use the same cables and it is known."""
        if not self._acks_with_data:
            return None
        protocol, src_ip, dst_ip, src_port, dst_port = five_tuple
        return self.find(FiveTuple(protocol, dst_ip, src_ip, dst_port, src_port))

    def static(self, packet: FiveTuple, src: int, dst: int) -> int:
        """The core of a flow's static path."""
        assert self._routing is not None
        return int(self._routing.cores(src, dst, packet.src_port, packet.dst_port, packet.protocol)[0])

    def add(
        self, five_tuple: FiveTuple, src: int, dst: int, core: int, now: float, *, key: int | None = None, **logged: Any
    ) -> KnownFlow:
        """Start to know a flow on its first path; ``key`` is given when it already has one. ``logged``: for the log."""
        key = self._last_key + 1 if key is None else key
        self._last_key = max(self._last_key, key)
        source = self._tree.edge_of(src)
        flow = KnownFlow(key, five_tuple, src, dst, source, hashed=core, core=core, installed_at=now)
        self._by_tuple[five_tuple] = self._by_key[key] = flow
        protocol, src_ip, dst_ip, src_port, dst_port = five_tuple
        header = {"src_ip": src_ip, "dst_ip": dst_ip, "proto": protocol, "src_port": src_port, "dst_port": dst_port}
        self._log("flow", key=key, src=src, dst=dst, **header, core=core, **logged)
        return flow

    def expire(self, flow: KnownFlow) -> None:
        del self._by_key[flow.key], self._by_tuple[flow.five_tuple]
        self._log("expired", key=flow.key)

    def expire_missing(self, switch: str, reported: Container[FiveTuple], asked_at: float) -> None:
        """End a switch's flows that its whole reply, asked for at ``asked_at``, does not have."""
        # The notice that an entry has expired can be lost with a connection, and its reservation must not stay for
        # ever. A flow that was installed after the question cannot be in the answer yet.
        for flow in [flow for flow in self if flow.source == switch]:
            if flow.five_tuple not in reported and flow.installed_at < asked_at:
                self.expire(flow)


@lru_cache(maxsize=1 << 16)
def find_way_back(topo: Network, src: int, dst: int, core: int) -> int | None:
    """The core of the path from ``dst`` to ``src`` over the same cables; None where a network's plan has none."""
    if isinstance(topo, FatTree):
        return core  # it is what both ways have in common
    path = topo.path(src, dst, core)[::-1]
    return next((core for core in topo.path_cores(dst, src) if topo.path(dst, src, core) == path), None)


@dataclass(slots=True)
class _Confirmation:
    """How many switches have still to answer a barrier, and what is done then."""

    waiting: int
    done: Callable[[], None]


class Switches:
    """All switches of one network, by name. ``rules(name)`` is what a switch gets before the first flow."""

    def __init__(self, topo: Network, driver: Driver, rules: Callable[[str], list[Rule]] | None = None):
        self.topo = topo
        self.driver = driver
        self._rules = rules or partial(make_initial_rules, topo)
        self.connected: set[str] = set()
        self._xids = itertools.count(1)
        self._barriers: dict[tuple[int, int], _Confirmation] = {}  # under way, by switch and transaction id
        names = ("packet_ins", "packet_outs", "flow_mods", "statistics_requests", "statistics_bytes")
        self.counts = dict.fromkeys(names, 0)
        """Messages both ways since the controller was started, and the bytes of all replies about flows."""

    def _take_xid(self) -> int:
        return next(self._xids) & 0xFFFFFFFF

    def request_stats(self, name: str) -> tuple[int, int]:
        """Ask a switch for its entries; returns its dpid and the request's transaction id."""
        request = self.topo.dpid(name), self._take_xid()
        self.counts["statistics_requests"] += 1
        self.driver.request_flow_stats(*request)
        return request

    def packet_out(self, dpid: int, port: int, frame: bytes) -> None:
        self.counts["packet_outs"] += 1
        self.driver.packet_out(dpid, port, frame)

    def name(self, dpid: int) -> str | None:
        """The name of a switch of this network; None for any other."""
        return self.topo.switch_by_dpid.get(dpid)

    def up(self, name: str) -> None:
        """A switch has connected: empty its table and send it its rules."""
        # What is in the table may come from another controller or scheme.
        self.connected.add(name)
        dpid = self.topo.dpid(name)
        self.driver.clear(dpid)
        rules = self._rules(name)
        self.counts["flow_mods"] += 1 + len(rules)
        for rule in rules:
            self.driver.install(dpid, rule)

    def down(self, name: str) -> None:
        """The connection to a switch is lost: it answers nothing any longer, and nobody waits for it."""
        self.connected.discard(name)
        for request in [request for request in self._barriers if request[0] == self.topo.dpid(name)]:
            self.barrier_reply(*request)

    def confirm(self, names: Iterable[str], done: Callable[[], None]) -> None:
        """Call ``done`` when these switches have done all they were sent (or are gone); at once if there are none."""
        requests = [(self.topo.dpid(name), self._take_xid()) for name in names]
        if not requests:
            done()
            return
        self._barriers.update(dict.fromkeys(requests, _Confirmation(len(requests), done)))
        for dpid, xid in requests:
            self.driver.barrier(dpid, xid)

    def barrier_reply(self, dpid: int, xid: int) -> None:
        """A switch has answered a barrier; one that nobody waits for is ignored."""
        confirmation = self._barriers.pop((dpid, xid), None)
        if confirmation is not None:
            confirmation.waiting -= 1
            if not confirmation.waiting:
                confirmation.done()

    def entries(self, flow: KnownFlow, core: int | None = None) -> Mapping[str, int]:
        """`controllers.rules.find_entries` of a flow; ``core`` asks for those of another path."""
        return find_entries(self.topo, flow.src, flow.dst, flow.core if core is None else core)

    def port(self, name: str, flow: KnownFlow) -> int | None:
        """Where a switch that asks sends a packet of a flow: by its path, or by the first other that meets the switch;
        None where no path does."""
        cores = (flow.core, *self.topo.path_cores(flow.src, flow.dst))
        return next((ports[name] for core in cores if name in (ports := self.entries(flow, core))), None)

    def install(self, flow: KnownFlow, *, modify: bool = False) -> None:
        """Send all entries of a flow, the downstream one first; `install_at` says what ``modify`` is."""
        for name in self.entries(flow):
            self.install_at(name, flow, modify=modify)

    def install_at(self, name: str, flow: KnownFlow, *, modify: bool = False) -> None:
        """Send a flow's entry at one switch: as ADD, or with ``modify`` as MODIFY_STRICT."""
        # MODIFY_STRICT changes the output of an entry and keeps its counters, and adds an entry that is missing. ADD
        # sets the counters of an entry to zero, and rates would read negative.
        rule = make_flow_rule(flow.five_tuple, flow.key, self.entries(flow)[name], notify=name == flow.source)
        self.counts["flow_mods"] += 1
        self.driver.install(self.topo.dpid(name), rule, modify=modify)


class Failures:
    """Keeps a `LinkState` in step with what switches report. Methods say whether anything has changed.

    A cable fails in both directions when a port at either end is down. An aggregation switch that has lost
    its controller forwards what it knows, but knows no new flow: only the links to it are out of use, in a fat-tree
    those that lead up.
    """

    def __init__(self, tree: Network, links: LinkState):
        self._tree = tree
        self._links = links
        self._down_ports: set[tuple[str, int]] = set()
        self._lost: set[str] = set()
        self._failed: set[int] = set()

    def switch_up(self, name: str) -> bool:
        """A switch has connected, and its ports are up unless it says otherwise."""
        self._down_ports = {(switch, port) for switch, port in self._down_ports if switch != name}
        return self._apply()

    def under_control(self, name: str) -> bool:
        self._lost.discard(name)
        return self._apply()

    def switch_down(self, name: str) -> bool:
        if self._tree.layer(name) == "aggregation":
            self._lost.add(name)
        return self._apply()

    def port_status(self, name: str, port: int, up: bool) -> bool:
        """A port came up or went down. Ports to hosts make no difference to any choice of path."""
        if (name, port) not in self._cables:
            return False
        (self._down_ports.discard if up else self._down_ports.add)((name, port))
        return self._apply()

    def _apply(self) -> bool:
        failed = {link for end in self._down_ports for link in self._cables[end]}
        failed |= {link for name in self._lost for link in self._find_links_to(name)}
        self._links.fail(failed - self._failed)
        self._links.restore(self._failed - failed)
        changed, self._failed = failed != self._failed, failed
        return changed

    def _find_links_to(self, name: str) -> list[int]:
        tree = self._tree
        others = [other for other, to in tree.ports if to == name]
        if isinstance(tree, FatTree):
            others = [other for other in others if tree.layer(other) == "edge"]
        return [find_links_between(tree, other, name)[0] for other in others]

    @cached_property
    def _cables(self) -> dict[tuple[str, int], tuple[int, int]]:
        cables = {}
        for lower, lower_port, upper, upper_port in self._tree.links():
            if self._tree.layer(lower) != "host":
                cables[lower, lower_port] = cables[upper, upper_port] = find_links_between(self._tree, lower, upper)
        return cables
