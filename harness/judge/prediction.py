"""What the flows of a run could have had: max-min fair rates on the paths they actually took, over time.

A link that is out of service carries nothing, so a flow whose path has one counts as 0 until it is moved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.run.observation import Outage
from hedera.maxmin import max_min_rates
from results.parts import PathChange
from topos.links import NO_LINK, num_links, path_links
from topos.network import Network


@dataclass(frozen=True)
class RoutedFlow:
    """A flow's hosts and the path it had from when to when, oldest first; no change means any core will do."""

    src: int
    dst: int
    paths: tuple[PathChange, ...] = ()

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


def capacities(topo: Network, bw: float, down: Iterable[int]) -> NDArray[np.float64]:
    """What each directed link carries, Mb/s, float64 (links,): ``bw``, or nothing."""
    capacity = np.full(num_links(topo), bw)
    capacity[list(down)] = 0.0
    return capacity


@dataclass(frozen=True)
class Prediction:
    """What max-min fairness gives a run.

    ``flow_mbps`` are the flows' rates, means over the window, float64 (flows,), and ``total_mbps`` their sum;
    ``full_links`` are the directed links that are full from its beginning to its end.
    """

    flow_mbps: NDArray[np.float64]
    full_links: frozenset[int]

    @property
    def total_mbps(self) -> float:
        """Of all flows."""
        return float(np.sum(self.flow_mbps))


def predict(
    topo: Network,
    flows: Sequence[RoutedFlow],
    window: tuple[float, float],
    bw: float,
    outages: Sequence[Outage] = (),
) -> Prediction:
    """The flows' max-min fair rates over ``window``, with links of ``bw`` Mb/s.

    The rates are computed anew for each stretch of the window in which no flow changed its path and no link
    its state.
    """
    start, end = window
    changes = {change.t for flow in flows for change in flow.paths} | {outage.t for outage in outages}
    edges = [start, *sorted(t for t in changes if start < t < end), end]
    src = np.array([flow.src for flow in flows])
    dst = np.array([flow.dst for flow in flows])
    megabits = np.zeros(len(flows))
    full = np.ones(num_links(topo), dtype=bool)
    for a, b in itertools.pairwise(edges):
        cores = np.array([flow.core_at(a) for flow in flows])
        links = path_links(topo, src, dst, cores)
        capacity = capacities(topo, bw, links_down_at(outages, a))
        rates = max_min_rates(links, capacity)
        megabits += rates * (b - a)
        on = links != NO_LINK
        loads = np.bincount(links[on], weights=np.broadcast_to(rates[:, None], links.shape)[on], minlength=len(full))
        full &= (loads >= bw * (1 - 1e-9)) & (capacity > 0)
    return Prediction(megabits / (end - start), frozenset(np.flatnonzero(full).tolist()))
