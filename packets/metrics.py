"""The numbers of figures and tables: a statistic of all samples, its spread over seeds, the published number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from packets.published import PUBLISHED
from packets.result import KINDS, Result
from topos.arrays import Float64

SAMPLES: dict[str, Callable[[Result], Float64]] = {
    "switch_latency_us": lambda result: result.queue_us,
    "fct_900B_us": lambda result: result.small_us,
    "fct_10MB_ms": lambda result: result.large_ms,
    "goodput_mbps": lambda result: np.array([result.goodput_mbps.sum()]),
    "query_completion_ms": lambda result: result.query_ms,
    "mean_response_ms": lambda result: result.response_ms,
    "servers_in_time": lambda result: result.in_time,
    "timeouts": lambda result: np.array([result.counts["timeouts"]]),
}
"""The samples that a run gives for each metric; the unit is in the name."""


def _chosen(kind: str, what: str, of: str) -> Callable[[Result], Float64]:
    """An event at the servers' pacers, for flows of a kind, in percent; nothing if there was no such flow."""

    def percent(result: Result) -> Float64:
        whole = result.counts[f"{kind}_{of}"]
        return np.array([100 * result.counts[f"{kind}_{what}"] / whole] if whole else [])

    return percent


SELECTIVITY = tuple(f"{kind}_{what}_percent" for kind in KINDS.values() for what in ("associated", "association_ended"))
"""How well pacers choose the flows that they pace: associations per packet of a kind of flow, and how many of them
ended before another echo renewed them."""

for _kind in KINDS.values():
    SAMPLES[f"{_kind}_associated_percent"] = _chosen(_kind, "associations", "packets")
    SAMPLES[f"{_kind}_association_ended_percent"] = _chosen(_kind, "ended", "associations")


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
    """One number of a figure or table, of a ``variant`` (VARIANTS). ``lowest``, ``highest``: of single seeds.

    ``published``: None if there is none.
    """

    x: float
    variant: str
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


def _samples(results: Sequence[Result], metric: str) -> list[Float64]:
    return [samples for result in results if (samples := SAMPLES[metric](result)).size]


def by_seed(results: Sequence[Result], metric: str, statistic: str) -> Float64:
    """The statistic of every result that has such samples."""
    return np.array([STATISTICS[statistic](each) for each in _samples(results, metric)])


def cell(
    experiment: str,
    case: tuple[str, float, str],
    metric: str,
    statistic: str,
    results: Sequence[Result],
) -> Cell:
    """The number that all seeds' samples give together, beside the published one of that experiment.

    ``case``: variant, x, scheme.
    """
    variant, x, scheme = case
    samples, single = _samples(results, metric), by_seed(results, metric, statistic)
    nothing = float("nan")
    return Cell(
        x,
        variant,
        scheme,
        metric,
        statistic,
        PUBLISHED.get((experiment, x, scheme, metric, statistic)),
        STATISTICS[statistic](np.concatenate(samples)) if samples else nothing,
        float(single.min()) if samples else nothing,
        float(single.max()) if samples else nothing,
        len(results),
    )


def within(cells: Sequence[Cell], statistic: str, factor: float) -> tuple[int, int]:
    """The number of cells with that statistic within a factor of the published number, and of all such cells."""
    ratios = [each.ratio for each in cells if each.statistic == statistic and each.ratio]
    return sum(1 / factor <= ratio <= factor for ratio in ratios), len(ratios)
