"""How figures and tables are told: rows beside the published numbers as CSV and JSON, and tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedera.parameter import option_of
from packets.metrics import Cell, within
from packets.quantity import written
from packets.sensitivity import METRICS, Point
from results import output

if TYPE_CHECKING:
    from rich.table import Table

    from packets.suites import Compared

UNITS = {"us": "us", "ms": "ms", "mbps": "Mb/s", "percent": "%", "timeouts": "", "time": "of 10"}
"""Of a metric, by the last part of its name."""


def conclude(title: str, found: Compared, x_name: str, name: str, picture: Path, as_json: bool) -> None:
    """Write the CSV beside the picture, and print the cells: a table for each metric, or JSON."""
    rows = rows_of(found.cells, x_name)
    files = [output.write_csv(picture.with_name(f"{name}.csv"), rows), picture]
    if found.reductions:
        reductions = rows_of(found.reductions, x_name)
        files.append(output.write_csv(picture.with_name(f"{name}_reductions.csv"), reductions))
    told: list[Any] = []
    for variant in dict.fromkeys(each.variant for each in found.cells):
        cells = [each for each in found.cells if each.variant == variant]
        told += [*_tables(f"{title}, {variant}", cells, x_name), *_near(cells)]
    output.conclude(rows, [*told, *_reduced(found)], files, as_json)


def rows_of(found: Sequence[Any], x_name: str) -> list[Any]:
    names = [each.name for each in fields(found[0])]
    row = make_dataclass("Row", [x_name, *names[1:]], frozen=True)
    return [row(*(getattr(each, name) for name in names)) for each in found]


def _tables(title: str, cells: Sequence[Cell], x_name: str) -> Iterable[Table]:
    """Published against ours, one table for each metric."""
    label = x_name.split("_")[0]
    for metric in dict.fromkeys(each.metric for each in cells):
        rows = [
            output.Compared(
                f"{label} {each.x:g}  {each.scheme}  {each.statistic}",
                each.published,
                each.ours,
                f"{each.lowest:,.4g} to {each.highest:,.4g}" if each.seeds > 1 else "",
            )
            for each in cells
            if each.metric == metric
        ]
        digits = 1 if max(row.ours for row in rows) >= 10 else 3
        yield output.comparison(f"{title}: {metric}", rows, UNITS[metric.rpartition("_")[2]], digits)


def _near(cells: Sequence[Cell]) -> Iterable[str]:
    for metric in dict.fromkeys(each.metric for each in cells):
        for statistic, factor in (("mean", 1.5), ("p99", 2.0)):
            near, known = within([each for each in cells if each.metric == metric], statistic, factor)
            if known:
                yield f"{metric}, {statistic}: {near} of {known} within a factor {factor:g} of the published"


def _reduced(found: Compared) -> Iterable[str]:
    for each in found.reductions:
        if each.x is None:
            interval = "" if each.low is None else f" ({each.low:.1f} to {each.high:.1f})"
            published = "" if each.published is None else f"; published: {each.published:.1f} %"
            yield (
                f"{each.variant}, {each.metric} {each.statistic}: HULL is {each.percent:.1f} %{interval} below"
                f" {each.than}{published}"
            )


def conclude_sensitivity(points: Sequence[Point], load: float, picture: Path, as_json: bool) -> None:
    """Write the CSV beside the picture, and print a line for each value of a parameter, or JSON."""
    title = f"HULL at {load:.0%} load, one parameter changed; seeds: {points[0].seeds}"
    table = output.plain_table(title, "option", *(f"{metric} {statistic}" for metric, statistic in METRICS))
    for name, value in dict.fromkeys((point.parameter, point.value) for point in points):
        own = [point for point in points if (point.parameter, point.value) == (name, value)]
        table.add_row(f"{option_of(name)} {written(value, name)}", *map(_beside, own))
    csv = output.write_csv(picture.with_suffix(".csv"), points)
    note = "In brackets: the report's numbers. The CSV has the range over seeds."
    output.conclude(points, [table, note], [csv, picture], as_json)


def _beside(point: Point) -> str:
    return shown(point.ours) + ("" if point.published is None else f" ({shown(point.published)})")


def shown(value: float) -> str:
    return f"{value:,.1f}" if value >= 10 else f"{value:.3g}"
