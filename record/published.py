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
    **dict.fromkeys(("ecmp", "ecmp-dst", "spanning-tree", "ecmp-edge-pair"), "ECMP"),
    "hedera-gff": "Global First Fit",
    "hedera-sa": "Simulated Annealing",
}
"""The column of Figure 9 that each scheme is compared with. All static schemes have the same: which of them it behaves
like is a question that Figure 9 answers."""

TESTBED_ALONE = ("ecmp-dst", "spanning-tree", "ecmp-edge-pair")
"""Schemes that the paper's simulator does not have."""


def _figure_9(name: str) -> dict[str, dict[str, float]]:
    rows = read_csv(Path(__file__).parents[1] / "results/published" / name)
    return {row["matrix"]: {scheme: float(row[column]) for scheme, column in COLUMNS.items()} for row in rows}


FIGURE_9: Mapping[str, Mapping[str, float]] = _figure_9("figure9_testbed.csv")
"""Figure 9: Mb/s (of CAPACITY_MBPS) by matrix, in the order of the figure, and by our scheme."""

FIGURE_9_SIMULATED: Mapping[str, Mapping[str, float]] = _figure_9("figure9_simulator.csv")
"""The same from the paper's own simulator, for all matrices except the hotspot."""

FIGURE_3: Mapping[int, float] = {1: 60.8, 1000: 2.5}
"""Section 2.2: percent of the bisection bandwidth lost to collisions, by flows per host."""

SHARE_OF_OPTIMAL = 96.0
"""Abstract: percent of the optimal bisection bandwidth that Hedera reaches in simulation, 8,192 hosts."""
GAIN_OVER_STATIC = 113.0
"""Abstract: percent by which Hedera exceeds static hashing there, at most."""

TABLE_3: Mapping[tuple[int, int | None], float] = {
    (hosts, iterations): share
    for iterations, *shares in (
        (1_000, 78.73, 74.69, 72.83),
        (50_000, 78.93, 75.79, 74.27),
        (100_000, 78.62, 75.77, 75.00),
        (500_000, 79.35, 75.87, 74.94),
        (1_000_000, 79.04, 75.78, 75.03),
        (1_500_000, 78.71, 75.82, 75.13),
        (2_000_000, 78.17, 75.87, 75.05),
        (None, 81.24, 78.34, 77.63),
    )
    for hosts, share in zip((16, 1024, 8192), shares, strict=True)
}
"""Table 3: percent of the full bisection bandwidth by (hosts, iterations); None: non-blocking network."""

TABLE_4: Mapping[tuple[int, int], float] = {
    (16, 1024): 1.45,
    (16, 5000): 4.14,
    (32, 8192): 2.71,
    (32, 25000): 9.23,
    (32, 50000): 26.31,
    (48, 27648): 6.91,
    (48, 100000): 51.30,
    (48, 250000): 199.43,
}
"""Table 4: milliseconds of demand estimation by (k, large flows), on 4 threads of a quad-core 2.13 GHz machine."""

TABLE_5: Mapping[tuple[int, int], Mapping[int, float]] = {
    (16, 3215): {1000: 2.997, 5000: 12.209, 10000: 23.447},
    (16, 6250): {1000: 5.042, 5000: 20.848, 10000: 40.255},
    (32, 25000): {1000: 6.898, 5000: 19.091, 10000: 32.912},
    (32, 50000): {1000: 11.573, 5000: 32.079, 10000: 55.741},
}
"""Table 5: milliseconds of Simulated Annealing by (k, large flows) and iterations, on the same machine."""

TABLE_6: Mapping[tuple[int, int], float] = {
    (hosts, flows): length
    for hosts, *lengths in ((1024, 100.2, 100.9, 101.7), (8192, 101.4, 106.8, 113.5), (27648, 104.6, 122.8, 145.5))
    for flows, length in zip((1, 5, 10), lengths, strict=True)
}
"""Table 6: length of the control loop, milliseconds, by (hosts, large flows per host)."""

TABLE_2: Mapping[str, tuple[float, float, float, float]] = {
    "ecmp": (438.44, 358.14, 2.811, 20.94),
    "hedera-gff": (335.50, 258.70, 3.891, 28.99),
    "hedera-sa": (335.96, 261.96, 3.843, 28.63),
    "nonblocking": (306.37, 226.56, 4.443, 33.10),
}
"""Table 2: by our scheme, shuffle time and mean host completion time (s), bisection bandwidth (10^9 bit/s) and
goodput per host (2^20 bytes/s), of a shuffle of 500 MB from each of 16 hosts to every other. The last two are both
the bytes of a host divided by the mean host completion time; they agree only if a MB is 2^20 bytes."""
TABLE_2_BYTES = 500 * 2**20
"""What each host sends to every other there."""
