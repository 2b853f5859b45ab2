"""What the flows of a run could have had: max-min fair rates, at every moment on the paths that they had then.

A run is held against the very flows that ran: each from when it began until it has got what it had to send. A link
that is out of service carries nothing, so a flow whose path has one counts as 0 until it is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.run.observation import Outage
from hedera.maxmin import max_min_rates
from record.parts import PathChange
from topos.arrays import Float64, Int32
from topos.links import NO_LINK, link_rates, num_links, path_links
from topos.network import Network

Window = tuple[float, float]
"""Beginning and end, seconds since the traffic started."""
SAME_MOMENT_S = 1e-9
"""Flows that end within so short a time end together: floating point would have it go on for ever."""


@dataclass(frozen=True)
class RoutedFlow:
    """A flow's hosts and the path it had from when to when, oldest first; none: its path is not known. It is there from
    ``start`` on, until it has sent ``mbit`` (None: it lasts)."""

    src: int
    dst: int
    paths: tuple[PathChange, ...] = ()
    start: float = -np.inf
    mbit: float | None = None

    def core_at(self, t: float) -> int:
        """The core of its path at a time (before its first path: that first path)."""
        core = self.paths[0].core if self.paths else 0
        for change in self.paths:
            if change.t <= t:
                core = change.core
        return core


def links_down_at(outages: Sequence[Outage], t: float) -> frozenset[int]:
    """What is out of service at a time; ``outages`` are in order."""
    return next((outage.links for outage in reversed(outages) if outage.t <= t), frozenset())


def capacities(topo: Network, mbps: float, down: Iterable[int]) -> Float64:
    """What each directed link carries, Mb/s, float64 (links,), hosts' links ``mbps``; nothing where it is down."""
    capacity = mbps * link_rates(topo)
    capacity[list(down)] = 0.0
    return capacity


@dataclass(frozen=True)
class Fair:
    """What max-min fairness gives a run.

    ``total_mbps``: the sum of all rates, its mean over the window; ``full_links``: the directed links that are full
    from its beginning to its end; ``end``: when each flow had sent all, float64 (flows,), nan where it had not.
    """

    total_mbps: float
    full_links: frozenset[int]
    end: Float64


def fair(
    topo: Network,
    flows: Sequence[RoutedFlow],
    window: Window,
    mbps: float,
    outages: Sequence[Outage] = (),
    until: float | None = None,
) -> Fair:
    """The flows, hosts' links of that rate, up to the end of the window, or to a later time, for the ends of flows.
    Rates are computed anew whenever a flow comes, goes or is moved, and when a link changes its state.

    A flow whose path is not known is held to its hosts' links alone.
    """
    until = window[1] if until is None else until
    left = np.array([np.inf if flow.mbit is None else flow.mbit for flow in flows], dtype=np.float64)
    end = np.full(len(flows), np.nan)
    began = min([window[0], *(flow.start for flow in flows if np.isfinite(flow.start))])
    moments = {flow.start for flow in flows} | {change.t for flow in flows for change in flow.paths}
    moments |= {outage.t for outage in outages} | set(window) | {began}
    times = sorted(t for t in moments if began <= t < until)
    starting = sorted(range(len(flows)), key=lambda number: -flows[number].start)
    there: list[int] = []
    total = 0.0
    full = np.ones(num_links(topo), dtype=np.bool_)
    for now, then in zip(times, [*times[1:], until], strict=True):
        while starting and flows[starting[-1]].start <= now:
            there.append(starting.pop())
        capacity = capacities(topo, mbps, links_down_at(outages, now))
        while now < then:
            links = _links(topo, [flows[number] for number in there], now)
            rates = max_min_rates(links, capacity, calls=len(times) + len(flows))
            active = np.array(there, dtype=np.int64)
            with np.errstate(divide="ignore"):
                lasts = np.where(rates > 0, left[active] / np.maximum(rates, 1e-12), np.inf)
            step = min(then - now, float(lasts.min(initial=np.inf)))
            inside = min(now + step, window[1]) - max(now, window[0])
            if inside > 0:
                total += float(rates.sum()) * inside
                on = links != NO_LINK
                each = np.broadcast_to(rates[:, None], links.shape)
                loads = np.bincount(links[on], weights=each[on], minlength=full.size)
                full &= (loads >= capacity * (1 - 1e-9)) & (capacity > 0)
            left[active] = np.maximum(0.0, left[active] - rates * step)
            now += step
            done = lasts <= step + SAME_MOMENT_S
            end[active[done]] = now
            there = active[~done].tolist()
    return Fair(total / (window[1] - window[0]), frozenset(np.flatnonzero(full).tolist()), end)


def _links(topo: Network, flows: Sequence[RoutedFlow], t: float) -> Int32:
    src, dst, core = np.array([(f.src, f.dst, f.core_at(t)) for f in flows], dtype=np.int64).reshape(-1, 3).T
    links = np.array(path_links(topo, src, dst, core))
    if topo.num_cores > 1:
        links[np.array([not flow.paths for flow in flows], dtype=np.bool_), 1:5] = NO_LINK
    return links
