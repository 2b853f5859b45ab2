"""Which links have to be full all the time, and what they carried: a machine that is too slow shows there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.judge.counters import sending_ports
from harness.judge.prediction import RoutedFlow, predict
from harness.run.observation import Outage
from harness.run.spec import RunSpec
from harness.run.watch import finite, mean_over
from topos.network import Network

SETTLE_S = 5.0
SETTLE_ROUND_TRIPS = 25
"""After this long TCP fills the path it began on or was moved to; long queues on slow links take many round trips."""


@dataclass(frozen=True)
class FullLinks:
    """What the links carried that max-min fairness says are full from the beginning to the end of ``window``.

    ``mbps`` is by the name of the sending port; empty, and ``window`` None, when there was no time to tell.
    """

    window: tuple[float, float] | None
    mbps: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"window_s": self.window, "mbps": {name: finite(rate) for name, rate in self.mbps.items()}}


def full_links(
    topo: Network,
    spec: RunSpec,
    flows: Sequence[RoutedFlow],
    starts: Sequence[float],
    outages: Sequence[Outage],
    sent: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> FullLinks:
    """The links that have to be full once TCP has settled.

    ``starts`` says when each flow began, ``sent`` when and how fast (Mb/s) each port sent; times in seconds since
    the traffic started. A port without samples counts as nan.
    """
    begun = [*starts, *(change.t for flow in flows for change in flow.paths[1:])]
    window = settled_window(spec, begun, outages)
    if window is None:
        return FullLinks(None, {})
    full = predict(topo, flows, window, spec.link_mbps, outages).full_links
    silent: tuple[NDArray[np.float64], NDArray[np.float64]] = (np.array([]), np.array([]))
    ports = sending_ports(topo)
    names = sorted(ports[link] for link in full)
    return FullLinks(window, {n: mean_over(*sent.get(n, silent), window=window) for n in names})


def settled_window(
    spec: RunSpec, begun: Sequence[float], outages: Sequence[Outage]
) -> tuple[float, float] | None:
    """The part of the measuring window in which TCP has found its rates, if that is a second at least.

    That is SETTLE_S, or SETTLE_ROUND_TRIPS through a full queue, after a flow last began, or was moved to another
    path (``begun``), and after the last outage. Times in seconds since the traffic started.
    """
    start, end = spec.window_s
    last = max([t for t in (*begun, *(outage.t for outage in outages)) if t < end], default=None)
    if last is not None:
        start = max(start, last + max(SETTLE_S, SETTLE_ROUND_TRIPS * through_queue_s(spec)))
    return (start, end) if end - start >= 1 else None


def through_queue_s(spec: RunSpec) -> float:
    """How long a packet takes through a full queue, seconds."""
    return spec.queue * spec.mtu * 8e-6 / spec.link_mbps
