"""Claims of the simulator on the paper's larger figures, and on what its text leaves open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from paper.claims.claim import UNKNOWN, Claim, Source, rows

SENSITIVITY = Source("simulated/sensitivity.csv", "python -m benchmarks.simulator_sensitivity", UNKNOWN)


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


CLAIMS = (Claim("Readings of first fit with many flows", "docs/answers.md", SENSITIVITY, _readings),)
