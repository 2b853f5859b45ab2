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
BOTH_TIMES = Source(
    "virtual", "./test.sh 1 10 --time real, and --time virtual", "140 runs each, an hour of real time"
)


def _above(shares: Mapping[tuple[str, str], float], what: str) -> Iterator[str]:
    """In how many patterns each scheme has more than ECMP, by a point of the control, and its mean gain."""
    patterns = list(dict.fromkeys(pattern for pattern, _ in shares))
    for scheme in SCHEMES:
        gaps = [
            100 * (shares[one, scheme] - shares[one, "ecmp"]) for one in patterns if (one, scheme) in shares
        ]
        found = difference(None, gaps)
        yield (
            f"| {what} | `{scheme}` | {sum(gap > 1 for gap in gaps)} of {len(gaps)} | "
            f"{found.mean:.1f} ({found.low:.1f} to {found.high:.1f}) |"
        )


def _several_flows(path: Path) -> Iterator[str]:
    shares = {(row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in rows(path)}
    yield from _above(shares, "several flows")


def _one_flow(folder: Path) -> Iterator[str]:
    for when in TIMES:
        kept = rows(folder / f"{when}-10mbps" / "summary.csv")
        shares = {
            (row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in kept if row["median_ratio"]
        }
        with_ecmp = {cell: share for cell, share in shares.items() if (cell[0], "ecmp") in shares}
        yield from _above(with_ecmp, f"one flow, {when} time")


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


CLAIMS = (
    Claim(
        "Hedera above ECMP, several flows per host", "docs/answers.md", REPLICATION, _several_flows, EMULATED
    ),
    Claim("Hedera above ECMP, one flow per host", "docs/answers.md", BOTH_TIMES, _one_flow, EMULATED),
    Claim("What re-routing costs", "docs/notes/answers.md", BOTH_TIMES, _costs, EMULATED),
)
