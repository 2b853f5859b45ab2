"""The flows the controller knows: soft state, by 5-tuple and by key."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from controllers.eventlog import EventLog
from controllers.packet import FiveTuple
from controllers.rules import entries
from hedera.routing import Routing
from topos.network import Network


@dataclass(slots=True)
class KnownFlow:
    """One flow between two hosts. ``key`` is unique among all flows ever seen, and the cookie of its entries.

    ``source`` is the edge switch of its sender. ``hashed`` is the core of its static path, ``core`` that of its
    path now. ``installed_at`` is when its entries were last sent (driver time, seconds).
    """

    key: int
    five_tuple: FiveTuple
    src: int
    dst: int
    source: str
    hashed: int
    core: int
    installed_at: float


class KnownFlows:
    """All flows that have not expired. The log says when one comes and when it goes.

    ``routing`` gives flows their static paths; None where there is no choice of path, and so no flow to know.
    """

    def __init__(self, tree: Network, routing: Routing | None, log: EventLog) -> None:
        self._tree = tree
        self._routing = routing
        self._log = log
        self._by_tuple: dict[FiveTuple, KnownFlow] = {}
        self._by_key: dict[int, KnownFlow] = {}
        self._last_key = 0

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[KnownFlow]:
        return iter(self._by_key.values())

    def find(self, five_tuple: FiveTuple) -> KnownFlow | None:
        return self._by_tuple.get(five_tuple)

    def get(self, key: int) -> KnownFlow | None:
        return self._by_key.get(key)

    def ends(self, switch: str, packet: FiveTuple) -> tuple[int, int] | None:
        """Source and destination of a packet; None unless they are two hosts, and the switch has an entry of such a
        flow by some path."""
        tree = self._tree
        src, dst = tree.host_by_ip.get(packet.src_ip), tree.host_by_ip.get(packet.dst_ip)
        if src is None or dst is None or src == dst:
            return None
        known = switch == tree.edge_of(src)
        known = known or any(switch in entries(tree, src, dst, core) for core in tree.path_cores(src, dst))
        return (src, dst) if known else None

    def route(self, packet: FiveTuple, src: int, dst: int) -> int:
        """The core of a flow's static path."""
        assert self._routing is not None
        return int(self._routing.cores(src, dst, packet.src_port, packet.dst_port, packet.protocol)[0])

    def add(
        self, five_tuple: FiveTuple, src: int, dst: int, core: int, now: float, *, key: int | None = None, **said: Any
    ) -> KnownFlow:
        """Start to know a flow on its first path; ``key`` is given when it already has one. ``said``: for the log."""
        key = self._last_key + 1 if key is None else key
        self._last_key = max(self._last_key, key)
        source = self._tree.edge_of(src)
        flow = KnownFlow(key, five_tuple, src, dst, source, hashed=core, core=core, installed_at=now)
        self._by_tuple[five_tuple] = self._by_key[key] = flow
        protocol, src_ip, dst_ip, src_port, dst_port = five_tuple
        header = {"src_ip": src_ip, "dst_ip": dst_ip, "proto": protocol, "src_port": src_port, "dst_port": dst_port}
        self._log("flow", key=key, src=src, dst=dst, **header, core=core, **said)
        return flow

    def expire(self, flow: KnownFlow) -> None:
        del self._by_key[flow.key], self._by_tuple[flow.five_tuple]
        self._log("expired", key=flow.key)

    def expire_missing(self, switch: str, there: Container[FiveTuple], asked_at: float) -> None:
        """End a switch's flows that its whole reply, asked for at ``asked_at``, does not have.

        The notice of expiry can be lost with a connection; a reservation must not stay for ever.
        """
        for flow in [flow for flow in self if flow.source == switch]:
            if flow.five_tuple not in there and flow.installed_at < asked_at:
                self.expire(flow)
