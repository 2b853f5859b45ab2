"""What is counted over the runs of a page: settings and machines, verdicts by scheme, and how long
scheduling rounds took and how often they changed a path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import asdict

from plots.load import VARYING
from plots.style import option_name, scheme_order, setting_text
from record.parts import Fact
from record.run import Run

PARTS = ("polled", "compute", "install", "total")


def settings(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """The settings that all these runs share, by their options, and the measured window."""
    if not runs:
        return []
    spec = {name: value for name, value in asdict(runs[0].spec).items() if name not in VARYING}
    a, b = runs[0].window_s
    named = [(option_name(name), setting_text(value)) for name, value in spec.items()]
    return [*named, ("measured window", f"second {a:.3g} to {b:.3g}")]


def environment(runs: Sequence[Run]) -> list[tuple[str, list[tuple[str, int]]]]:
    """Every entry of the runs' environments, nested ones as ``tools: iperf``: its name, and its values with the number
    of runs that have them, the most frequent first."""
    found: dict[str, Counter[str]] = {}
    for run in runs:
        for name, value in _flat(run.environment):
            found.setdefault(name, Counter())[value] += 1
    return [(name, values.most_common()) for name, values in found.items()]


def _flat(record: Mapping[str, Fact], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}: ")
        else:
            told = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            yield prefix + name, told if value not in (None, "") else "none"


def required(run: Run) -> list[list[Any]]:
    """The rules of a run for the page's script: name, kept, value found, required value, reason if not applied."""
    rows = []
    for rule in run.rules:
        most = "" if rule.most is None else f"at most {rule.most:g}"
        limit = most if rule.least is None else f"at least {rule.least:g}"
        rows.append([rule.rule, rule.kept, rule.found, limit, rule.why_not or ""])
    return rows


def validity(runs: Sequence[Run], schemes: Sequence[str]) -> list[dict[str, Any]]:
    """For each scheme the verdicts on its runs; and lowest, median and highest over them of measured over max-min fair
    total, and of how idle the processors were in the worst second, as shares (None: not stored)."""
    rows = []
    for scheme in schemes:
        own = [run for run in runs if run.scheme == scheme]
        fair = [run.bisection_mbps / run.maxmin_mbps for run in own if run.bisection_mbps and run.maxmin_mbps]
        idle = [min(run.cpu.idle_percent) / 100 for run in own if run.cpu.idle_percent]
        row = {"scheme": scheme, "valid": sum(run.valid for run in own), "runs": len(own)}
        rows.append(row | {"of_maxmin": _range(fair), "least_idle": _range(idle)})
    return rows


def _range(values: Sequence[float]) -> tuple[float, ...] | None:
    return tuple(map(float, np.percentile(values, [0, 50, 100]))) if values else None


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
