"""The switches under control: who is connected, what they are sent, when they have done it, and which links flows must
not be sent over: ports that are down, and switches that cannot be told about flows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from controllers.driver import Driver, Rule
from controllers.flows import KnownFlow
from controllers.rules import entries, flow_rule, initial_rules
from hedera.linkstate import LinkState
from topos.fattree import FatTree
from topos.links import links_between
from topos.network import Network


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
        self._rules = rules or partial(initial_rules, topo)
        self.connected: set[str] = set()
        self._xids = itertools.count(1)
        self._barriers: dict[tuple[int, int], _Confirmation] = {}  # under way, by switch and transaction id
        names = ("packet_ins", "packet_outs", "flow_mods", "statistics_requests", "statistics_bytes")
        self.counts = dict.fromkeys(names, 0)
        """Messages both ways since the controller was started, and the bytes of all replies about flows."""

    def _next_xid(self) -> int:
        return next(self._xids) & 0xFFFFFFFF

    def request_stats(self, name: str) -> tuple[int, int]:
        """Ask a switch for its entries; returns its dpid and the request's transaction id."""
        request = self.topo.dpid(name), self._next_xid()
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
        """A switch has connected: empty its table and send it its rules.

        What is in the table may come from another controller or scheme.
        """
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
        requests = [(self.topo.dpid(name), self._next_xid()) for name in names]
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
        """`controllers.rules.entries` of a flow; ``core`` asks for those of another path."""
        return entries(self.topo, flow.src, flow.dst, flow.core if core is None else core)

    def port(self, name: str, flow: KnownFlow) -> int | None:
        """Where a switch that asks sends a packet of a flow: by its path, or by the first other that meets the switch;
        None where no path does."""
        cores = (flow.core, *self.topo.path_cores(flow.src, flow.dst))
        return next((held[name] for core in cores if name in (held := self.entries(flow, core))), None)

    def install(self, flow: KnownFlow, *, modify: bool = False) -> None:
        """Send all entries of a flow, the downstream one first; `install_at` says what ``modify`` is."""
        for name in self.entries(flow):
            self.install_at(name, flow, modify=modify)

    def install_at(self, name: str, flow: KnownFlow, *, modify: bool = False) -> None:
        """Send a flow's entry at one switch: as ADD, or with ``modify`` as MODIFY_STRICT.

        MODIFY_STRICT changes the output of an entry and keeps its counters, and adds an entry that is
        missing. ADD sets the counters of an entry to zero, and rates would read negative.
        """
        rule = flow_rule(flow.five_tuple, flow.key, self.entries(flow)[name], notify=name == flow.source)
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
        failed |= {link for name in self._lost for link in self._links_to(name)}
        self._links.fail(failed - self._failed)
        self._links.restore(self._failed - failed)
        changed, self._failed = failed != self._failed, failed
        return changed

    def _links_to(self, name: str) -> list[int]:
        tree = self._tree
        others = [other for other, to in tree.ports if to == name]
        if isinstance(tree, FatTree):
            others = [other for other in others if tree.layer(other) == "edge"]
        return [links_between(tree, other, name)[0] for other in others]

    @cached_property
    def _cables(self) -> dict[tuple[str, int], tuple[int, int]]:
        cables = {}
        for lower, lower_port, upper, upper_port in self._tree.links():
            if self._tree.layer(lower) != "host":
                cables[lower, lower_port] = cables[upper, upper_port] = links_between(self._tree, lower, upper)
        return cables
