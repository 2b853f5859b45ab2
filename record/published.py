"""The paper's published numbers, re-keyed, to compare ours with: from its figures, tables and text.

Al-Fares et al., "Hedera: Dynamic Flow Scheduling for Data Center Networks", NSDI 2010. The traffic behind
Figure 9 is in `traffic.patterns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from record.output import read_csv

CAPACITY_MBPS = 16_000.0
"""What the testbed's 16 hosts with 1 Gb/s each could receive, Mb/s."""

COLUMNS = {
    "nonblocking": "Non-blocking",
    **dict.fromkeys(("ecmp", "ecmp-dst", "spanning-tree", "ecmp-edge-pair", "ecmp-polarized"), "ECMP"),
    "hedera-gff": "Global First Fit",
    "hedera-sa": "Simulated Annealing",
}
"""The column of Figure 9 that each scheme is compared with. All static schemes have the same: which of them it behaves
like is a question that Figure 9 answers."""

TESTBED_ALONE = ("ecmp-dst", "spanning-tree", "ecmp-edge-pair", "ecmp-polarized")
"""Schemes that the paper's simulator does not have."""


def _read_rows(name: str) -> list[dict[str, str]]:
    return read_csv(Path(__file__).parents[1] / "results/published" / f"{name}.csv")


def _read_figure_9(name: str) -> dict[str, dict[str, float]]:
    return {
        row["matrix"]: {scheme: float(row[column]) for scheme, column in COLUMNS.items()} for row in _read_rows(name)
    }


FIGURE_9: Mapping[str, Mapping[str, float]] = _read_figure_9("figure9_testbed")
"""Figure 9: Mb/s (of CAPACITY_MBPS) by matrix, in the order of the figure, and by our scheme."""

FIGURE_9_SIMULATED: Mapping[str, Mapping[str, float]] = _read_figure_9("figure9_simulator")
"""The same from the paper's own simulator, for all matrices except the hotspot."""

FIGURE_3: Mapping[int, float] = {1: 60.8, 1000: 2.5}
"""Section 2.2: percent of the bisection bandwidth lost to collisions, by flows per host."""

SHARE_OF_OPTIMAL = 96.0
"""Abstract: percent of the optimal bisection bandwidth that Hedera reaches in simulation, 8,192 hosts."""
GAIN_OVER_STATIC = 113.0
"""Abstract: percent by which Hedera exceeds static hashing there, at most."""

TABLE_2: Mapping[str, tuple[float, ...]] = {
    row.pop("scheme"): tuple(map(float, row.values())) for row in _read_rows("table2")
}
"""Table 2: by our scheme, shuffle time and mean host completion time (s), bisection bandwidth (10^9 bit/s) and
goodput per host (2^20 bytes/s)."""
TABLE_2_BYTES = 500 * 2**20
"""What each host sends to every other there."""

TABLE_3: Mapping[tuple[int, int | None], float] = {
    (hosts, None if row["iterations"] == "non-blocking" else int(row["iterations"])): float(row[str(hosts)])
    for row in _read_rows("table3")
    for hosts in (16, 1024, 8192)
}
"""Table 3: percent of the full bisection bandwidth by (hosts, iterations); None: non-blocking network."""

TABLE_4: Mapping[tuple[int, int], float] = {
    (int(row["k"]), int(row["flows"])): float(row["ms"]) for row in _read_rows("table4")
}
"""Table 4: milliseconds of demand estimation by (k, large flows)."""

TABLE_5: Mapping[tuple[int, int], Mapping[int, float]] = {
    (int(row["k"]), int(row["flows"])): {n: float(row[str(n)]) for n in (1000, 5000, 10000)}
    for row in _read_rows("table5")
}
"""Table 5: milliseconds of Simulated Annealing by (k, large flows) and iterations."""

TABLE_6: Mapping[tuple[int, int], float] = {
    (int(row["hosts"]), flows): float(row[str(flows)]) for row in _read_rows("table6") for flows in (1, 5, 10)
}
"""Table 6: length of the control loop, milliseconds, by (hosts, large flows per host)."""
