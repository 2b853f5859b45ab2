"""What became of flows that have a size, and of graphs of flows: completion times, the same for every backend.

The slowdown of a flow is its completion time over that of the same flow alone in the idle network, and at least 1.

A run ends while flows are under way. To leave these out would praise whatever starves large flows, so they count
with the least that they can still turn out to be. Means and high percentiles are then at least what is said;
``known_share`` tells up to where percentiles are exact.
"""

from __future__ import annotations

import numpy as np

from record.run import Collective, Completion
from topos.arrays import Bool, Float64
from traffic.graph import FlowGraph

SMALL_BYTES, LARGE_BYTES = 100_000, 10_000_000
CLASSES = {"all": "all flows", "small": "up to 100 kB", "medium": "100 kB to 10 MB", "large": "from 10 MB"}
"""What each is, at 1 Gb/s; on links of other rates they scale with the sizes."""
STATISTICS = tuple(f"{statistic}_{of}" for of in ("s", "slowdown") for statistic in ("mean", "median", "p95", "p99"))


def summarise_by_class(size_bytes: Float64, seconds: Float64, alone_s: Float64, is_done: Bool) -> list[Completion]:
    """The statistics of every class, in the order of CLASSES.

    Arrays of shape (flows,): ``size_bytes``, which says the class; ``seconds``, the completion time, or the least
    that it can be where a flow is not done (``is_done``); ``alone_s``, that of the flow alone in the idle network.
    """
    slowdown = np.maximum(1.0, seconds / alone_s)
    return [
        _make_statistics(name, seconds[of_class], slowdown[of_class], is_done[of_class])
        for name, of_class in select_members(size_bytes).items()
    ]


def select_members(size_bytes: Float64) -> dict[str, Bool]:
    """Which flows are of each class, in the order of CLASSES: bool (flows,)."""
    small, large = size_bytes <= SMALL_BYTES, size_bytes >= LARGE_BYTES
    return dict(zip(CLASSES, (np.ones(size_bytes.size, dtype=bool), small, ~small & ~large, large), strict=True))


def _make_statistics(name: str, seconds: Float64, slowdown: Float64, is_done: Bool) -> Completion:
    if not seconds.size:
        return Completion(size_class=name, flows=0, cut_off=0, known_share=1.0)
    times, slowdowns = (_summarise(values) for values in (seconds, slowdown))
    known = min(_compute_known_share(values, is_done) for values in (seconds, slowdown))
    statistics = dict(zip(STATISTICS, (*times, *slowdowns), strict=True))
    cut_off = int((~is_done).sum())
    return Completion(size_class=name, flows=int(seconds.size), cut_off=cut_off, known_share=known, **statistics)


def _summarise(values: Float64) -> tuple[float, float, float, float]:
    """Mean, median, 95th and 99th percentile."""
    median, p95, p99 = np.percentile(values, (50, 95, 99)).tolist()
    return float(values.mean()), median, p95, p99


def _compute_known_share(least_values: Float64, is_done: Bool) -> float:
    """The share of values that nothing still unknown can come to lie below."""
    if is_done.all():
        return 1.0
    return float((least_values < least_values[~is_done].min()).mean())


def summarise_collective(graph: FlowGraph, start_s: Float64, end_s: Float64, link_mbps: float) -> Collective:
    """When its nodes, the first of these (flows,), started and ended; nan where they did not."""
    start, end = start_s[: len(graph)], end_s[: len(graph)]
    flows = ~graph.computes
    _, step = np.unique(graph.level[flows], return_inverse=True)
    steps = int(step.max(initial=-1)) + 1
    first, last = np.full(steps, np.inf), np.full(steps, -np.inf)
    with np.errstate(invalid="ignore"):
        np.minimum.at(first, step, start[flows])
        np.maximum.at(last, step, end[flows])  # nan stays nan
    durations, alone = last - first, (end - start)[flows]
    known = np.isfinite(durations).any()
    return Collective(
        flows=int(flows.sum()),
        ended=int(np.isfinite(alone).sum()),
        completion_s=float(end.max()) if np.isfinite(end).all() else None,
        steps=steps,
        slowest_step=int(np.nanargmax(durations)) if known else None,
        slowest_step_s=float(np.nanmax(durations)) if known else None,
        longest_flow_s=float(np.nanmax(alone)) if np.isfinite(alone).any() else None,
        least_s=graph.least_s(link_mbps),
    )


def describe(collective: Collective) -> str:
    done = "not done" if collective.completion_s is None else f"done after {collective.completion_s:.6g} s"
    flows = f"{collective.flows:,} flows in {collective.steps:,} steps"
    return f"{flows}, {done}; {collective.least_s:.6g} s are the least possible"
