"""The switches under control: who is connected, what they are sent, and when they have done it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from controllers.driver import Driver, Rule
from controllers.flows import KnownFlow
from controllers.rules import flow_rule, flow_switches, initial_rules, out_port
from topos.network import Network


@dataclass(slots=True)
class _Group:
    waiting: int
    done: Callable[[], None]


class Barriers:
    """Barrier requests under way, each matched to its reply by switch and transaction id."""

    def __init__(self, driver: Driver, next_xid: Callable[[], int]):
        self._driver = driver
        self._next_xid = next_xid
        self._groups: dict[tuple[int, int], _Group] = {}

    def confirm(self, dpids: Iterable[int], done: Callable[[], None]) -> None:
        """Call ``done`` once every switch has answered a barrier, or is gone; at once if there are none."""
        requests = [(dpid, self._next_xid()) for dpid in dpids]
        if not requests:
            done()
            return
        group = _Group(len(requests), done)
        self._groups.update(dict.fromkeys(requests, group))
        for dpid, xid in requests:
            self._driver.barrier(dpid, xid)

    def reply(self, dpid: int, xid: int) -> None:
        """A barrier reply has come; one nobody waits for is ignored."""
        group = self._groups.pop((dpid, xid), None)
        if group is not None:
            group.waiting -= 1
            if not group.waiting:
                group.done()

    def lost(self, dpid: int) -> None:
        """A switch is gone: it will not answer, so nobody waits for it any longer."""
        for request in [request for request in self._groups if request[0] == dpid]:
            self.reply(*request)


class Switches:
    """All switches of one network, by name. ``rules(name)`` is what a switch gets before the first flow."""

    def __init__(self, topo: Network, driver: Driver, rules: Callable[[str], list[Rule]] | None = None):
        self.topo = topo
        self.driver = driver
        self._rules = rules or partial(initial_rules, topo)
        self.connected: set[str] = set()
        self._xids = itertools.count(1)
        self._barriers = Barriers(driver, self.next_xid)

    def next_xid(self) -> int:
        return next(self._xids) & 0xFFFFFFFF

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
        for rule in self._rules(name):
            self.driver.install(dpid, rule)

    def down(self, name: str) -> None:
        """The connection to a switch is lost: it answers nothing any longer."""
        self.connected.discard(name)
        self._barriers.lost(self.topo.dpid(name))

    def confirm(self, names: Iterable[str], done: Callable[[], None]) -> None:
        """Call ``done`` when these switches have done all they were sent (or are gone)."""
        self._barriers.confirm([self.topo.dpid(name) for name in names], done)

    def barrier_reply(self, dpid: int, xid: int) -> None:
        self._barriers.reply(dpid, xid)

    def entries(self, flow: KnownFlow, core: int | None = None) -> dict[str, int]:
        """The out port of a flow's entry at each switch that holds one, the downstream switch first.

        ``core`` asks for the entries of another path.
        """
        tree = self.topo.tree
        core = flow.core if core is None else core
        names = flow_switches(tree, flow.src, flow.dst, core)
        return {name: out_port(tree, name, flow.dst, core) for name in names}

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
        self.driver.install(self.topo.dpid(name), rule, modify=modify)
