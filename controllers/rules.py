"""The rules of a switch: what it gets at start, what a flow gets on its way up (Hedera sections 3.1, 3.2).

The way down is fixed and installed at start, by prefix. The way up is one exact entry per flow, at the edge
switch of the source and, when the flow leaves its pod, at the aggregation switch above it. In a network of one's own
nothing but a host is below a switch: the flow has an entry at every switch of its path but the last. Traffic between
two hosts below one edge switch has no choice of path, but its packets carry a flow all the same: it takes
part of both NICs, which demand estimation has to know. So hosts' packets to their neighbours go to the
controller too, and get their exact entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from controllers.driver import CONTROLLER_PORT, Match, Rule
from controllers.packet import ARP, ICMP, IPV4, TCP, UDP, FiveTuple
from topos.fattree import FatTree
from topos.network import Network

FLOW_PRIORITY, NEIGHBOUR_PRIORITY, DOWN_PRIORITY, CONTROLLER_PRIORITY, DROP_PRIORITY = 400, 300, 200, 100, 1

IDLE_TIMEOUT_S = 5
"""A flow has ended when its entry saw no packet for so long. TCP backs off 0.2, 0.4, 0.8, 1.6 s, so
four losses of one segment in a row stay below it; and a finished flow soon gives its reservation back."""

_TO_CONTROLLER = Rule(Match(ethertype=IPV4), CONTROLLER_PRIORITY, CONTROLLER_PORT)
_ARP_TO_CONTROLLER = Rule(Match(ethertype=ARP), CONTROLLER_PRIORITY, CONTROLLER_PORT)
# Without it a table miss is a packet-in, so every IPv6 or LLDP frame would reach the controller.
_DROP = Rule(Match(), DROP_PRIORITY, None)


def initial_rules(topo: Network, switch: str) -> list[Rule]:
    """Everything a switch needs before the first flow. Nothing is ever flooded: networks have loops."""
    tree = isinstance(topo, FatTree)
    down = [link for link in map(topo.cable, topo.cables_at(switch)) if link.upper == switch]
    down = [link for link in down if tree or topo.layer(link.lower) == "host"]
    rules = [_down(prefix(topo, link.lower), link.upper_port) for link in down]
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


def _down(prefix: str, port: int) -> Rule:
    return Rule(Match(ethertype=IPV4, dst=prefix), DOWN_PRIORITY, port)


@lru_cache(maxsize=1 << 16)  # asked for every path of every flow in every answer of a switch
def entries(topo: Network, src: int, dst: int, core: int) -> Mapping[str, int]:
    """The out port of a flow's entry at each switch that holds one, the downstream one first: it must be there before
    the upstream one sends packets to it."""
    hops = list(pairwise(topo.path(src, dst, core)[1:]))
    many = len(hops) // 2 if isinstance(topo, FatTree) else len(hops) - 1
    return {hop[0]: topo.ports[hop] for hop in reversed(hops[: max(1, many)])}


def flow_match(flow: FiveTuple) -> Match:
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


def flow_rule(flow: FiveTuple, key: int, port: int, *, notify: bool) -> Rule:
    """A flow's entry at a switch; ``notify`` at the source's edge switch, where its expiry ends the flow."""
    return Rule(flow_match(flow), FLOW_PRIORITY, port, key, IDLE_TIMEOUT_S, notify)
