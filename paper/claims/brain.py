"""Claims on what the brain's algorithms take: times are of a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

from paper import table_1
from paper.claims.claim import Claim, Source, rows

TIMED = "another machine's times"
TABLE_1 = Source("simulated/table1.csv", "hedera table 1", "20 s of a processor")
TABLE_4 = Source("simulated/table4.csv", "hedera table 4", "20 s of a processor")
TABLE_5 = Source("simulated/table5.csv", "hedera table 5", "20 s of a processor")


def _growth(path: Path) -> Iterator[str]:
    """Table 1, as its command tells it."""
    kinds = {"algorithm": str, "step": str, "k": int, "flows_per_host": int}
    names = [field.name for field in fields(table_1.Case)]
    cases = [table_1.Case(*(kinds.get(name, float)(row[name]) for name in names)) for row in rows(path)]
    for algorithm in table_1.BUILT:
        yield table_1.told_of(algorithm, cases).removesuffix(".")


def _demand(path: Path) -> Iterator[str]:
    for row in rows(path):
        ours = f"{float(row['median_ms']):.3g} ({float(row['best_ms']):.3g}) | {float(row['ratio']):.0f}x"
        yield f"| {row['k']} | {int(row['flows']):,} | {float(row['published_ms']):.2f} | {ours} |"


def _sooner(name: str) -> Callable[[Path], Iterator[str]]:
    """How many times as fast as the paper's, from the least to the most."""

    def words(path: Path) -> Iterator[str]:
        ratios = [float(row["ratio"]) for row in rows(path)]
        yield f"{name} is {min(ratios):.0f} to {max(ratios):.0f} times as fast"

    return words


def _annealing(path: Path) -> Iterator[str]:
    for row in rows(path):
        case = f"| {row['k']} | {int(row['flows']):,} | {int(row['iterations']):,} | {float(row['published_ms']):.2f}"
        times = (f"{float(row[f'{what}_ms']):.3g}" for what in ("median", "best", "annealing"))
        whole, best, alone = times
        ratios = [f"{float(row[what]):.0f}x" for what in ("ratio", "annealing_ratio")]
        yield f"{case} | {whole} ({best}) | {ratios[0]} | {alone} | {ratios[1]} |"


PAGE, NOTE = "docs/performance.md", "docs/notes/placement.md"
CLAIMS = (
    Claim("How placements grow (Table 1)", NOTE, TABLE_1, _growth, TIMED),
    Claim(
        "Demand estimation is faster (Table 4)",
        PAGE,
        TABLE_4,
        _sooner("**Demand estimation** (Table 4)"),
        TIMED,
    ),
    Claim("Demand estimation's time (Table 4)", NOTE, TABLE_4, _demand, TIMED),
    Claim("Annealing is faster (Table 5)", PAGE, TABLE_5, _sooner("**Simulated Annealing** (Table 5)"), TIMED),
    Claim("Annealing's time (Table 5)", NOTE, TABLE_5, _annealing, TIMED),
)
