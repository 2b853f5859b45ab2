"""How long scheduling rounds took and how often they changed a path, over all Hedera runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plots.style import scheme_order
from results.parts import Round
from results.record import Run

PARTS = ("polled", "compute", "install", "total")


@dataclass(frozen=True)
class Quantiles:
    """Median, 5th and 95th percentile, and maximum."""

    median: float
    low: float
    high: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quantiles | None:
        """The quantiles of values; None if there are none."""
        if not values:
            return None
        low, median, high = np.percentile(values, [5, 50, 95])
        return cls(float(median), float(low), float(high), float(max(values)))


@dataclass(frozen=True)
class Overhead:
    """All rounds of one scheme. Times in ms by PARTS (None: not stored).

    ``first_changes`` are the paths changed by the first round of each run that changed any, ``later_changes`` those
    changed afterwards; ``idle_rounds`` changed nothing. ``interval_share`` is the median round time over the
    interval between rounds.
    """

    scheme: str
    runs: int
    rounds: int
    idle_rounds: int
    first_changes: int
    later_changes: int
    runs_with_later_changes: int
    large: Quantiles | None
    ms: dict[str, Quantiles | None]
    interval_s: float
    interval_share: float | None


def overheads(runs: Sequence[Run]) -> tuple[Overhead, ...]:
    """One Overhead for each scheme with rounds, over valid and invalid runs: the time of a round counts in both."""
    scheduled = [run for run in runs if run.rounds]
    return tuple(
        _overhead(scheme, [run for run in scheduled if run.scheme == scheme])
        for scheme in scheme_order(run.scheme for run in scheduled)
    )


def _overhead(scheme: str, runs: Sequence[Run]) -> Overhead:
    rounds = [each for run in runs for each in run.rounds]
    moving = [[each.changed for each in run.rounds if each.changed] for run in runs]
    ms = {part: Quantiles.of(_times(rounds, part)) for part in PARTS}
    interval = runs[0].spec.interval_s
    total = ms["total"]
    return Overhead(
        scheme=scheme,
        runs=len(runs),
        rounds=len(rounds),
        idle_rounds=sum(each.changed == 0 for each in rounds),
        first_changes=sum(changes[0] for changes in moving if changes),
        later_changes=sum(sum(changes[1:]) for changes in moving),
        runs_with_later_changes=sum(len(changes) > 1 for changes in moving),
        large=Quantiles.of([each.large for each in rounds]),
        ms=ms,
        interval_s=interval,
        interval_share=total.median / 1e3 / interval if total else None,
    )


def _times(rounds: Sequence[Round], part: str) -> list[float]:
    times = (getattr(each, f"{part}_ms") for each in rounds)
    return [time for time in times if time is not None]
