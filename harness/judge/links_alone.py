"""What a run would have received if packets had waited in the queues of the links alone: whether TCP was slow, or the
machine.

A flow sends a window in a round trip. Its round trip is what the queues on its path hold, there and back, and what
the machine takes beside: packets in the sockets of a forwarding process, ports that are not served in time, receivers
that have no processor. Without the latter the same window would have brought more, up to the flow's max-min fair
rate. Where TCP has yet to find its window, that is still little; where the machine is too slow, it is nearly all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.judge.flows import MeasuredFlow, Window
from harness.run.round_trips import Look
from results.parts import RoundTrips
from topos.links import NO_LINK, path_links, sending_ports
from topos.network import Network
from topos.wire import acknowledgements_per_payload, wire_per_payload

FEWEST_LOOKS = 3
"""Within a window, for a mean to say something."""


@dataclass(frozen=True)
class Underway:
    """Round trips, and what of them the queues of the links hold, seconds: float64 (looks, flows), a round trip nan
    where it is not known; ``t``: float64 (looks,), seconds since the traffic started."""

    t: NDArray[np.float64]
    rtt_s: NDArray[np.float64]
    queues_s: NDArray[np.float64]

    def record(self) -> RoundTrips:
        """As it is stored: means over the flows."""
        known = ~np.isnan(self.rtt_s)
        seen = known.any(axis=1)

        def means_ms(values: NDArray[np.float64]) -> tuple[float, ...]:
            rows = zip(values[seen], known[seen], strict=True)
            return tuple(round(float(np.mean(row[there])) * 1e3, 3) for row, there in rows)

        t = tuple(round(t, 3) for t in self.t[seen].tolist())
        return RoundTrips(t=t, rtt_ms=means_ms(self.rtt_s), queues_ms=means_ms(self.queues_s))


@dataclass(frozen=True)
class LinksAlone:
    """Of all flows together over ``window``, Mb/s on the wire: what was received, and what would have been."""

    window: Window
    delivered_mbps: float
    allowed_mbps: float

    @property
    def share(self) -> float:
        """What the machine has left of it."""
        return self.delivered_mbps / self.allowed_mbps if self.allowed_mbps else 1.0


def underway(topo: Network, flows: Sequence[MeasuredFlow], looks: Sequence[Look], begin: float, bw: float) -> Underway:
    """What was seen of the flows' round trips on links of ``bw`` Mb/s; the traffic started at ``begin`` (epoch)."""
    ports = sending_ports(topo)
    rtt, queues = np.full((len(looks), len(flows)), np.nan), np.zeros((len(looks), len(flows)))
    for row, look in enumerate(looks):
        t = look.t - begin
        # One more place, of nothing, for the links that a short path has not.
        waits = np.array([*(look.queued_bytes.get(port, 0) for port in ports), 0]) * 8e-6 / bw
        for streams in ([f.routed for f in flows], [f.acknowledgements for f in flows]):
            ends = [one.src for one in streams], [one.dst for one in streams]
            links = np.array(path_links(topo, *ends, [one.core_at(t) for one in streams]))
            links[links == NO_LINK] = len(ports)
            queues[row] += waits[links].sum(axis=1)
        rtt[row] = [look.rtt_s.get((f.routed.src, f.routed.dst, f.src_port), np.nan) for f in flows]
    return Underway(np.array([look.t - begin for look in looks]), rtt, queues)


def links_alone(
    seen: Underway, flows: Sequence[MeasuredFlow], fair_mbps: NDArray[np.float64], window: Window, mtu: int
) -> LinksAlone | None:
    """The flows over a window; None where too little was seen. ``fair_mbps``: the max-min fair rates, float64
    (flows,). A flow of which no round trip is known could have had its fair rate."""
    inside = (seen.t >= window[0]) & (seen.t < window[1])
    rtt_s = seen.rtt_s[inside]
    known = ~np.isnan(rtt_s)
    if np.count_nonzero(known.any(axis=1)) < FEWEST_LOOKS:
        return None
    on_the_wire = wire_per_payload(mtu) + acknowledgements_per_payload(mtu)
    got = np.array([flow.mean_mbps(window) for flow in flows]) * on_the_wire
    whole = np.where(known, rtt_s, 0.0).sum(axis=0)
    in_queues = np.where(known, seen.queues_s[inside], 0.0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        faster = np.where(known.any(axis=0), got * whole / in_queues, np.inf)
    allowed = np.maximum(got, np.fmin(fair_mbps, np.nan_to_num(faster, nan=np.inf)))
    return LinksAlone(window, float(got.sum()), float(allowed.sum()))
