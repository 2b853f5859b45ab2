"""Claims on what was simulated: the paper's figures and tables, and the questions of docs/answers.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean

from paper.claims.claim import UNKNOWN, Claim, Rows, Source, rows

ECMP = Source("simulated/explain_ecmp_fits.csv", "hedera explain-ecmp", UNKNOWN, again=True)
LOSS = Source("simulated/figure3.csv", "hedera figure 3", UNKNOWN, again=True)
HOSTS_16 = Source("simulated/flows_per_host_k4.csv", "hedera flows-per-host", UNKNOWN, again=True)
HOSTS_1024 = Source(
    "simulated/flows_per_host_k16.csv",
    "hedera flows-per-host -k 16 --engines maxmin",
    UNKNOWN,
    again=True,
)
COMPLETION = Source("simulated/completion_k16.csv", "hedera completion", "9 minutes on two processors", again=True)
TABLE_3 = Source("simulated/table3.csv", "hedera table 3", UNKNOWN, again=True)
SCHEMES = ("hedera-gff", "hedera-sa")
ANSWERS = "docs/notes/answers.md"


def _ecmp(path: Path) -> Iterator[str]:
    fits = {row["routing"]: row for row in rows(path) if row["engine"] == "maxmin"}
    error = {name: float(row["mean_relative_error_percent"]) for name, row in fits.items()}
    best = {name: float(row["best_single_seed_error_percent"]) for name, row in fits.items()}
    correlation = float(fits["spanning tree"]["correlation"])
    yield f"mean error of {error['spanning tree']:.1f} % and a correlation of {correlation:.3f}"
    yield (
        f"5-tuple hashing misses them by {error['5-tuple hash']:.0f} %, hashing the destination by "
        f"{error['destination hash']:.0f} %, hashing pairs of edge switches by {error['edge-pair hash']:.0f} %, "
        f"and the best single one of 200 hash seeds by {best['5-tuple hash']:.0f}, "
        f"{best['destination hash']:.0f} and {best['edge-pair hash']:.0f} %"
    )


def _gains(engine: str) -> Callable[[Path], Iterator[str]]:
    """By flows per host: what ECMP has of the control, what the others have over ECMP, and what is large."""

    def words(path: Path) -> Iterator[str]:
        found = [row for row in rows(path) if row["engine"] == engine]
        for flows, keep in dict.fromkeys((row["flows_per_host"], row["keep"]) for row in found):
            here = [row for row in found if (row["flows_per_host"], row["keep"]) == (flows, keep)]
            cells = [_average(here, "over_control", "ecmp")]
            for threshold in ("0.1", "0.01"):
                cells += [_average(here, "over_ecmp", scheme, threshold) for scheme in SCHEMES]
            cells.append(_average(here, "over_ecmp", "nonblocking"))
            large = _average(here, "large_share", "hedera-gff", "0.1")
            name = flows if float(keep) == 1 else f"{flows}, half dropped"
            yield f"| {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} | {large:.0%} |"

    return words


def _average(here: Rows, column: str, scheme: str, threshold: str = "") -> float:
    """Over the three patterns."""
    values = [float(row[column]) for row in here if (row["scheme"], row["threshold"]) == (scheme, threshold)]
    if len(values) != 3:
        raise ValueError(f"{scheme} has {len(values)} patterns, not three")
    return mean(values)


def _completions(path: Path) -> tuple[dict[tuple[str, str, str], str], list[str]]:
    """The mean slowdown by size class, curve and load, as spelled; and the loads, in their order."""
    found = [row for row in rows(path) if row["beside"] == "False"]
    by = {}
    for row in found:
        detected = ", upon detection" if row["detect_s"] else ""
        when = f", {float(row['interval_s']):g} s" if row["interval_s"] else detected
        by[row["size_class"], row["scheme"] + when, row["load"]] = row["mean_slowdown"]
    return by, sorted({row["load"] for row in found}, key=float)


def _slowdowns(size_class: str) -> Callable[[Path], Iterator[str]]:
    """By scheme: its mean slowdown over ECMP's, at every load."""

    def words(path: Path) -> Iterator[str]:
        by, loads = _completions(path)
        for curve in dict.fromkeys(key[1] for key in by):
            values = [(by.get((size_class, curve, load)), by[size_class, "ecmp", load]) for load in loads]
            if curve != "ecmp" and any(ours for ours, _ in values):
                cells = (f"{float(ours) / float(ecmp):.2f}" if ours else "" for ours, ecmp in values)
                yield f"| {curve} | {' | '.join(cells)} |"

    return words


def _less_time(path: Path) -> Iterator[str]:
    """By period: how much less time large flows take than under ECMP, from the least to the most up to load 0.7."""
    by, loads = _completions(path)
    low = [load for load in loads if float(load) <= 0.7]
    for when in ("5 s", "1 s", "0.1 s", "upon detection"):
        cells = []
        for scheme in (*SCHEMES, "hedera-clos"):
            times = [by.get(("large", f"{scheme}, {when}", load)) for load in low]
            ecmp = [float(by["large", "ecmp", load]) for load in low]
            less = [100 * (1 - float(ours) / other) for ours, other in zip(times, ecmp, strict=True) if ours]
            cells.append(f"{min(less):.0f} to {max(less):.0f} %" if less else "")
        yield f"| {when} | {' | '.join(cells)} |".replace("  ", " ").replace("  ", " ")


def _mean_slowdowns(path: Path) -> Iterator[str]:
    """By scheme: the mean slowdowns of small and of large flows, at every load."""
    by, loads = _completions(path)
    for curve in dict.fromkeys(key[1] for key in by):
        values = [(by.get(("small", curve, load)), by.get(("large", curve, load))) for load in loads]
        if any(small for small, _ in values):
            cells = (f"{float(s):.2f} / {float(e):.2f}" if s and e else "" for s, e in values)
            yield f"| {curve} | {' | '.join(cells)} |"


def _table_3(path: Path) -> Iterator[str]:
    """What a period of 5 s loses of the control from 2,000,000 to 1,000 iterations at 8,192 hosts."""
    of = {
        (row["engine"], row["iterations"]): float(row["of_control_percent"])
        for row in rows(path)
        if (row["hosts"], row["scheme"], row["interval_s"]) == ("8192", "hedera-sa", "5")
    }
    lost = of["aimd", "2000000"] - of["aimd", "1000"]
    yield f"1,000 iterations lose {lost:.1f} points of the control against 2,000,000 at 8,192 hosts"


def _collisions(path: Path) -> Iterator[str]:
    """What collisions cost on average (Figure 3)."""
    of = {(row["model"], int(row["flows_per_host"])): float(row["loss_percent"]) for row in rows(path)}
    few, many = of["worst link", 1], of["worst link", 1000]
    yield (
        f"{few:.1f} % and {many:.1f} % lost with 1 and 1,000 flows, where the text has 60.8 % and 2.5 %; "
        f"with max-min rates {of['max-min', 1]:.1f} % at 1 flow, but only {of['max-min', 100]:.1f} % at 100"
    )


CLAIMS = (
    Claim("The published ECMP bars fit a spanning tree, and no hash", "README.md", ECMP, _ecmp),
    Claim("The same, beside its picture", "docs/ecmp.md", ECMP, _ecmp),
    Claim("Gains by flows per host, 16 hosts, max-min rates", ANSWERS, HOSTS_16, _gains("maxmin")),
    Claim("Gains by flows per host, 16 hosts, AIMD", ANSWERS, HOSTS_16, _gains("aimd")),
    Claim("Gains by flows per host, 1,024 hosts, max-min rates", ANSWERS, HOSTS_1024, _gains("maxmin")),
    Claim("Small flows' slowdown over ECMP's", ANSWERS, COMPLETION, _slowdowns("small")),
    Claim("Large flows' slowdown over ECMP's", ANSWERS, COMPLETION, _slowdowns("large")),
    Claim("Mean slowdowns of small and large flows", "docs/notes/dynamic.md", COMPLETION, _mean_slowdowns),
    Claim("How much sooner large flows end than under ECMP", "docs/dynamic.md", COMPLETION, _less_time),
    Claim("What collisions cost (Figure 3)", "docs/simulator.md", LOSS, _collisions),
    Claim("What few iterations cost (Table 3)", "docs/notes/simulator.md", TABLE_3, _table_3),
)
