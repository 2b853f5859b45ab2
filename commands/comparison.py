"""Paper against ours, row by row: as a table for the terminal and as a CSV file to keep."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One number of the paper and ours.

    ``case``: what it is. ``paper``: None where the paper shows it in a figure only, and no number is
    published. ``spread``: of ours, over seeds or repetitions, in words. Numbers are in the unit of the
    whole table.
    """

    case: str
    paper: float | None
    ours: float
    spread: str = ""


def table(title: str, rows: Sequence[Row], unit: str, digits: int = 1) -> Table:
    """The rows with their differences: points where the unit is percent, else percent of the paper's."""
    from rich.table import Table

    points = unit == "%"
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    made.add_column("case", no_wrap=True)
    for heading in (f"paper [{unit}]", f"ours [{unit}]", "difference", "spread of ours"):
        made.add_column(heading.replace("[", r"\["), justify="right")
    for row in rows:
        paper, difference = "no number published", ""
        if row.paper is not None:
            paper = f"{row.paper:,.{digits}f}"
            gap = row.ours - row.paper
            difference = f"{gap:+.{digits}f} points" if points else f"{100 * gap / row.paper:+.1f} %"
        made.add_row(row.case, paper, f"{row.ours:,.{digits}f}", difference, row.spread)
    return made


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """Write a CSV file, making its folder; floats get six significant digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for row in rows:
            writer.writerow([f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row])
    return path
