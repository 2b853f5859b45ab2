"""Which links have to be full all the time, and what they carried: a machine that is too slow shows there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.run.observation import Outage
from harness.run.spec import RunSpec
from harness.verdict.fair import fair
from harness.verdict.flows import MeasuredFlow
from results import parts
from results.record import mean_over
from topos.links import sending_ports
from topos.network import Network

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
    sent: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
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
    silent: tuple[NDArray[np.float64], NDArray[np.float64]] = (np.array([]), np.array([]))
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
