"""HULL with one parameter changed at a time: its latency, and its cost for large files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

from hedera.parameter import option_of
from packets.experiment import Experiment
from packets.metrics import Cell, cell
from packets.parameters import Parameters
from packets.quantity import written
from packets.suites import LOADS, Suite
from packets.summary import shown

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
    """HULL with ``parameter`` at ``value``. ``cells``: one for each of METRICS, in their order."""

    parameter: str
    value: float
    cells: tuple[Cell, ...]

    def cell(self, metric: str, statistic: str) -> Cell:
        """The cell of one metric."""
        return self.cells[METRICS.index((metric, statistic))]


def points(suite: Suite, load: float, share: float) -> list[Point]:
    """All points, at that load of large files."""
    percent = round(100 * load)
    seconds = share * LOADS.get(percent, 76.0)
    base = Experiment("hull", "dynamic", load=load, seconds=seconds, parameters=suite.parameters)
    found = suite.run(
        "sensitivity",
        {
            (value, name): replace(base, parameters=_changed(base.parameters, name, value))
            for name, values in VALUES.items()
            for value in values
        },
    )
    return [
        Point(
            name,
            value,
            tuple(
                cell(_published(name, value), ("conforming", percent, "hull"), *metric, results) for metric in METRICS
            ),
        )
        for (value, name), results in found.items()
    ]


def _changed(parameters: Parameters, name: str, value: float) -> Parameters:
    change: dict[str, Any] = {name: value}
    return replace(parameters, **change)


def _published(name: str, value: float) -> str:
    """The published experiment to compare a point with; "" if there is none."""
    if (name, value) == ("phantom_kb", 1.5):
        return "threshold1500"
    return "table2" if value == getattr(Parameters(), name) else ""


def tell(found: Sequence[Point], load: float, picture: Path, json_wanted: bool) -> None:
    """Write the CSV beside the picture, and print the points: a table, or JSON."""

    from results import output

    columns = [each.name for each in fields(Cell) if each.name not in ("x", "variant", "scheme")]
    row = make_dataclass("Row", ["parameter", "value", *columns, "ratio"], frozen=True)
    rows = [
        row(point.parameter, point.value, *(getattr(each, name) for name in columns), each.ratio)
        for point in found
        for each in point.cells
    ]
    seeds = found[0].cells[0].seeds
    title = f"HULL at {load:.0%} load, one parameter changed; seeds: {seeds}"
    table = output.plain_table(title, "option", *(f"{metric} {statistic}" for metric, statistic in METRICS))
    for point in found:
        table.add_row(f"{option_of(point.parameter)} {written(point.value, point.parameter)}", *map(_told, point.cells))
    csv = output.write_csv(picture.with_suffix(".csv"), rows)
    output.conclude(
        rows,
        [table, "In brackets: the report's numbers. The CSV has the range over seeds."],
        [csv, picture],
        json_wanted,
    )


def _told(each: Cell) -> str:
    published = "" if each.published is None else f" ({shown(each.published)})"
    return f"{shown(each.ours)}{published}"
