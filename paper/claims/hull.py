"""Claims on HULL's figures and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from paper.claims.claim import ROOT, Claim, Source, rows

HULL_2 = Source(
    "hull/table2.csv", "hedera hull table 2 --variants conforming", "15 minutes on two processors", again=True
)
REPORTS = "--schemes tcp,dctcp-30k,hull"
HULL_4 = Source("hull/figure4.csv", f"hedera hull figure 4 {REPORTS}", "16 minutes of a processor", again=True)
HULL_5 = Source(
    "hull/figure5.csv", "hedera hull figure 5 --variants conforming", "10 minutes of a processor", again=True
)
BUILT_5 = Source(
    "hull/reproduction/figure5.csv",
    f"hedera hull figure 5 --variants reproduction {REPORTS} --out results/hull/reproduction",
    "6 minutes of a processor",
)
DRAIN = Source(
    "hull/figure1b-drain95.csv",
    "hedera hull figure 1 --drain 0.95 --schemes hull",
    "about 2 minutes of a processor",
    again=True,
)
NOTE = "docs/notes/hull.md"
LOADED = ("200", "400", "600")
VARIANTS = ("reproduction", "conforming")
QUERIES, RESPONSES, LATENCY = "query_completion_ms", "mean_response_ms", "switch_latency_us"


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
        "Queueing latency falls in the published order at every load: TCP > DCTCP-30K > DCTCP-6K-pacer > HULL. "
        "Small files have the same order, in means and 99th percentiles"
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


def _reduced(*told: tuple[str, str, str, str]) -> Callable[[Path], Iterator[str]]:
    """Rows of how much less HULL has: what they are called, metric, the other scheme, and x ("": the mean)."""

    def words(path: Path) -> Iterator[str]:
        beside = path.with_name(f"{path.stem}_reductions.csv")
        found = {(row["variant"], row["metric"], row["than"], row["background_mbps"]): row for row in rows(beside)}
        for name, metric, than, x in told:
            of = [found[variant, metric, than, x] for variant in VARIANTS]
            cells = [
                f"{float(row['percent']):.1f} % ({float(row['low']):.1f} to {float(row['high']):.1f})" for row in of
            ]
            yield f"| {name} | {float(of[0]['published']):.1f} % | {' | '.join(cells)} |"

    return words


def _low_latency(than: str, *loads: str) -> Callable[[Path], Iterator[str]]:
    """Rows as `_reduced` makes them: the reproduction, and of the conforming variant all seeds together."""

    def words(path: Path) -> Iterator[str]:
        beside = path.with_name(f"{path.stem}_reductions.csv")
        found = {(row["than"], row["background_mbps"]): row for row in rows(beside) if row["metric"] == QUERIES}
        conforming = _ours(ROOT / "results" / HULL_5.data, QUERIES, "p99")
        for x in loads:
            row, pooled = found[than, x], conforming["hull", int(x)][0] / conforming[than, int(x)][0]
            cell = f"{float(row['percent']):.1f} % ({float(row['low']):.1f} to {float(row['high']):.1f})"
            yield (
                f"| low-latency search, {x} Mb/s, against `{than}` | {float(row['published']):.1f} % "
                f"| {cell} | {100 * (1 - pooled):.1f} % |"
            )

    return words


def _low_latency_times(path: Path) -> Iterator[str]:
    """The slowest hundredth of queries, ms, as the reproduction has it."""
    found = _ours(path, QUERIES, "p99", "reproduction")
    hull, published = (", ".join(f"{found['hull', int(x)][n]:.3f}" for x in LOADED) for n in (0, 1))
    yield f"HULL's slowest hundredth takes {hull} ms (published: {published})"
    tcp = found["tcp", 600]
    yield (
        f"TCP's slowest hundredth beside 600 Mb/s takes {tcp[0]:.1f} ms in the reproduction, and {tcp[1]:.2f} in the "
        "authors' files"
    )


def _timeouts(path: Path) -> Iterator[str]:
    """TCP's in a run beside 600 Mb/s, on average, and their range."""
    of = _rows_of(path, "timeouts", "tcp", "600")
    cells = [f"{float(row['ours']):,.0f} ({float(row['lowest']):,.0f} to {float(row['highest']):,.0f})" for row in of]
    yield (
        f"TCP has {cells[0]} timeouts in a run of the reproduction with 600 Mb/s of background, and {cells[1]} "
        "in one with SACK"
    )


def _rows_of(path: Path, metric: str, scheme: str, background: str) -> list[Mapping[str, str]]:
    """Those of both variants, in their order."""
    wanted = scheme, metric, background
    found = [row for row in rows(path) if (row["scheme"], row["metric"], row["background_mbps"]) == wanted]
    return sorted(found, key=lambda row: VARIANTS.index(row["variant"]))


def _chosen(path: Path) -> Iterator[str]:
    """Whom HULL's pacers chose beside 200 Mb/s: all seeds on average, and their range."""
    for kind, name in (("query", "queries'"), ("large", "10 MB files'")):
        for metric, what in (
            ("associated", f"associations per {name} packet"),
            ("association_ended", f"of {name} associations, ended"),
        ):
            of = _rows_of(path, f"{kind}_{metric}_percent", "hull", "200")
            cells = [
                f"{float(row['ours']):.2g} % ({float(row['lowest']):.2g} to {float(row['highest']):.2g})" for row in of
            ]
            yield f"| {what} | {of[0]['published']} % | {' | '.join(cells)} |"


def _drained(path: Path) -> Iterator[str]:
    """HULL's mean latency and goodput at 95 %, by flows, beside 90 %."""
    at_95 = {(row["variant"], row["flows"], row["metric"], row["statistic"]): row for row in rows(path)}
    at_90 = {
        (row["flows"], row["metric"], row["statistic"]): row
        for row in rows(ROOT / "results" / "hull" / "figure1b.csv")
        if row["scheme"] == "hull"
    }
    for flows in ("2", "3", "4", "8"):
        cells = []
        for metric in (LATENCY, "goodput_mbps"):
            before = at_90[flows, metric, "mean"]
            cells += [before["published"], before["ours"]]
            cells += [at_95[variant, flows, metric, "mean"]["ours"] for variant in reversed(VARIANTS)]
        yield f"| {flows} | {' | '.join(f'{float(cell):.3g}' for cell in cells)} |"
    mean, slowest = (at_95["reproduction", "2", LATENCY, statistic] for statistic in ("mean", "p99"))
    ours, lowest, highest = (float(mean[column]) for column in ("ours", "lowest", "highest"))
    yield (
        f"(in the reproduction {ours:.1f} us, {lowest:.1f} to {highest:.1f} by seed, and "
        f"{float(slowest['ours']):.0f} us at the 99th percentile)"
    )


CLAIMS = (
    Claim("Table II's orders", "docs/hull.md", HULL_2, _hull_orders, "the order, and no number"),
    Claim("TCP's tails in Figure 4", NOTE, HULL_4, _hull_tails),
    Claim("Low-latency search, Figure 5", NOTE, HULL_5, _hull_low_latency),
    Claim(
        "HULL is up to 40 % better than TCP, and no better than DCTCP",
        "docs/hull.md",
        HULL_4,
        _reduced(
            *((f"search, {x} Mb/s, against `tcp`", QUERIES, "tcp", x) for x in LOADED),
            ("search, mean of the three, against `dctcp-30k`", QUERIES, "dctcp-30k", ""),
        ),
    ),
    Claim(
        "HULL's mean responses and queueing latency",
        NOTE,
        HULL_4,
        _reduced(
            ("mean response, 600 Mb/s, against `tcp`", RESPONSES, "tcp", "600"),
            ("mean response, mean of the three, against `dctcp-30k`", RESPONSES, "dctcp-30k", ""),
            ("queueing latency, mean of the three, against `tcp`", LATENCY, "tcp", ""),
            *((f"queueing latency, {x} Mb/s, against `dctcp-30k`", LATENCY, "dctcp-30k", x) for x in LOADED),
        ),
    ),
    Claim(
        "HULL's low-latency queries end sooner than DCTCP's",
        "docs/hull.md",
        BUILT_5,
        _low_latency("dctcp-30k", "600"),
    ),
    Claim("The same beside less traffic", NOTE, BUILT_5, _low_latency("dctcp-30k", "200", "400")),
    Claim("HULL's low-latency queries end sooner than TCP's", NOTE, BUILT_5, _low_latency("tcp", *LOADED)),
    Claim("How long low-latency queries take", NOTE, BUILT_5, _low_latency_times),
    Claim("Why TCP's queries are slow without SACK", "docs/hull.md", HULL_4, _timeouts),
    Claim("Whom HULL's pacers choose", NOTE, HULL_4, _chosen),
    Claim("Static flows where phantom queues drain at 95 %", NOTE, DRAIN, _drained),
)
