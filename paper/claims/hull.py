"""Claims on HULL's figures and tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from paper.claims.claim import Claim, Source, rows

HULL_2 = Source(
    "hull/table2.csv", "hedera hull table 2 --variant conforming", "15 minutes on two processors", again=True
)
HULL_4 = Source(
    "hull/figure4.csv", "hedera hull figure 4 --variant conforming", "15 minutes of a processor", again=True
)
HULL_5 = Source(
    "hull/figure5.csv", "hedera hull figure 5 --variant conforming", "10 minutes of a processor", again=True
)


def _ours(
    path: Path, metric: str, statistic: str, variant: str = "conforming"
) -> dict[tuple[str, int], tuple[float, float]]:
    """Ours and published by scheme and x, of a table of HULL's."""
    found = {}
    for row in rows(path):
        if (row["variant"], row["metric"], row["statistic"]) == (variant, metric, statistic):
            x, beside = int(next(iter(row.values()))), float(row["published"] or "nan")
            found[row["scheme"], x] = float(row["ours"]), beside
    return found


def _hull_orders(path: Path) -> Iterator[str]:
    """Nothing where an order is another one."""
    schemes = ("tcp", "dctcp-30k", "dctcp-6k-pacer", "hull")
    for metric in ("switch_latency_us", "fct_900B_us"):
        for statistic in ("mean", "p99"):
            found = _ours(path, metric, statistic)
            for load in (20, 40, 60):
                if not all(found[a, load][0] > found[b, load][0] for a, b in pairwise(schemes)):
                    return
    yield (
        "The orders are the published ones everywhere: queueing latency TCP > DCTCP-30K > DCTCP-6K-pacer > HULL, "
        "small files likewise, means and 99th percentiles"
    )


def _hull_tails(path: Path) -> Iterator[str]:
    ours, published = _ours(path, "query_completion_ms", "p99")["tcp", 600]
    yield f"TCP has tails, shorter ones than published ({ours:.1f} ms against {published:.1f} at 600 Mb/s)"


def _hull_low_latency(path: Path) -> Iterator[str]:
    found = _ours(path, "query_completion_ms", "p99")
    sooner = {
        other: [100 * (1 - found["hull", x][0] / found[other, x][0]) for x in (200, 400, 600)]
        for other in ("dctcp-30k", "tcp")
    }
    spans = {name: f"{min(values):.0f} to {max(values):.0f} %" for name, values in sooner.items()}
    yield f"{spans['dctcp-30k']} sooner than DCTCP-30K and {spans['tcp']} sooner than TCP"


CLAIMS = (
    Claim("Table II's orders", "docs/hull.md", HULL_2, _hull_orders, "the order, and no number"),
    Claim("TCP's tails in Figure 4", "docs/hull.md", HULL_4, _hull_tails),
    Claim("Low-latency search, Figure 5", "docs/hull.md", HULL_5, _hull_low_latency),
)
