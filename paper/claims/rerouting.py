"""Claims that answer the replication report: whether Hedera's gain is significant, and what re-routing costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from paper.claims.claim import EMULATED, Claim, Source, rows
from paper.claims.emulated import REPLICATION, SCHEMES
from plots.load import load_sweep
from plots.trials import difference
from results.record import Run

TIMES = ("real", "virtual")
SHOWN = ("nonblocking", "ecmp", *SCHEMES)
BOTH_TIMES = Source("virtual", "./test.sh 1 10 --time real, and --time virtual", "140 runs each, an hour of real time")


Shares = Mapping[tuple[str, str], float]
"""By pattern and scheme, of the control."""


def _gaps(shares: Shares, scheme: str) -> list[float]:
    """By pattern: points of the control above ECMP."""
    patterns = dict.fromkeys(pattern for pattern, _ in shares)
    return [100 * (shares[one, scheme] - shares[one, "ecmp"]) for one in patterns if (one, scheme) in shares]


def _above(shares: Shares, what: str) -> Iterator[str]:
    """In how many patterns each scheme has more than ECMP, by a point of the control, and its mean gain."""
    for scheme in SCHEMES:
        gaps = _gaps(shares, scheme)
        yield f"| {what} | `{scheme}` | {sum(gap > 1 for gap in gaps)} of {len(gaps)} | {_mean(gaps)} |"


def _in_words(shares: Shares) -> str:
    first_fit, annealing = (_mean(_gaps(shares, scheme)) for scheme in SCHEMES)
    return f"{first_fit} points of the control under Global First Fit, {annealing} under Simulated Annealing"


def _mean(gaps: Sequence[float]) -> str:
    found = difference(None, gaps)
    return f"{found.mean:.1f} ({found.low:.1f} to {found.high:.1f})"


def _several_flows(path: Path) -> Iterator[str]:
    yield from _above(_several(path), "several flows")


def _several_flows_in_words(path: Path) -> Iterator[str]:
    yield f"several flows per host: {_in_words(_several(path))}"


def _several(path: Path) -> Shares:
    return {(row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in rows(path)}


def _one_flow(folder: Path) -> Iterator[str]:
    for when in TIMES:
        yield from _above(_single(folder, when), f"one flow, {when} time")


def _one_flow_in_words(folder: Path) -> Iterator[str]:
    yield f"one flow per host, virtual time: {_in_words(_single(folder, 'virtual'))}"


def _single(folder: Path, when: str) -> Shares:
    """Of patterns that have a share under ECMP."""
    kept = rows(folder / f"{when}-10mbps" / "summary.csv")
    shares = {(row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in kept if row["median_ratio"]}
    return {cell: share for cell, share in shares.items() if (cell[0], "ecmp") in shares}


Cost = Callable[[Run], float | None]


def _of(name: str) -> Cost:
    return lambda run: run.costs.get(name)


COSTS: Mapping[str, tuple[Cost, str]] = {
    "flows moved": (_of("moved_flows"), "g"),
    "found large after, s": (_of("detected_after_s"), ".2f"),
    "moved after, s": (_of("moved_after_s"), ".2f"),
    "rate back after, s": (_of("rate_back_after_s"), ".2f"),
    "segments sent again": (_of("retransmitted_segments"), ",.0f"),
    "of these needlessly": (_of("needless_retransmissions"), ".0f"),
    "reorderings TCP noticed": (
        lambda run: run.costs["reorderings_by_sack"] + run.costs["reorderings_by_timestamp"],
        ".0f",
    ),
    "timeouts": (_of("timeouts"), "g"),
    "controller, % of a processor": (_of("controller_percent"), ".1f"),
    "flow-mods per s": (_of("flow_mods_per_s"), ".0f"),
    "statistics, bytes per s": (_of("statistics_bytes_per_s"), ",.0f"),
}


def _costs(folder: Path) -> Iterator[str]:
    """Medians over the runs of Figure 9 that count, in real and in virtual time."""
    runs: dict[tuple[str, str], list[Run]] = {}
    for when in TIMES:
        for run in load_sweep(folder / f"{when}-10mbps").runs:
            if run.valid:
                runs.setdefault((when, run.scheme), []).append(run)
    for name, (cost, spelled) in COSTS.items():
        cells = [_median(runs[when, scheme], cost) for when in TIMES for scheme in SHOWN]
        told = ("" if value is None else format(value, spelled) for value in cells)
        yield f"| {name} | {' | '.join(told)} |".replace("  ", " ")


def _median(runs: Sequence[Run], cost: Cost) -> float | None:
    values = [value for value in map(cost, runs) if value is not None]
    return median(values) if values else None


PAGE, NOTE = "docs/answers.md", "docs/notes/answers.md"
CLAIMS = (
    Claim("Hedera above ECMP, several flows per host", PAGE, REPLICATION, _several_flows_in_words, EMULATED),
    Claim("Hedera above ECMP, one flow per host", PAGE, BOTH_TIMES, _one_flow_in_words, EMULATED),
    Claim("In how many patterns, several flows per host", NOTE, REPLICATION, _several_flows, EMULATED),
    Claim("In how many patterns, one flow per host", NOTE, BOTH_TIMES, _one_flow, EMULATED),
    Claim("What re-routing costs", NOTE, BOTH_TIMES, _costs, EMULATED),
)
