"""Rules with learn actions: switches choose new flows' ports upwards themselves, as the paper's do (section 5.3).

A new flow's first packet then waits for no controller. Which port each switch chose, the controller reads from its
flow table (`controllers.entries`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence

import numpy as np

from controllers.driver import CONTROLLER_PORT, LearnAction, Match, Rule, Spread
from controllers.packet import IPV4, TCP, UDP
from controllers.rules import FLOW_PRIORITY, IDLE_TIMEOUT_S, NEIGHBOUR_PRIORITY, initial_rules, prefix
from hedera.hashing import switch_salts
from hedera.routing import Ecmp, EcmpDestination, RandomPath, Routing, SpanningTree
from topos.fattree import FatTree

LEARNED_COOKIE = 1 << 62
"""Of every entry that a switch has made by itself; keys of flows count from 1."""
_UP_PRIORITY = 120
"""Below that of the way down."""
_ROUTINGS = (Ecmp, EcmpDestination, RandomPath, SpanningTree)

VENDOR = 0x2320
_ACTION = 0xFFFF  # OFPAT_VENDOR
_REG_LOAD, _BUNDLE_LOAD, _OUTPUT_REG, _LEARN = 7, 13, 15, 16
_HIGHEST_RANDOM_WEIGHT = 1
_REGISTER = 1 << 16 | 1 << 9 | 4  # NXM_NX_REG1: where the chosen port is kept
_PORT_BITS = 16
_PACKET_MARK = 1 << 16 | 33 << 9 | 4  # NXM_NX_PKT_MARK
SPREADS = 0x48 << 24
"""The mark of a packet that is to leave by one of the ports that follow; below it, the gap."""
_IN_PORT = 0 << 9 | 2  # NXM_OF_IN_PORT: what the members of a bundle are, ports
_ETH_TYPE, _IP_PROTO, _IP_SRC, _IP_DST = 3 << 9 | 2, 6 << 9 | 1, 7 << 9 | 4, 8 << 9 | 4
_PORTS = {TCP: (9 << 9 | 2, 10 << 9 | 2), UDP: (11 << 9 | 2, 12 << 9 | 2)}
_IMMEDIATE, _TO_OUTPUT = 1 << 13, 2 << 11

_BY_FIVE_TUPLE, _BY_DESTINATION = 3, 5
"""What is hashed: NX_HASH_FIELDS_SYMMETRIC_L3L4_UDP (both directions of a flow alike), NX_HASH_FIELDS_NW_DST."""


class LearnRules:
    """The rules of every switch, beside those of `controllers.rules`.

    ``routing`` says what is hashed, and by its seed with which salts. A switch passes over its own ports that are down;
    a flow that meets a failure further on is moved once its entry has been read. ``interval`` is how often that is, in
    seconds: entries stay long enough to be seen. Raises ValueError for a routing that no switch can do by itself.
    """

    def __init__(self, tree: FatTree, routing: Routing, interval: float) -> None:
        if type(routing) not in _ROUTINGS:
            raise ValueError(f"switches cannot choose paths as {type(routing).__name__} does")
        self._tree = tree
        self._by_destination = isinstance(routing, EcmpDestination)
        self._seed = routing.seed
        self._idle_timeout = max(IDLE_TIMEOUT_S, math.ceil(3 * interval))
        self._up_ports = tuple(tree.up_port(index) for index in range(tree.half))
        if isinstance(routing, SpanningTree):
            self._up_ports = self._up_ports[:1]

    def rules(self, switch: str) -> list[Rule]:
        rules = initial_rules(self._tree, switch)
        if self._tree.layer(switch) != "core":
            rules += self._learning(switch, None, self._up_ports, _UP_PRIORITY)
        if self._tree.layer(switch) == "edge":
            # Two hosts below one switch have no choice of path, but their flows need counters (`controllers.rules`).
            for cable in map(self._tree.cable, self._tree.cables_at(switch)):
                if cable.upper == switch:
                    to, port = prefix(self._tree, cable.lower), cable.upper_port
                    rules += self._learning(switch, to, (port,), NEIGHBOUR_PRIORITY + 1)
        return rules

    def _learning(self, switch: str, dst: str | None, ports: tuple[int, ...], priority: int) -> Iterator[Rule]:
        """Only for what comes from below: a packet that comes from above and has no way down must not go up again."""
        basis = int(switch_salts(self._seed, [self._tree.dpid(switch)])[0] & np.uint64(0xFFFF))
        for port in map(self._tree.down_port, range(self._tree.half)):
            if (port,) == ports:
                continue  # to its own sender
            for protocol in (TCP, UDP):
                learn = LearnAction(
                    ports, protocol, basis, FLOW_PRIORITY, LEARNED_COOKIE, self._idle_timeout, self._by_destination
                )
                yield Rule(Match(port, IPV4, None, dst, protocol), priority, None, vendor=learn)


def spread_rules(tree: FatTree, gap_us: int, switch: str) -> list[Rule]:
    """The rules of a switch that draws a way up for packets or flowlets (`controllers.driver.Spread`), and so has no
    entry of a flow: the controller hears of none."""
    asks = (IPV4, CONTROLLER_PORT)
    rules = [rule for rule in initial_rules(tree, switch) if (rule.match.ethertype, rule.out_port) != asks]
    if tree.layer(switch) != "core":
        spread = Spread(tuple(map(tree.up_port, range(tree.half))), gap_us)
        below = map(tree.down_port, range(tree.half))
        rules += [Rule(Match(port, IPV4), _UP_PRIORITY, None, vendor=spread) for port in below]
    return rules


# --- what a switch is sent ---------------------------------------------------------------------------------


def nicira_actions(vendor: LearnAction | Spread) -> bytes:
    """Nicira's actions for OpenFlow 1.0, as bytes: platforms know them in part, each in a way of its own.

    Layouts as in Open vSwitch's ``include/openflow/nicira-ext.h`` and ovs-actions(7).
    """
    if isinstance(vendor, Spread):
        mark = _action(_REG_LOAD, struct.pack("!HIQ", 31, _PACKET_MARK, SPREADS | vendor.gap_us))
        return mark + b"".join(struct.pack("!HHHH", 0, 8, port, 0) for port in vendor.ports)
    fields = _BY_DESTINATION if vendor.by_destination else _BY_FIVE_TUPLE
    return (
        _choose(vendor.ports, fields, vendor.basis)
        + _learn(vendor.protocol, vendor.priority, vendor.cookie, vendor.idle_timeout)
        + _output()
    )


def _choose(ports: Sequence[int], fields: int, basis: int) -> bytes:
    """Put one of ``ports`` into the register: the only one, or by a hash of ``fields`` with a 16-bit ``basis``.

    By highest random weight (Thaler and Ravishankar, 1998) among the ports that are up: when one fails, only its
    flows go elsewhere.
    """
    offset_and_bits = _PORT_BITS - 1
    if len(ports) == 1:
        return _action(_REG_LOAD, struct.pack("!HIQ", offset_and_bits, _REGISTER, ports[0]))
    head = struct.pack(
        "!HHHIHHI4x", _HIGHEST_RANDOM_WEIGHT, fields, basis, _IN_PORT, len(ports), offset_and_bits, _REGISTER
    )
    return _action(_BUNDLE_LOAD, head + struct.pack(f"!{len(ports)}H", *ports))


def _learn(protocol: int, priority: int, cookie: int, idle_timeout: int) -> bytes:
    """Add an entry for the packet's 5-tuple, of TCP or UDP, that sends to the port in the register."""
    head = struct.pack("!HHHQHBxHH", idle_timeout, 0, priority, cookie, 0, 0, 0, 0)
    match = _constant(_ETH_TYPE, 16, IPV4) + _constant(_IP_PROTO, 8, protocol)
    match += _copied(_IP_SRC, 32) + _copied(_IP_DST, 32)
    for field in _PORTS[protocol]:
        match += _copied(field, 16)
    output = struct.pack("!HIH", _TO_OUTPUT | _PORT_BITS, _REGISTER, 0)
    return _action(_LEARN, head + match + output)


def _output() -> bytes:
    return _action(_OUTPUT_REG, struct.pack("!HIH6x", _PORT_BITS - 1, _REGISTER, 0))


def _action(subtype: int, body: bytes) -> bytes:
    length = -(-(10 + len(body)) // 8) * 8
    return struct.pack("!HHIH", _ACTION, length, VENDOR, subtype) + body.ljust(length - 10, b"\0")


def _constant(field: int, bits: int, value: int) -> bytes:
    """Part of `_learn`: match a constant, in whole 16-bit words."""
    return struct.pack("!HHIH", _IMMEDIATE | bits, value, field, 0)


def _copied(field: int, bits: int) -> bytes:
    """Part of `_learn`: match what the packet has in a field."""
    return struct.pack("!HIHIH", bits, field, 0, field, 0)
