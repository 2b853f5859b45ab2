"""How long scheduling rounds took and how often they changed a path, over all Hedera runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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


def overheads(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A row for each scheme with rounds, over valid and invalid runs: the time of a round counts in both.

    ``ms``: `Quantiles` by those PARTS that were stored; ``interval_share``: the median round's time over the interval
    between rounds; ``delay_ms`` was set for the controller in virtual time, where computing takes none (0 in real
    time). ``first_changes`` are the paths changed by the first round of each run that changed any, ``later_changes``
    those changed afterwards; ``idle_rounds`` changed nothing.
    """
    rows = []
    for scheme in scheme_order(run.scheme for run in runs if run.rounds):
        own = [run for run in runs if run.scheme == scheme and run.rounds]
        rounds, spec = [each for run in own for each in run.rounds], own[0].spec
        moving = [[each.changed for each in run.rounds if each.changed] for run in own]
        times = {part: [ms for each in rounds if (ms := getattr(each, f"{part}_ms")) is not None] for part in PARTS}
        found = {part: Quantiles(*map(float, np.percentile(ms, [5, 50, 95, 100]))) for part, ms in times.items() if ms}
        rows.append(
            {
                "scheme": scheme,
                "runs": len(own),
                "rounds": len(rounds),
                "idle_rounds": sum(each.changed == 0 for each in rounds),
                "first_changes": sum(changes[0] for changes in moving if changes),
                "later_changes": sum(sum(changes[1:]) for changes in moving),
                "runs_with_later_changes": sum(len(changes) > 1 for changes in moving),
                "large": float(np.median([each.large for each in rounds])),
                "ms": found,
                "interval_s": spec.interval_s,
                "interval_share": found["total"].median / 1e3 / spec.interval_s if "total" in found else None,
                "delay_ms": spec.controller_delay_ms if spec.time == "virtual" else 0.0,
            }
        )
    return rows
