"""What figures and tables show of many runs: a statistic of all samples, its spread over seeds, the published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from packets.published import PUBLISHED
from packets.result import Result
from topos.arrays import Float64

SAMPLES: dict[str, Callable[[Result], Float64]] = {
    "switch_latency_us": lambda result: result.queue_us,
    "fct_900B_us": lambda result: result.small_us,
    "fct_10MB_ms": lambda result: result.large_ms,
    "goodput_mbps": lambda result: np.array([result.goodput_mbps.sum()]),
    "query_completion_ms": lambda result: result.query_ms,
    "mean_response_ms": lambda result: result.response_ms,
    "servers_in_time": lambda result: result.in_time,
}
"""The samples that a run gives for each metric; the unit is in the name."""


def _worst(samples: Float64) -> float:
    """Mean of the lowest hundredth."""
    return float(np.sort(samples)[: max(1, samples.size // 100)].mean())


STATISTICS: dict[str, Callable[[Float64], float]] = {
    "mean": lambda samples: float(samples.mean()),
    "p99": lambda samples: float(np.percentile(samples, 99)),
    "worst 1%": _worst,
}


@dataclass(frozen=True)
class Cell:
    """One number of a figure or table. ``lowest``, ``highest``: of single seeds. ``published``: None for none."""

    x: float
    scheme: str
    metric: str
    statistic: str
    published: float | None
    ours: float
    lowest: float
    highest: float
    seeds: int

    @property
    def ratio(self) -> float | None:
        """Ours over the published number."""
        return self.ours / self.published if self.published else None


def cell(
    experiment: str, x: float, scheme: str, metric: str, statistic: str, results: Sequence[Result]
) -> Cell:
    """The number that all seeds' samples give together, beside the published one of that experiment."""
    samples = [SAMPLES[metric](result) for result in results]
    samples = [each for each in samples if each.size]
    of = STATISTICS[statistic]
    single = [of(each) for each in samples] or [float("nan")]
    return Cell(
        x,
        scheme,
        metric,
        statistic,
        PUBLISHED.get((experiment, x, scheme, metric, statistic)),
        of(np.concatenate(samples)) if samples else float("nan"),
        min(single),
        max(single),
        len(results),
    )


def within(cells: Sequence[Cell], statistic: str, factor: float) -> tuple[int, int]:
    """How many of the cells with that statistic are within a factor of the published number, and of how many."""
    ratios = [each.ratio for each in cells if each.statistic == statistic and each.ratio]
    return sum(1 / factor <= ratio <= factor for ratio in ratios), len(ratios)
