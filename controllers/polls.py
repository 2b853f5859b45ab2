"""Asking switches for flow statistics, and matching what comes back to what was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from controllers.driver import FlowStat
from controllers.switches import Switches


@dataclass(slots=True)
class _Request:
    switch: str
    asked_at: float
    stats: list[FlowStat] = field(default_factory=list)


class Polls:
    """Requests under way. ``complete(switch, stats, asked_at)`` is called with each whole reply.

    Replies come in parts and may be late or lost. They are matched by switch and transaction id, so a late
    one is still taken for what it is, and a lost one holds up nothing but its own switch.
    """

    def __init__(self, switches: Switches, complete: Callable[[str, list[FlowStat], float], None]):
        self._switches = switches
        self._complete = complete
        self._requests: dict[tuple[int, int], _Request] = {}
        self.waiting: set[str] = set()
        """The switches that have not answered the latest `ask` yet."""

    def ask(self, names: Iterable[str]) -> None:
        driver = self._switches.driver
        now = driver.now()
        self.waiting = set(names)
        for name in sorted(self.waiting):
            dpid, xid = self._switches.topo.dpid(name), self._switches.next_xid()
            self._requests[dpid, xid] = _Request(name, now)
            driver.request_flow_stats(dpid, xid)

    def reply(self, dpid: int, xid: int, stats: Iterable[FlowStat], more: bool) -> None:
        """A part of a reply; one that answers no request of ours is ignored."""
        request = self._requests.get((dpid, xid))
        if request is None:
            return
        request.stats.extend(stats)
        if not more:
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
