"""Claims of the simulator on the paper's larger figures, and on what its text leaves open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from paper import explain_sa
from paper.claims.claim import UNKNOWN, Claim, Source, rows
from paper.scale import interval
from topos.arrays import Float64

SENSITIVITY = Source("simulated/sensitivity.csv", "python -m benchmarks.simulator_sensitivity", UNKNOWN)

SA_TOOK = "75 s of a processor"
EXPLAIN_SA = Source("simulated/explain_sa_k32.csv", "hedera explain-sa", SA_TOOK, again=True)
SEARCHES = Source("simulated/explain_sa_search_k32.csv", "hedera explain-sa", SA_TOOK)
EXPLAIN_SA_16 = Source(
    "simulated/explain_sa_k16.csv", "hedera explain-sa -k 16", "15 s of a processor", again=True
)
ONE_CORE = Source("simulated/explain_sa_patterns.csv", "hedera explain-sa", SA_TOOK, again=True)


def _readings(path: Path) -> Iterator[str]:
    """Global First Fit over ECMP with 12 flows per host."""
    found = [row for row in rows(path) if row["study"].startswith("12 flows per host")]
    share = {(row["choice"].removesuffix(" *"), row["scheme"]): float(row["percent"]) for row in found}
    read, by_rate, shuffled = (
        share[choice, "hedera-gff"] / share[choice, "ecmp"] for choice in ("0, 0", "1, 0", "0, 1")
    )
    yield (
        f"Global First Fit has {read:.2f} of ECMP, {by_rate:.2f} by measured rates (first fit then stacks ten of "
        f"them on one link), and {shuffled:.2f} in a random order"
    )


def _spelled(values: Float64, unit: str = " %") -> str:
    """The mean over seeds with its interval."""
    found = interval(values)
    return f"{found.mean:.1f}{unit} ({found.spread.strip()})"


def _bandwidth(path: Path) -> Iterator[str]:
    """What a core per host gets over a core per flow, by iterations."""
    found = [
        explain_sa.Bandwidth(
            row["engine"],
            row["scheme"],
            int(row["iterations"]) if row["iterations"] else None,
            int(row["seed"]),
            float(row["percent_of_full"]),
        )
        for row in rows(path)
    ]
    aimd = [_spelled(explain_sa.gains(found, "aimd", count)) for count in explain_sa.COUNTS]
    fair = [f"{explain_sa.gains(found, 'maxmin', count).mean():.1f}" for count in explain_sa.COUNTS]
    yield (
        f"{aimd[0]} more with 1,000 iterations, {aimd[1]} with 10,000 and {aimd[2]} with 100,000 "
        f"(max-min {fair[0]}, {fair[1]} and {fair[2]} %)"
    )


def _work(path: Path) -> Iterator[str]:
    """How often a core per flow takes the work of a core per host, for as good a placement."""
    found = [
        explain_sa.Search(
            row["scheme"],
            int(row["iterations"]),
            int(row["seed"]),
            float(row["excess_links"]),
            float(row["search_ms"]),
        )
        for row in rows(path)
    ]
    for count in explain_sa.COUNTS:
        more, longer = explain_sa.times_less(found, count)
        most = f"{_spelled(more, ' times')} the iterations, {_spelled(longer, ' times')} the time"
        yield f"{count:,} iterations: {most}"


def _patterns(path: Path) -> Iterator[str]:
    """What no assignment of a core to each host can place."""
    found = rows(path)
    if any(float(row["per_flow_links"]) for row in found):
        return
    least = [float(row["least_excess_links"]) for row in found if row["pattern"] == "counter-example"]
    drawn = [float(row["least_excess_links"]) for row in found if row["pattern"].startswith("random")]
    links = " and ".join((", ".join(f"{value:.2f}" for value in least[:-1]), f"{least[-1]:.2f}"))
    yield f"at least {links} of a link exceeded with k = 4, 6 and 8"
    yield f"{sum(value > 0 for value in drawn)} of {len(drawn)} random patterns"


CLAIMS = (
    Claim("Readings of first fit with many flows", "docs/answers.md", SENSITIVITY, _readings),
    Claim("A core per host: bandwidth", "docs/simulator.md", EXPLAIN_SA, _bandwidth),
    Claim("A core per host: work", "docs/simulator.md", SEARCHES, _work, "the time, on another machine"),
    Claim("A core per host: bandwidth at 1,024 hosts", "docs/simulator.md", EXPLAIN_SA_16, _bandwidth),
    Claim("A core per host: patterns", "docs/simulator.md", ONE_CORE, _patterns),
)
