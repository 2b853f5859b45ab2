"""What the flows of a run could have had: max-min fair rates on the paths they actually took, over time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedera.maxmin import max_min_rates
from topos.fattree import FatTree
from topos.links import num_links, path_links
from topos.nonblocking import NonBlocking


@dataclass(frozen=True)
class PathChange:
    """From time ``t`` (seconds since the traffic started) a flow goes by way of ``core``."""

    t: float
    core: int


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


def predicted_mbps(
    topo: FatTree | NonBlocking, flows: Sequence[RoutedFlow], window: tuple[float, float], bw: float
) -> float:
    """The mean over ``window`` of the sum of the flows' max-min fair rates, Mb/s, with links of ``bw`` Mb/s.

    The rates are computed anew for each stretch of the window in which no flow changed its path.
    """
    start, end = window
    changes = {change.t for flow in flows for change in flow.paths if start < change.t < end}
    edges = [start, *sorted(changes), end]
    src = np.array([flow.src for flow in flows])
    dst = np.array([flow.dst for flow in flows])
    capacity = np.full(num_links(topo), bw)
    total = 0.0
    for a, b in itertools.pairwise(edges):
        cores = np.array([flow.core_at(a) for flow in flows])
        rates = max_min_rates(path_links(topo, src, dst, cores), capacity)
        total += float(np.sum(rates)) * (b - a)
    return total / (end - start)
