"""The numbers of the report and its authors, from results/published/hull.csv, to compare ours with."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

FILE = Path(__file__).parents[1] / "results" / "published" / "hull.csv"

Key = tuple[str, float, str, str, str]


def _read() -> dict[Key, float]:
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            (row["experiment"], float(row["x"]), row["scheme"], row["metric"], row["statistic"]): float(row["value"])
            for row in rows
        }


PUBLISHED: Mapping[Key, float] = _read()
"""By experiment, x (flows, load in %, or background in Mb/s), scheme, metric and statistic."""
