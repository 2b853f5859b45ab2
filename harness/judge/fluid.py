"""What flows that come and go could have had: the fluid that max-min fairness makes of them.

A run is held against the very flows that ran: each from when it began, on the paths it had, until it has got what
it had to send. At every moment the flows that are there share the links as max-min fairness has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.judge.prediction import RoutedFlow, capacities, links_down_at
from harness.run.observation import Outage
from hedera.maxmin import max_min_rates
from topos.links import NO_LINK, path_links
from topos.network import Network

SAME_MOMENT_S = 1e-9
"""Flows that end within so short a time end together: floating point would have it go on for ever."""


@dataclass(frozen=True)
class FluidFlow:
    """A flow as it ran: from ``start`` (seconds since the traffic started) with ``mbit`` to send (None: no end)."""

    routed: RoutedFlow
    start: float
    mbit: float | None


@dataclass(frozen=True)
class Fluid:
    """What came of it. ``end``: when each flow had sent all, float64 (flows,), nan where it had not by the end;
    ``total_mbps``: the mean over the window of the sum of all rates."""

    end: NDArray[np.float64]
    total_mbps: float


def fluid(
    topo: Network,
    flows: Sequence[FluidFlow],
    window: tuple[float, float],
    until: float,
    bw: float,
    outages: Sequence[Outage] = (),
) -> Fluid:
    """The flows on links of ``bw`` Mb/s, up to the time ``until``.

    A flow whose path is not known is held to its hosts' links alone.
    """
    left = np.array([np.inf if flow.mbit is None else flow.mbit for flow in flows], dtype=np.float64)
    end = np.full(len(flows), np.nan)
    moments = {flow.start for flow in flows} | {window[0], window[1], until}
    moments |= {change.t for flow in flows for change in flow.routed.paths}
    moments |= {outage.t for outage in outages}
    times = sorted(t for t in moments if t <= until)
    starting = sorted(range(len(flows)), key=lambda number: -flows[number].start)
    there: list[int] = []
    total = 0.0
    for now, then in zip(times, [*times[1:], until], strict=True):
        while starting and flows[starting[-1]].start <= now:
            there.append(starting.pop())
        capacity = capacities(topo, bw, links_down_at(outages, now))
        while now < then and there:
            rates = max_min_rates(_links(topo, [flows[number].routed for number in there], now), capacity)
            active = np.array(there)
            with np.errstate(divide="ignore"):
                lasts = np.where(rates > 0, left[active] / np.maximum(rates, 1e-12), np.inf)
            step = min(then - now, float(lasts.min()))
            inside = min(now + step, window[1]) - max(now, window[0])
            total += float(rates.sum()) * max(0.0, inside)
            left[active] = np.maximum(0.0, left[active] - rates * step)
            now += step
            done = lasts <= step + SAME_MOMENT_S
            end[active[done]] = now
            there = active[~done].tolist()
    return Fluid(end, total / (window[1] - window[0]))


def _links(topo: Network, flows: Sequence[RoutedFlow], t: float) -> NDArray[np.int32]:
    src, dst, core = (np.array(column) for column in zip(*((f.src, f.dst, f.core_at(t)) for f in flows), strict=True))
    links = np.array(path_links(topo, src, dst, core))
    if topo.num_cores > 1:
        unknown = [not flow.paths for flow in flows]
        links[unknown, 1:5] = NO_LINK
    return links
