"""The testbed numbers of the paper's Figure 9, from results/published/, to hold ours against."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

CAPACITY_MBPS = 16_000.0
"""What 16 hosts with 1 Gb/s each could receive."""

_FILE = Path(__file__).parents[1] / "results" / "published" / "figure9_testbed.csv"

COLUMNS: Mapping[str, str] = {
    "nonblocking": "Non-blocking",
    "ecmp": "ECMP",
    "ecmp-dst": "ECMP",
    "spanning-tree": "ECMP",
    "hedera-gff": "Global First Fit",
    "hedera-sa": "Simulated Annealing",
}
"""The published column that each scheme is held against. All static schemes face the one that the paper calls
ECMP: which of them it behaves like is a question that the figure answers."""


def _read() -> dict[str, dict[str, float]]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {
            row["matrix"]: {scheme: float(row[column]) for scheme, column in COLUMNS.items()} for row in rows
        }


FIGURE_9: Mapping[str, Mapping[str, float]] = _read()
"""Published Mb/s (of 16,000) by matrix, in the order of the figure, and by our scheme."""
