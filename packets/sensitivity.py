"""HULL with one parameter changed at a time: what latency it gives, at which price for large files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import Any

from packets.experiment import Experiment
from packets.metrics import cell
from packets.parameters import Parameters
from packets.published import PUBLISHED
from packets.quantity import option_of, written
from packets.suites import LOADS, Suite

VALUES: dict[str, tuple[float, ...]] = {
    "drain": (0.85, 0.90, 0.95, 0.99),
    "phantom_kb": (1.0, 1.5, 3.0, 6.0),
    "beta": (4.0, 16.0, 64.0),
    "associate": (0.03, 0.125, 0.5),
    "bucket_kb": (1.5, 3.0, 12.0),
    "idle_ms": (10.0, 0.0),
}
"""By parameter; the default is among the values."""

METRICS = (
    ("switch_latency_us", "mean"),
    ("switch_latency_us", "p99"),
    ("fct_900B_us", "mean"),
    ("fct_900B_us", "p99"),
    ("fct_10MB_ms", "mean"),
    ("fct_10MB_ms", "p99"),
)


@dataclass(frozen=True)
class Point:
    """HULL with ``parameter`` at ``value``. The metrics are named as in METRICS, joined by an underscore."""

    parameter: str
    value: float
    metrics: dict[str, float]
    published: dict[str, float]


def _changed(parameters: Parameters, name: str, value: float) -> Parameters:
    change: dict[str, Any] = {name: value}
    return replace(parameters, **change)


def points(suite: Suite, load: float, share: float) -> list[Point]:
    """All points, at that load of large files."""
    percent = round(100 * load)
    seconds = share * LOADS.get(percent, 76.0)
    base = Experiment("hull", "dynamic", load=load, seconds=seconds, parameters=suite.parameters)
    variants = {
        (number, f"{name}={value:g}"): replace(base, parameters=_changed(base.parameters, name, value))
        for number, (name, value) in enumerate(
            (name, value) for name, values in VALUES.items() for value in values
        )
    }
    found = suite.run("sensitivity", variants)
    made = []
    for number, key in enumerate(variants):
        name, _, value = key[1].partition("=")
        cells = [cell("", 0, "hull", metric, statistic, found[key]) for metric, statistic in METRICS]
        experiment = "threshold1500" if key[1] == "phantom_kb=1.5" else "table2" if number == 2 else ""
        published = {
            f"{metric}_{statistic}": PUBLISHED[experiment, percent, "hull", metric, statistic]
            for metric, statistic in METRICS
            if (experiment, percent, "hull", metric, statistic) in PUBLISHED
        }
        made.append(
            Point(
                name,
                float(value),
                {f"{each.metric}_{each.statistic}": each.ours for each in cells},
                published,
            )
        )
    return made


def tell(found: Sequence[Point], load: float, picture: Path, json_wanted: bool) -> None:
    """Write the CSV beside the picture, and tell the points: a table, or JSON."""
    from rich.table import Table

    from commands import output

    names = [f"{metric}_{statistic}" for metric, statistic in METRICS]
    row = make_dataclass("Row", ["parameter", "value", *names, *(f"published_{name}" for name in names)])
    rows = [
        row(
            point.parameter,
            point.value,
            *(point.metrics[name] for name in names),
            *(point.published.get(name) for name in names),
        )
        for point in found
    ]
    table = Table(title=f"HULL at {load:.0%} load, one parameter changed", title_justify="left", box=None)
    table.add_column("option", no_wrap=True)
    for metric, statistic in METRICS:
        table.add_column(f"{metric} {statistic}", justify="right")
    for point in found:
        cells = []
        for name in names:
            published = f" ({point.published[name]:,.1f})" if name in point.published else ""
            cells.append(f"{point.metrics[name]:,.1f}{published}")
        table.add_row(f"{option_of(point.parameter)} {written(point.value, point.parameter)}", *cells)
    csv = output.write_csv(picture.with_suffix(".csv"), rows)
    output.conclude(rows, [table, "In brackets: the report."], [csv, picture], json_wanted)
