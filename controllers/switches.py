"""The switches under control: who is connected, what they are sent, and when they have done it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from controllers.driver import Driver, Rule
from controllers.flows import KnownFlow
from controllers.rules import entries, flow_rule, initial_rules
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
