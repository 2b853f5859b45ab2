"""Which static routing fits the published testbed "ECMP" bars of Figure 9.

Section 6.2 says they are a hash of the destination address. For every published matrix, each routing in turn sets
the flows' paths, and an engine computes their rates. One scale factor per routing, fitted by least squares, accounts
for what the simulator leaves out (headers, timeouts). The remaining errors are compared. The testbed's hash functions
are unknown, so hashed routings are tried with many seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hedera.experiment import middle
from hedera.maxmin import max_min_rates
from hedera.routing import Ecmp, EcmpDestination, EdgePairHash, Routing, SpanningTree
from simulator.aimd import AimdEngine
from topos.arrays import Float64
from topos.fattree import FatTree
from topos.links import num_links, path_links
from traffic.ports import SERVER_PORT, source_ports
from traffic.published import published
from traffic.workload import standing_flows

TREE = FatTree(4)
LINK_MBPS = 1000.0
AIMD_TICKS = 6000

ROUTINGS: dict[str, Callable[[int], Routing]] = {
    "spanning tree": lambda seed: SpanningTree(TREE),
    "5-tuple hash": lambda seed: Ecmp(TREE, seed),
    "destination hash": lambda seed: EcmpDestination(TREE, seed),
    "edge-pair hash": lambda seed: EdgePairHash(TREE, seed),
}
"""The routings to try, each made from a seed for its hashes."""


@dataclass(frozen=True)
class Task:
    """One routing, one seed and one engine, on all of the matrices."""

    routing: str
    engine: str
    seed: int
    matrices: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """How well a prediction matches the published bars after scaling.

    ``scaled``: the prediction times ``scale``, Mb/s, float64 (matrices,). ``error``: mean relative error, a
    fraction of the published values. ``correlation``: Pearson's.
    """

    scale: float
    error: float
    correlation: float
    scaled: Float64


def predict(task: Task) -> Float64:
    """Bisection bandwidth of every matrix, Mb/s, float64 (matrices,), without any fitting."""
    return np.array([_bisection_mbps(name, task) for name in task.matrices])


def _bisection_mbps(name: str, task: Task) -> float:
    matrix = published(name)
    ports = source_ports(matrix, task.seed)
    cores = ROUTINGS[task.routing](task.seed).cores(matrix.src, matrix.dst, ports, SERVER_PORT)
    links = path_links(TREE, matrix.src, matrix.dst, cores)
    if task.engine == "maxmin":
        return float(max_min_rates(links, np.full(num_links(TREE), LINK_MBPS)).sum())
    engine = AimdEngine(standing_flows(matrix), links, num_links(TREE), tick_s=0.001, seed=task.seed)
    begin, end = middle(AIMD_TICKS)
    return float(engine.advance(AIMD_TICKS)[round(begin) : round(end)].mean())


def fit(predicted: Float64, measured: Sequence[float] | Float64) -> Fit:
    """Scale a prediction to the measured values by least squares, and return the remaining errors.

    Both have shape (matrices,). A prediction that does not vary has the correlation nan.
    """
    target = np.asarray(measured, dtype=np.float64)
    scale = float(predicted @ target / (predicted @ predicted))
    scaled = scale * predicted
    error = float(np.mean(np.abs(scaled - target) / target))
    constant = np.ptp(predicted) == 0 or np.ptp(target) == 0
    correlation = float("nan") if constant else float(np.corrcoef(predicted, target)[0, 1])
    return Fit(scale, error, correlation, scaled)
