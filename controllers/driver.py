"""The boundary between the neutral controller and an OpenFlow 1.0 platform: plain values both ways, the few frames that
it reads and writes (IPv4 5-tuples in, ARP replies out), and its log.

The controller calls a `Driver`; the platform's adapter calls the controller's methods (`switch_up`,
`packet_in`, ...) from one thread only. Nothing here knows POX or os-ken.
"""

from __future__ import annotations

import functools
import json
import logging
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

from topos.wire import ETHERNET_HEADER, IP_HEADER

CONTROLLER_PORT = 0xFFFD
"""OFPP_CONTROLLER: as an out port, the whole packet goes to the controller."""

LAST_PORT = 0xFF00
"""OFPP_MAX: ports beyond are not cables but the switch itself, or a meaning such as the controller."""

DELETED = 2
"""OFPRR_DELETE: the reason of a flow-removed message that a delete caused, not a timeout."""
IPV4, ARP = 0x0800, 0x0806
ICMP, TCP, UDP = 1, 6, 17

_ARP_FIXED = struct.pack("!HHBB", 1, IPV4, 6, 4)  # Ethernet and IPv4, with their address lengths
_ARP_REQUEST, _ARP_REPLY = 1, 2


class FiveTuple(NamedTuple):
    """What identifies a flow. For ICMP the ports are type and code, as OpenFlow 1.0 has it (section 5.2.3).

    Addresses are dotted strings. Ports are 0 for other protocols and for every fragment: that is what
    Open vSwitch matches a fragment with.
    """

    protocol: int
    src_ip: str
    dst_ip: str
    src_port: int
    dst_port: int


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

    The port is chosen by a hash of ``fields`` (enum nx_hash_fields), with ``basis`` (16 bits) as the salt.
    The entry is for ``protocol``, TCP or UDP, and has this ``priority`` and ``cookie``.
    """

    ports: tuple[int, ...]
    protocol: int
    fields: int
    basis: int
    priority: int
    cookie: int
    idle_timeout: int


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
    """Decorator for an adapter's handlers: what one raises is logged, in the event log too, and it goes on. The adapter
    has its `Controller` as ``core``."""
    # os-ken would stop handling events without a word; POX would say so on standard error alone.

    @functools.wraps(handler)
    def guard(adapter: Any, *event: Any) -> None:
        try:
            handler(adapter, *event)
        except Exception as error:
            logging.getLogger(__name__).exception("%s has failed", handler.__name__)
            adapter.core.error(f"{handler.__name__}: {type(error).__name__}: {error}")

    return guard


def compute_delay(now: float, every_s: float, past_s: float = 0.0) -> float:
    """Seconds until a clock that says ``now`` is ``past_s`` after a whole number of ``every_s``; 0 where it is."""
    # A controller does at such moments what it does again and again. So the fractions of a second that its start took,
    # which are others on every machine, do not decide what it measures: one seed is one result.
    return (past_s - now) % every_s


# --- frames ---


class ArpRequest(NamedTuple):
    """Who asks (MAC as bytes, address as dotted string), and for whom."""

    sender_mac: bytes
    sender_ip: str
    target_ip: str


def parse(frame: bytes) -> FiveTuple | ArpRequest | None:
    """What a frame is about; None for anything but a whole IPv4 packet or an ARP request.

    A frame cut short by the switch is None as well: sending it on would deliver a broken packet.
    """
    if len(frame) < ETHERNET_HEADER + IP_HEADER:
        return None
    ethertype = frame[12] << 8 | frame[13]
    if ethertype == IPV4:
        return _parse_ipv4(frame)
    if ethertype == ARP:
        return _parse_arp(frame)
    return None


def _parse_ipv4(frame: bytes) -> FiveTuple | None:
    version_ihl, _, length, _, fragment, _, protocol = struct.unpack_from("!BBHHHBB", frame, ETHERNET_HEADER)
    header = (version_ihl & 0xF) * 4
    if version_ihl >> 4 != 4 or header < IP_HEADER or length < header or len(frame) < ETHERNET_HEADER + length:
        return None
    src, dst = socket.inet_ntoa(frame[26:30]), socket.inet_ntoa(frame[30:34])
    transport = ETHERNET_HEADER + header
    is_fragment = fragment & 0x3FFF  # more-fragments flag or an offset; the don't-fragment flag aside
    ports = (0, 0)
    if not is_fragment and length >= header + 4:
        if protocol in (TCP, UDP):
            ports = struct.unpack_from("!HH", frame, transport)
        elif protocol == ICMP:
            ports = (frame[transport], frame[transport + 1])
    return FiveTuple(protocol, src, dst, *ports)


def _parse_arp(frame: bytes) -> ArpRequest | None:
    arp = frame[ETHERNET_HEADER:]
    if len(arp) < 28 or arp[:6] != _ARP_FIXED or arp[6:8] != struct.pack("!H", _ARP_REQUEST):
        return None
    return ArpRequest(arp[8:14], socket.inet_ntoa(arp[14:18]), socket.inet_ntoa(arp[24:28]))


def make_arp_reply(request: ArpRequest, target_mac: str) -> bytes:
    """The frame that answers ``request``: its target address is at ``target_mac`` (colon notation)."""
    mac = bytes.fromhex(target_mac.replace(":", ""))
    return (
        request.sender_mac
        + mac
        + struct.pack("!H", ARP)
        + _ARP_FIXED
        + struct.pack("!H", _ARP_REPLY)
        + mac
        + socket.inet_aton(request.target_ip)
        + request.sender_mac
        + socket.inet_aton(request.sender_ip)
    )


# --- the log ---


class EventLog:
    """The controller's log: one JSON object per line, written through at once, because others read it live.

    Every event has ``t`` (seconds since the epoch) and ``event``. Hosts, cores, rounds and keys are numbers; rates
    and demands are fractions of the NIC rate; times ending in ``_s`` are seconds.

        start     scheme, platform, platform_version, k, seed, interval_s, bw_mbps, threshold, large_flows, new_flows,
                  iterations, listen
        alive     every second: processor_s, packet_ins, packet_outs, flow_mods, statistics_requests,
                  statistics_bytes, all since the start
        switch    dpid, name, state: up or down
        port      dpid, name, port, state: up or down
        ready     switches: all are connected, and all have confirmed their rules
        flow      key, src, dst, src_ip, dst_ip, proto, src_port, dst_port, core, reason: hashed, or adopted when it
                  was known again from a switch's entry, or learned when the switches had placed it by themselves, age_s
                  before
        reroute   key, core, round: None when a failure was the reason
        expired   key
        round     round, polled_s (first request to last reply), compute_s, install_s (to the last confirmation),
                  flows (all known), large, placed (large flows off their hashed path), changed, large_flows: key,
                  src, dst, rate, demand, core of each
        error     message

    Without a path nothing is written. ``clock`` gives seconds since the epoch.

    Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str | Path | None, clock: Callable[[], float] = time.time):
        # Line by line: the harness reads it while it is written, and a controller that is killed leaves half a line at
        # most.
        self._file: IO[str] | None = open(path, "a", buffering=1) if path else None  # noqa: SIM115
        self._clock = clock

    def __call__(self, event: str, **fields: Any) -> None:
        """Write one event with its time ``t``."""
        if self._file is not None:
            line = json.dumps({"t": self._clock(), "event": event, **fields}, separators=(",", ":"))
            self._file.write(line + "\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
