"""How long scheduling rounds took and how often they changed a path, over all Hedera runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plots.style import scheme_order
from results.record import Run

PARTS = ("polled", "compute", "install", "total")


class Quantiles(NamedTuple):
    """5th percentile, median, 95th percentile, and maximum."""

    low: float
    median: float
    high: float
    maximum: float


@dataclass(frozen=True)
class Overhead:
    """All rounds of one scheme. Times in ms by those PARTS that were stored; ``delay_ms`` was set for the controller
    in virtual time, where computing takes none (0 in real time).

    ``first_changes`` are the paths changed by the first round of each run that changed any, ``later_changes`` those
    changed afterwards; ``idle_rounds`` changed nothing.
    """

    scheme: str
    runs: int
    rounds: int
    idle_rounds: int
    first_changes: int
    later_changes: int
    runs_with_later_changes: int
    large: float
    ms: Mapping[str, Quantiles]
    interval_s: float
    delay_ms: float

    @property
    def interval_share(self) -> float | None:
        """The median round's time over the interval between rounds."""
        return self.ms["total"].median / 1e3 / self.interval_s if "total" in self.ms else None


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
    times = {part: [ms for each in rounds if (ms := getattr(each, f"{part}_ms")) is not None] for part in PARTS}
    return Overhead(
        scheme=scheme,
        runs=len(runs),
        rounds=len(rounds),
        idle_rounds=sum(each.changed == 0 for each in rounds),
        first_changes=sum(changes[0] for changes in moving if changes),
        later_changes=sum(sum(changes[1:]) for changes in moving),
        runs_with_later_changes=sum(len(changes) > 1 for changes in moving),
        large=float(np.median([each.large for each in rounds])),
        ms={part: Quantiles(*map(float, np.percentile(own, [5, 50, 95, 100]))) for part, own in times.items() if own},
        interval_s=runs[0].spec.interval_s,
        delay_ms=runs[0].spec.controller_delay_ms if runs[0].spec.time == "virtual" else 0.0,
    )
