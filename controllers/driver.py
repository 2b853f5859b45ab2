"""The boundary between the neutral controller and an OpenFlow 1.0 platform: plain values both ways.

The controller calls a `Driver`; the platform's adapter calls the controller's methods (`switch_up`,
`packet_in`, ...) from one thread only. Nothing here knows POX or os-ken.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from controllers.packet import FiveTuple

CONTROLLER_PORT = 0xFFFD
"""OFPP_CONTROLLER: as an out port, the whole packet goes to the controller."""

LAST_PORT = 0xFF00
"""OFPP_MAX: ports beyond are not cables but the switch itself, or a meaning such as the controller."""

DELETED = 2
"""OFPRR_DELETE: the reason of a flow-removed message that a delete caused, not a timeout."""


@dataclass(frozen=True, slots=True)
class Match:
    """An OpenFlow 1.0 match. None is a wildcard; ``src`` and ``dst`` are IPv4 prefixes, ``10.0.1.0/24``."""

    in_port: int | None = None
    ethertype: int | None = None
    src: str | None = None
    dst: str | None = None
    protocol: int | None = None
    src_port: int | None = None
    dst_port: int | None = None


@dataclass(frozen=True, slots=True)
class LearnAction:
    """What a switch does with a new flow by itself: it sends it by one of ``ports``, and remembers that in an entry
    of the flow's own, with counters, which goes when it saw no packet for ``idle_timeout`` seconds.

    The port is chosen by a hash, of the destination or of the whole 5-tuple, with ``basis`` (16 bits) as the salt.
    The entry is for ``protocol``, TCP or UDP, and has this ``priority`` and ``cookie``.
    """

    ports: tuple[int, ...]
    protocol: int
    basis: int
    priority: int
    cookie: int
    idle_timeout: int
    by_destination: bool = False


@dataclass(frozen=True, slots=True)
class Spread:
    """Each packet goes by one of ``ports``; a flow's next one may draw another after ``gap_us`` microseconds without
    any, and 0 is always. For our guests' kernel alone (virtual/kernel/patches): others send by all ports."""

    ports: tuple[int, ...]
    gap_us: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A flow-table entry with at most one output. ``out_port`` None drops; a timeout of 0 never expires.

    ``notify`` asks the switch for a flow-removed message. Timeouts are in seconds. ``vendor`` is done in the
    place of ``out_port``.
    """

    match: Match
    priority: int
    out_port: int | None
    cookie: int = 0
    idle_timeout: int = 0
    notify: bool = False
    vendor: LearnAction | Spread | None = None


class FlowStat(NamedTuple):
    """A flow's entry in a flow-statistics reply: counters, and the entry's age in seconds.

    Entries with cookie 0 are no flows: adapters leave them out.
    """

    cookie: int
    flow: FiveTuple
    out_port: int
    packets: int
    bytes: int
    duration_s: float


class Driver(Protocol):
    """What a platform does for the controller. Messages to a switch that is gone are dropped silently."""

    def clear(self, dpid: int) -> None:
        """Delete every entry of a switch."""

    def install(self, dpid: int, rule: Rule, modify: bool = False) -> None:
        """Send a rule as ADD, or as MODIFY_STRICT, which keeps the counters of an entry that exists."""

    def packet_out(self, dpid: int, port: int, frame: bytes) -> None:
        """Send a frame out of a port."""

    def request_flow_stats(self, dpid: int, xid: int) -> None:
        """Ask for all entries; each part of the reply comes back as ``flow_stats(dpid, xid, ...)``."""

    def barrier(self, dpid: int, xid: int) -> None:
        """Ask for ``barrier_reply(dpid, xid)`` once all that was sent before has been done."""

    def call_later(self, delay_s: float, function: Callable[[], None]) -> None:
        """Call a function once, in the controller's thread."""

    def now(self) -> float:
        """Monotonic time in seconds."""
        ...


def guarded(handler: Callable[..., None]) -> Callable[..., None]:
    """Decorator for an adapter's handlers: what one raises is logged, in the event log too, and it goes on.

    os-ken would stop handling events without a word; POX would say so on standard error alone. The adapter
    has its `Controller` as ``core``.
    """

    @functools.wraps(handler)
    def guard(adapter: Any, *event: Any) -> None:
        try:
            handler(adapter, *event)
        except Exception as error:
            logging.getLogger(__name__).exception("%s has failed", handler.__name__)
            adapter.core.error(f"{handler.__name__}: {type(error).__name__}: {error}")

    return guard


def until(now: float, every_s: float, past_s: float = 0.0) -> float:
    """Seconds until a clock that says ``now`` is ``past_s`` after a whole number of ``every_s``; 0 where it is.

    What a controller does again and again it does at such moments, so that the fractions of a second that starting took
    do not decide what comes first.
    """
    return (past_s - now) % every_s
