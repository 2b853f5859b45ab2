"""What links carried, against what they should have: whether flows took the paths that the controller says they took,
and which links have to be full all the time, where a machine that is too slow shows.

What a flow delivered, every link of its path has carried. So a link to which the log gives flows that delivered more
than its own counter saw carried something else: the log is wrong, or the switches do not do what they were told. The
other direction says nothing: a link also carries what is dropped behind it and sent again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.run.observation import Outage
from harness.run.spec import RunSpec
from harness.verdict.fair import Window, fair
from harness.verdict.flows import MeasuredFlow
from record import parts
from record.run import mean_over
from topos.arrays import Float64
from topos.links import link_rates, num_links, path_links, sending_ports
from topos.network import Network
from topos.wire import acknowledgements_per_payload, wire_per_payload

MOVED_S = 0.25
"""How far the log's time of a move and that of the first packet on the new path may be apart, beside the queue. For
both a flow still delivers what came by its old path: packets that were in a queue there, and those behind them that
had come before."""


@dataclass(frozen=True)
class Claim:
    """A link by its sending port: what the flows placed on it delivered, what its counter says, and how far the
    first may exceed the second because of flows that moved; all Mb/s on the wire over one window."""

    port: str
    delivered_mbps: float
    carried_mbps: float
    slack_mbps: float

    @property
    def excess_mbps(self) -> float:
        return self.delivered_mbps - self.carried_mbps - self.slack_mbps


def claims(
    topo: Network, spec: RunSpec, flows: Sequence[MeasuredFlow], window: Window, carried: Mapping[str, float]
) -> list[Claim]:
    """Every link that any flow is said to have used; ``carried``: Mb/s by sending port, nothing where it was not
    sampled. For a while after each move the log may be wrong about a flow, also after one shortly before the window."""
    delivered, unsure, moving_s = np.zeros((3, num_links(topo)))  # megabits, megabits, seconds
    late_s = through_queue_s(spec) + MOVED_S
    moves = np.array([change.t for flow in flows for change in flow.routed.paths[1:]])
    most = spec.link_mbps / wire_per_payload(spec.mtu)
    length = window[1] - window[0]
    for flow in flows:
        for stream, per_payload in (
            (flow.routed, wire_per_payload(spec.mtu)),
            (flow.acknowledgements, acknowledgements_per_payload(spec.mtu)),
        ):
            if not stream.paths and topo.num_cores > 1:
                continue  # the controller claims nothing of it
            times = [-np.inf, *(change.t for change in stream.paths[1:]), np.inf]
            for i, core in enumerate([change.core for change in stream.paths] or [0]):
                since, until = max(times[i], window[0]), min(times[i + 1], window[1])
                if since >= until:
                    continue
                links = path_links(topo, [stream.src], [stream.dst], [core])[0]
                links = links[links >= 0]
                delivered[links] += per_payload * flow.mbit((since, until))
                unsure[links] += per_payload * _unsure(flow, window, (since, until), moves, most)
                moving_s[links] += np.clip(times[i] + late_s - window[0], 0.0, late_s) + late_s * (until < window[1])
    slack, ports = (moving_s * spec.link_mbps * link_rates(topo) + unsure) / length, sending_ports(topo)
    return [
        Claim(ports[link], delivered[link] / length, carried.get(ports[link], 0.0), slack[link])
        for link in np.flatnonzero(delivered).tolist()
    ]


def _unsure(flow: MeasuredFlow, window: Window, part: Window, moves: Float64, most: float) -> float:
    """How much less than an even rate says may have arrived inside the window, in the intervals of the flow that lie
    across its edges, megabits. Asked only of intervals in which a flow moved, so that rates changed; beyond the edge a
    link carried ``most`` at most."""
    found = 0.0
    for edge in {*window} & {*part}:
        for start, end, mbps in flow.intervals:
            before, after = edge - start, end - edge
            if before > 0 and after > 0 and ((start - MOVED_S < moves) & (moves < end)).any():
                inside, outside = (after, before) if edge == window[0] else (before, after)
                found += max(0.0, min(mbps * inside, (most - mbps) * outside))
    return found


SETTLE_S = 5.0
SETTLE_ROUND_TRIPS = 25
"""After this long TCP fills the path it began on or was moved to; long queues on slow links take many round trips."""

SHORTEST_S = 1.0
"""Rates are read once a second."""


@dataclass(frozen=True)
class FullLinks:
    """What the links carried that max-min fairness says are full from the beginning to the end of ``window``.

    ``mbps`` is by the name of the sending port. Without a second in which TCP had settled, ``window`` is the
    measuring one, and ``why_not`` says so: links that are full all the same prove a machine fast enough, others
    nothing.
    """

    window: tuple[float, float]
    mbps: Mapping[str, float]
    why_not: str | None = None

    def record(self) -> parts.FullLinks | None:
        mbps = {name: round(rate, 3) for name, rate in self.mbps.items()}
        return parts.FullLinks(window_s=self.window, mbps=mbps) if mbps else None


def full_links(
    topo: Network,
    spec: RunSpec,
    flows: Sequence[MeasuredFlow],
    outages: Sequence[Outage],
    sent: Mapping[str, tuple[Float64, Float64]],
) -> FullLinks:
    """The links that have to be full once TCP has settled.

    ``sent`` says when and how fast (Mb/s) each port sent; times in seconds since the traffic started. A port without
    samples counts as nan.
    """
    begun = [t for one in flows for t in (one.start, *(change.t for change in one.routed.paths[1:]))]
    settled = settled_window(spec, begun, outages)
    unsettled = f"TCP had no second to settle in: that takes {settle_s(spec):.3g} s after a flow began or was moved"
    window = settled or spec.window_s
    full = fair(topo, [one.routed for one in flows], window, spec.link_mbps, outages).full_links
    silent: tuple[Float64, Float64] = (np.array([]), np.array([]))
    ports = sending_ports(topo)
    names = sorted(ports[link] for link in full)
    mbps = {n: mean_over(*sent.get(n, silent), window=window) for n in names}
    return FullLinks(window, mbps, None if settled else unsettled)


def settled_window(spec: RunSpec, begun: Sequence[float], outages: Sequence[Outage]) -> tuple[float, float] | None:
    """The part of the measuring window in which TCP has found its rates, if that is a second at least; else what
    comes then and later, up to the end of the traffic.

    That is `settle_s` after a flow last began, or was moved to another path (``begun``), and after the last outage.
    Times in seconds since the traffic started.
    """
    for end in (spec.window_s[1], spec.seconds):
        last = max([t for t in (*begun, *(outage.t for outage in outages)) if t < end], default=-math.inf)
        start = max(spec.window_s[0], last + settle_s(spec))
        if end - start >= SHORTEST_S:
            return start, end
    return None


def settle_s(spec: RunSpec) -> float:
    """How long TCP takes to fill a path, seconds."""
    return max(SETTLE_S, SETTLE_ROUND_TRIPS * through_queue_s(spec))


def through_queue_s(spec: RunSpec) -> float:
    """How long a packet takes through a full queue of the slowest link, seconds."""
    return spec.queue * spec.mtu * 8e-6 / spec.slowest_mbps
