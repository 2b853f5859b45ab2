"""Waiting until switches have done what they were sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from controllers.driver import Driver


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
