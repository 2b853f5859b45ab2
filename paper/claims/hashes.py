"""Claims on which routing the published "ECMP" bars may have come from, under real TCP."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean

from paper.claims.claim import EMULATED, Claim, Source, interval_told
from plots.load import load_sweep
from plots.report.compare import Match, match
from plots.summary import summarise
from results.record import Run

ROUTINGS = ("spanning-tree", "ecmp-edge-pair", "ecmp")
NEAR = 0.1
"""A bar meets the published one where it differs by at most this share of it. Mininet-HiFi (CoNEXT '12, section 5.2)
says "nearly identical" and gives no numbers."""
HASHES = Source(
    "hashes",
    "./test.sh 5 10 --suite figure9 --time virtual --bw 10 --schemes nonblocking,ecmp,spanning-tree,ecmp-edge-pair",
    "400 runs, 13 seconds of a processor each",
)


def _rows(folder: Path) -> Iterator[str]:
    """By routing: its share of the control, how far from the published bars, and how many of these it meets."""
    runs = load_sweep(folder).runs
    by_trial = [[run for run in runs if run.trial == trial] for trial in sorted({run.trial for run in runs})]
    for routing in ROUTINGS:
        found = [_match(own, routing) for own in by_trial]
        shares = [100 * mean(pair.ours for pair in one.pairs) for one in found]
        away = [100 * (one.mean_absolute or 0.0) for one in found]
        cells = (interval_told(values, ".1f") for values in (shares, away, [_met(one) for one in found]))
        yield f"| `{routing}` | {' | '.join(cells)} |"


def _match(runs: Sequence[Run], routing: str) -> Match:
    return match(summarise(runs), routing)


def _met(found: Match) -> float:
    return sum(abs(pair.difference) <= NEAR * pair.published for pair in found.pairs)


CLAIMS = (Claim("Which routing meets the published ECMP bars", "docs/ecmp.md", HASHES, _rows, EMULATED),)
