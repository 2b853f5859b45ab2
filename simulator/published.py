"""Numbers that the paper gives in words and tables about its simulator, to hold ours against."""

from __future__ import annotations

TABLE_3: dict[tuple[int, int | None], float] = {
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

TABLE_6: dict[tuple[int, int], float] = {
    (hosts, flows): length
    for hosts, *lengths in (
        (1024, 100.2, 100.9, 101.7),
        (8192, 101.4, 106.8, 113.5),
        (27648, 104.6, 122.8, 145.5),
    )
    for flows, length in zip((1, 5, 10), lengths, strict=True)
}
"""Table 6: length of the control loop, milliseconds, by (hosts, large flows per host)."""

FIGURE_3: dict[int, float] = {1: 60.8, 1000: 2.5}
"""Section 2.2: percent of the bisection bandwidth lost to collisions, by flows per host."""


def ports_for(hosts: int) -> int:
    """The k of the fat-tree with that many hosts; ValueError when there is none."""
    for k in range(4, 129, 2):
        if k**3 // 4 == hosts:
            return k
    raise ValueError(
        f"no fat-tree has {hosts} hosts; sizes are 16, 54, 128, 250, 432, ..., 1024, 8192, 27648"
    )
