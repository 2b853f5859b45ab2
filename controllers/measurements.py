"""Asking switches for flow statistics, and what their counters say: how fast a flow is, and whether it is worth
scheduling."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from controllers.driver import FlowStat
from controllers.packet import TCP, FiveTuple
from controllers.switches import Switches

ACK_BYTES = 128
"""A TCP stream whose packets are smaller than this on average is the acknowledgements of a stream the other
way. A frame without data has at most 14 + 20 + 60 = 94 bytes; a full one has 1,514. Such a stream must not be
scheduled nor have a demand: every TCP flow would halve the demand of the flows its receiver sends."""

IDLE_RATE = 0.001
"""A flow below this fraction of the NIC rate (10 kb/s at 10 Mb/s) moves nothing to speak of: a ping, a
connection that waits. Demand estimation would take it to want a share of two NICs."""


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


class _Seen(NamedTuple):
    packets: int = 0
    bytes: int = 0
    age_s: float = 0.0
    rate: float = 0.0
    carries_data: bool = False


class Measurements:
    """Rates of flows, each from its switch's last two whole replies. ``nic_bps`` is the NIC rate in bits/s.

    A rate is the difference of two polls, over that of the entry's ages: the wall clock would also include how long
    the answers travelled. A flow's first rate is over its whole age, and so is that of an entry made anew.
    """

    def __init__(self, nic_bps: float):
        self._nic_bytes_per_s = nic_bps / 8
        self._seen: dict[str, dict[FiveTuple, _Seen]] = {}  # by switch

    def update(self, switch: str, stats: Iterable[FlowStat]) -> None:
        """Take a switch's whole reply; flows that are not in it are forgotten."""
        before = self._seen.get(switch, {})
        self._seen[switch] = {stat.flow: self._look(stat, before.get(stat.flow, _Seen())) for stat in stats}

    def rate(self, switch: str, flow: FiveTuple) -> float:
        """A flow's rate as a fraction of the NIC rate; 0 for acknowledgements and for what is not known yet."""
        seen = self._seen.get(switch, {}).get(flow, _Seen())
        return seen.rate if seen.carries_data and seen.rate >= IDLE_RATE else 0.0

    def _look(self, stat: FlowStat, last: _Seen) -> _Seen:
        if stat.packets < last.packets or stat.bytes < last.bytes or stat.duration_s < last.age_s:  # made anew
            last = _Seen(carries_data=last.carries_data)
        packets, size, elapsed_s = stat.packets - last.packets, stat.bytes - last.bytes, stat.duration_s - last.age_s
        rate = size / elapsed_s / self._nic_bytes_per_s if elapsed_s > 0 else last.rate  # the same counters read twice
        carries_data = size >= ACK_BYTES * packets if packets else last.carries_data
        return _Seen(stat.packets, stat.bytes, stat.duration_s, rate, carries_data or stat.flow.protocol != TCP)
