"""The rules of a switch: what it gets at start, what a flow gets on its way up (Hedera sections 3.1, 3.2).

The way down is fixed and installed at start, by prefix. The way up is one exact entry per flow, at the edge
switch of the source and, when the flow leaves its pod, at the aggregation switch above it. In a network of one's own
nothing but a host is below a switch: the flow has an entry at every switch of its path but the last. Traffic between
two hosts below one edge switch has no choice of path, but its packets carry a flow all the same: it takes
part of both NICs, which demand estimation has to know. So hosts' packets to their neighbours go to the
controller too, and get their exact entry.

With learn actions switches choose new flows' ports upwards themselves, as the paper's do (section 5.3). A new flow's
first packet then waits for no controller. Which port each switch chose, the controller reads from its flow table
(`controllers.flowstats`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from controllers.driver import ARP, CONTROLLER_PORT, ICMP, IPV4, TCP, UDP, FiveTuple, LearnAction, Match, Rule, Spread
from hedera.hash_functions import draw_switch_salts
from hedera.hashes import SALTED
from hedera.routing import Ecmp, Routing, SpanningTree
from topos.fattree import FatTree
from topos.network import Network, PlannedNetwork

# The more a rule knows of a packet, the higher it stands: first a flow's own entry, then hosts of the same switch, then
# the way down by prefix. What is left of IPv4 goes to the controller, and all else (IPv6, LLDP) is dropped.
FLOW_PRIORITY, NEIGHBOUR_PRIORITY, DOWN_PRIORITY, CONTROLLER_PRIORITY, DROP_PRIORITY = 400, 300, 200, 100, 1

# TCP backs off 0.2, 0.4, 0.8, 1.6 s, so that four losses of one segment in a row stay below it; and a finished flow
# soon gives its reservation back.
IDLE_TIMEOUT_S = 5
"""A flow has ended when its entry saw no packet for so long."""

_TO_CONTROLLER = Rule(Match(ethertype=IPV4), CONTROLLER_PRIORITY, CONTROLLER_PORT)
_ARP_TO_CONTROLLER = Rule(Match(ethertype=ARP), CONTROLLER_PRIORITY, CONTROLLER_PORT)
# Without it a table miss is a packet-in, so every IPv6 or LLDP frame would reach the controller.
_DROP = Rule(Match(), DROP_PRIORITY, None)


def make_initial_rules(topo: Network, switch: str) -> list[Rule]:
    """Everything a switch needs before the first flow. Nothing is ever flooded: networks have loops."""
    tree = isinstance(topo, FatTree)
    down = [link for link in map(topo.cable, topo.cables_at(switch)) if link.upper == switch]
    down = [link for link in down if tree or topo.layer(link.lower) == "host"]
    rules = [_make_down_rule(prefix(topo, link.lower), link.upper_port) for link in down]
    layer = topo.layer(switch)
    if layer == "edge":
        neighbours = Match(ethertype=IPV4, dst=prefix(topo, switch) if tree else None)
        rules += [
            Rule(replace(neighbours, in_port=link.upper_port), NEIGHBOUR_PRIORITY, CONTROLLER_PORT) for link in down
        ]
    if layer != "core":
        rules.append(_TO_CONTROLLER)
    if down and topo.layer(down[0].lower) == "host":
        rules.append(_ARP_TO_CONTROLLER)
    return [*rules, _DROP]


def prefix(topo: Network, name: str) -> str:
    """The addresses below a node: its own, those of an edge switch's hosts, those of a pod."""
    pod, edge, host = name.split("_")
    layer = topo.layer(name)
    if layer == "host":
        return f"10.{pod}.{edge}.{host}/32"
    return f"10.{pod}.{edge}.0/24" if layer == "edge" else f"10.{pod}.0.0/16"


def _make_down_rule(prefix: str, port: int) -> Rule:
    return Rule(Match(ethertype=IPV4, dst=prefix), DOWN_PRIORITY, port)


@lru_cache(maxsize=1 << 16)  # asked for every path of every flow in every answer of a switch
def find_entries(topo: Network, src: int, dst: int, core: int) -> Mapping[str, int]:
    """The out port of a flow's entry at each switch that holds one, the downstream one first: it must be there before
    the upstream one sends packets to it."""
    hops = list(pairwise(topo.path(src, dst, core)[1:]))
    many = len(hops) // 2 if isinstance(topo, FatTree) else len(hops) - 1
    return {hop[0]: topo.ports[hop] for hop in reversed(hops[: max(1, many)])}


def make_flow_match(flow: FiveTuple) -> Match:
    """The exact match of a 5-tuple. The in port stays a wildcard: a match without any gets priority 65535."""
    has_ports = flow.protocol in (TCP, UDP, ICMP)
    return Match(
        ethertype=IPV4,
        src=f"{flow.src_ip}/32",
        dst=f"{flow.dst_ip}/32",
        protocol=flow.protocol,
        src_port=flow.src_port if has_ports else None,
        dst_port=flow.dst_port if has_ports else None,
    )


def make_flow_rule(flow: FiveTuple, key: int, port: int, *, notify: bool) -> Rule:
    """A flow's entry at a switch; ``notify`` at the source's edge switch, where its expiry ends the flow."""
    return Rule(make_flow_match(flow), FLOW_PRIORITY, port, key, IDLE_TIMEOUT_S, notify)


LEARNED_COOKIE = 1 << 62
"""Of every entry that a switch has made by itself; keys of flows count from 1."""
_UP_PRIORITY = 120
"""Below that of the way down."""

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

_HASHED = {"5-tuple": 3, "destination": 5}
"""What is hashed: NX_HASH_FIELDS_SYMMETRIC_L3L4_UDP (both directions of a flow alike), NX_HASH_FIELDS_NW_DST."""
_SYMMETRIC_L4 = 1
"""NX_HASH_FIELDS_SYMMETRIC_L4, where the hash is Open vSwitch's own."""


class LearnRules:
    """The rules of every switch, beside those of `controllers.rules`.

    ``routing`` says what is hashed, and by its seed with which salts, or one for all. A switch passes over its own
    ports that are down; a flow that meets a failure further on is moved once its entry has been read. ``interval`` is
    how often that is, in seconds: entries stay long enough to be seen.
    ValueError for a routing that no switch can do by itself.
    """

    def __init__(self, tree: FatTree, routing: Routing, interval: float) -> None:
        hashed = routing.hash if isinstance(routing, Ecmp) else SALTED
        if not isinstance(routing, Ecmp | SpanningTree) or not hashed.learned:
            manner = f"by {hashed}" if isinstance(routing, Ecmp) else f"as {type(routing).__name__} does"
            raise ValueError(f"switches cannot choose paths {manner}")
        self._tree = tree
        self._hash = hashed
        self._seed = routing.seed
        # An entry that ends between two readings takes its counters with it, so it lasts for three of them at least.
        self._idle_timeout = max(IDLE_TIMEOUT_S, math.ceil(3 * interval))
        self._up_ports = tuple(tree.up_port(index) for index in range(tree.half))
        if isinstance(routing, SpanningTree):
            self._up_ports = self._up_ports[:1]

    def rules(self, switch: str) -> list[Rule]:
        rules = make_initial_rules(self._tree, switch)
        if self._tree.layer(switch) != "core":
            rules += self._make_learning_rules(switch, None, self._up_ports, _UP_PRIORITY)
        if self._tree.layer(switch) == "edge":
            # Two hosts below one switch have no choice of path, but their flows need counters (`controllers.rules`).
            for cable in map(self._tree.cable, self._tree.cables_at(switch)):
                if cable.upper == switch:
                    to, port = prefix(self._tree, cable.lower), cable.upper_port
                    rules += self._make_learning_rules(switch, to, (port,), NEIGHBOUR_PRIORITY + 1)
        return rules

    def _make_learning_rules(
        self, switch: str, dst: str | None, ports: tuple[int, ...], priority: int
    ) -> Iterator[Rule]:
        """Rules by which a switch gives new flows that come from below one of ``ports``, and remembers it."""
        # They are for what comes from below alone: a packet that comes from above and has no way down must not go up
        # again.
        salt = draw_switch_salts(self._seed, [self._tree.dpid(switch) if self._hash.salted else 0])[0]
        basis = 0 if self._hash.function == "ovs" else int(salt & np.uint64(0xFFFF))
        fields = _SYMMETRIC_L4 if self._hash.function == "ovs" else _HASHED[self._hash.fields]
        for port in map(self._tree.down_port, range(self._tree.half)):
            # A packet to a neighbour does not come from that neighbour.
            if (port,) == ports:
                continue
            for protocol in (TCP, UDP):
                learn = LearnAction(ports, protocol, fields, basis, FLOW_PRIORITY, LEARNED_COOKIE, self._idle_timeout)
                yield Rule(Match(port, IPV4, None, dst, protocol), priority, None, vendor=learn)


def spread_rules(topo: Network, gap_us: int, switch: str) -> list[Rule]:
    """The rules of a switch that draws a way up for packets or flowlets (`controllers.driver.Spread`), and so has no
    entry of a flow: the controller hears of none. ``topo``: a fat-tree, or of two tiers."""
    asks = (IPV4, CONTROLLER_PORT)
    rules = [rule for rule in make_initial_rules(topo, switch) if (rule.match.ethertype, rule.out_port) != asks]
    if not isinstance(topo, FatTree):
        return rules + _spread_by_destination(topo, gap_us, switch)
    if topo.layer(switch) != "core":
        spread = Spread(tuple(map(topo.up_port, range(topo.half))), gap_us)
        below = map(topo.down_port, range(topo.half))
        rules += [Rule(Match(port, IPV4), _UP_PRIORITY, None, vendor=spread) for port in below]
    return rules


def _spread_by_destination(topo: PlannedNetwork, gap_us: int, switch: str) -> list[Rule]:
    """The ports to each host that is not at the switch, by the paths there."""
    below = [host for host in range(topo.num_hosts) if topo.edge_of(host) == switch]
    rules = []
    for dst in range(topo.num_hosts):
        to, edge = prefix(topo, topo.host_name(dst)), topo.edge_of(dst)
        if below and edge != switch:
            ports = (find_entries(topo, below[0], dst, core)[switch] for core in topo.path_cores(below[0], dst))
            spread = Spread(tuple(dict.fromkeys(ports)), gap_us)
            rules.append(Rule(Match(ethertype=IPV4, dst=to), _UP_PRIORITY, None, vendor=spread))
        elif not below and (switch, edge) in topo.ports:
            rules.append(_make_down_rule(to, topo.ports[switch, edge]))
    return rules


# --- what a switch is sent ---------------------------------------------------------------------------------


def encode_nicira_actions(vendor: LearnAction | Spread) -> bytes:
    """Nicira's actions for OpenFlow 1.0, as bytes: platforms know them in part, each in a way of its own.

    Layouts as in Open vSwitch's ``include/openflow/nicira-ext.h`` and ovs-actions(7).
    """
    if isinstance(vendor, Spread):
        mark = _encode_action(_REG_LOAD, struct.pack("!HIQ", 31, _PACKET_MARK, SPREADS | vendor.gap_us))
        return mark + b"".join(struct.pack("!HHHH", 0, 8, port, 0) for port in vendor.ports)
    return (
        _choose(vendor.ports, vendor.fields, vendor.basis)
        + _learn(vendor.protocol, vendor.priority, vendor.cookie, vendor.idle_timeout)
        + _encode_output()
    )


def _choose(ports: Sequence[int], fields: int, basis: int) -> bytes:
    """Put one of ``ports`` into the register: the only one, or by a hash of ``fields`` with a 16-bit ``basis``.

    By highest random weight (Thaler and Ravishankar, 1998) among the ports that are up: when one fails, only its
    flows go elsewhere.
    """
    offset_and_bits = _PORT_BITS - 1
    if len(ports) == 1:
        return _encode_action(_REG_LOAD, struct.pack("!HIQ", offset_and_bits, _REGISTER, ports[0]))
    head = struct.pack(
        "!HHHIHHI4x", _HIGHEST_RANDOM_WEIGHT, fields, basis, _IN_PORT, len(ports), offset_and_bits, _REGISTER
    )
    return _encode_action(_BUNDLE_LOAD, head + struct.pack(f"!{len(ports)}H", *ports))


def _learn(protocol: int, priority: int, cookie: int, idle_timeout: int) -> bytes:
    """Add an entry for the packet's 5-tuple, of TCP or UDP, that sends to the port in the register."""
    head = struct.pack("!HHHQHBxHH", idle_timeout, 0, priority, cookie, 0, 0, 0, 0)
    match = _match_constant(_ETH_TYPE, 16, IPV4) + _match_constant(_IP_PROTO, 8, protocol)
    match += _match_copied(_IP_SRC, 32) + _match_copied(_IP_DST, 32)
    for field in _PORTS[protocol]:
        match += _match_copied(field, 16)
    output = struct.pack("!HIH", _TO_OUTPUT | _PORT_BITS, _REGISTER, 0)
    return _encode_action(_LEARN, head + match + output)


def _encode_output() -> bytes:
    return _encode_action(_OUTPUT_REG, struct.pack("!HIH6x", _PORT_BITS - 1, _REGISTER, 0))


def _encode_action(subtype: int, body: bytes) -> bytes:
    length = -(-(10 + len(body)) // 8) * 8
    return struct.pack("!HHIH", _ACTION, length, VENDOR, subtype) + body.ljust(length - 10, b"\0")


def _match_constant(field: int, bits: int, value: int) -> bytes:
    """Part of `_learn`: match a constant, in whole 16-bit words."""
    return struct.pack("!HHIH", _IMMEDIATE | bits, value, field, 0)


def _match_copied(field: int, bits: int) -> bytes:
    """Part of `_learn`: match what the packet has in a field."""
    return struct.pack("!HIHIH", bits, field, 0, field, 0)
