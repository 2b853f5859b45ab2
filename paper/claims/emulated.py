"""Claims on what was emulated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from paper.claims.claim import EMULATED, UNKNOWN, Claim, Source, rows
from paper.claims.simulated import ANSWERS
from plots import conditions
from plots.sample import Sample
from plots.style import label, short

REPLICATION = Source(
    "replication/summary.csv", "./test.sh 3 10 --suite replication", "336 runs, 75 minutes of real time"
)
DYNAMIC = Source("dynamic/summary.csv", "./test.sh 1 20 --suite dynamic", "35 runs, a quarter of an hour of real time")
FLOWS = Source("dynamic/flow_by_flow.csv", "python -m benchmarks.flow_by_flow --emulate", UNKNOWN)
SWEEPS = Source(
    "sample-100mbps/summary.csv",
    "./test.sh 3 10 --suite figure9 --bw 100 --mtu 9000",
    "93 minutes of real time",
)
OWN_RATE = Source(
    "figure9-1g",
    "./test.sh 1 10 --suite figure9 --time virtual --bw 1000 --mtu 9000",
    "140 runs, 50 seconds of a processor each",
)
CONDITIONS = Source("conditions", "results/conditions/README.md has one for each folder", UNKNOWN)
SCHEMES = ("hedera-gff", "hedera-sa")
THREE = ("stride:8", "random", "randbij")
EIGHT = (*THREE, "stride:1", "stride:2", "stride:4", "staggered:0.2,0.3", "staggered:0.5,0.3")


def _replication(path: Path) -> Iterator[str]:
    share = {(row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in rows(path)}
    for flows, suffix in (("2", "x2"), ("6, half dropped", "x6 keep 0.5")):
        for named, patterns in (("three", THREE), ("eight", EIGHT)):
            of_each = [f"{pattern} {suffix}" for pattern in patterns]
            cells = [mean(share[one, "ecmp"] for one in of_each)]
            for scheme in (*SCHEMES, "nonblocking"):
                cells.append(mean(share[one, scheme] / share[one, "ecmp"] for one in of_each))
            yield f"| {flows} | {named} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"


def _replication_in_words(path: Path) -> Iterator[str]:
    """Global First Fit over ECMP, the mean over three patterns."""
    share = {(row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in rows(path)}
    two, six = (
        mean(share[f"{one} {suffix}", "hedera-gff"] / share[f"{one} {suffix}", "ecmp"] for one in THREE)
        for suffix in ("x2", "x6 keep 0.5")
    )
    yield (
        f"Global First Fit has {two:.2f} times ECMP's bandwidth with two flows per host, and {six:.2f} times "
        "with six of which half are dropped"
    )


def _web_search(path: Path) -> Iterator[str]:
    share = {(row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in rows(path)}
    for load in ("0.3", "0.5", "0.7"):
        cells = (f"{share[f'poisson:web-search,{load}', scheme]:.0%}" for scheme in ("ecmp", *SCHEMES))
        yield f"| {load} | {' | '.join(cells)} |".replace("%", " %")


def _flow_by_flow(path: Path) -> Iterator[str]:
    by = {(row["second"], row["size_class"]): row for row in rows(path) if row["first"] == "emulated"}
    aimd, fair = (float(by[engine, "all"]["correlation"]) for engine in ("aimd", "maxmin"))
    yield f"correlate to {aimd:.2f} between emulation and AIMD, {fair:.2f} between emulation and max-min"
    near, ratio = by["aimd", "medium"], float(by["maxmin", "medium"]["median_ratio"])
    ends = " and ".join(f"{float(near[end]):.2f}" for end in ("p10_ratio", "p90_ratio"))
    yield (
        f"take {float(near['median_ratio']):.2f} of AIMD's time in the median (eight in ten between {ends}) and "
        f"{ratio:.2f} of max-min's"
    )


def _whole_sweeps(path: Path) -> Iterator[str]:
    """By scheme: its share in either whole sweep of Figure 9, and the differences."""
    results = path.parents[1]
    found = conditions.compare([results / "sample", results / "sample-100mbps"]).rows()
    for first, second in zip(found[::2], found[1::2], strict=True):
        cells = (
            f"{100 * first.share:.1f}",
            f"{100 * second.share:.1f}",
            f"{second.difference_points:+.1f}",
            f"{second.low_points:+.1f} to {second.high_points:+.1f}",
            f"{second.largest_points:+.1f} {label(second.largest_pattern or '')}",
        )
        yield f"| {first.scheme} | {' | '.join(cells)} |"


def _conditions(folder: Path) -> Iterator[str]:
    """By condition: the control's share of the capacity, and of every scheme its share of the control."""
    base, schemes = folder / "base", ("ecmp", *SCHEMES)
    shares = Sample.read(base, base.name).shares()
    means = [mean(share.median for (_, own), share in shares.items() if own == scheme) for scheme in schemes]
    start = f"| 25 Mb/s, 9000 bytes, 50 packets, cubic | {100 * _control(base):.1f} |"
    yield f"{start} {' | '.join(f'{100 * share:.1f}' for share in means)} |"
    for name, spelled in {
        "rate-10": "--bw 10",
        "rate-100": "--bw 100",
        "rate-200": "--bw 200",
        "packets-1500": "--mtu 1500",
        "queue-10": "--queue 10",
        "queue-200": "--queue 200",
        "reno": "--congestion-control reno",
    }.items():
        every = conditions.compare([base, folder / name]).rows()
        found = {row.scheme: row for row in every if row.folder == name}
        cells = [
            f"{100 * row.share:.1f} ({row.difference_points:+.1f}; {row.low_points:+.1f} to {row.high_points:+.1f})"
            for row in (found[scheme] for scheme in schemes)
        ]
        yield f"| `{spelled}` | {100 * _control(folder / name):.1f} | {' | '.join(cells)} |"


def _control(folder: Path) -> float:
    """The non-blocking network's share of the capacity, the mean over patterns."""
    kept = [row for row in rows(folder / "summary.csv") if row["scheme"] == "nonblocking"]
    return mean(float(row["median_mbps"]) / float(row["capacity_mbps"]) for row in kept)


def _second_kernel(folder: Path) -> Iterator[str]:
    """By scheme and pattern: shares with cubic and with DCTCP."""
    found = conditions.compare([folder / "kernel-cubic", folder / "kernel-dctcp"]).pattern_rows()
    for cubic, dctcp in zip(found[::2], found[1::2], strict=True):
        shares = f"{100 * cubic.share:.1f} | {100 * dctcp.share:.1f} ({dctcp.difference_points:+.1f})"
        yield f"| {cubic.scheme} | {label(cubic.pattern)} | {shares} |"


def _own_rate(folder: Path) -> Iterator[str]:
    """Pattern by pattern at 1 Gb/s, and in brackets at 10 Mb/s; what has both."""
    for pattern, shares in _at_both_rates(folder).items():
        yield f"| {short(pattern)} | {' | '.join(f'{fast:.0f} ({slow:.0f})' for fast, slow in shares)} |"


def _own_rate_in_words(folder: Path) -> Iterator[str]:
    """How far apart shares are, at most: in all patterns but the one that differs most, and in that."""
    *most, last = sorted(max(abs(fast - slow) for fast, slow in shares) for shares in _at_both_rates(folder).values())
    yield (
        f"no share of the control differs by more than {most[-1]:.1f} points in {len(most)} of {len(most) + 1} "
        f"patterns, and by {last:.1f} in the other"
    )


def _at_both_rates(folder: Path) -> dict[str, list[tuple[float, float]]]:
    """By pattern: every scheme's share of the control at 1 Gb/s and at 10 Mb/s, in percent."""
    fast = Sample.read(folder, folder.name).shares()
    slow = Sample.read(folder.with_name("figure9"), "figure9").shares()
    schemes = ("ecmp", "spanning-tree", *SCHEMES)
    return {
        pattern: [(100 * fast[pattern, scheme].median, 100 * slow[pattern, scheme].median) for scheme in schemes]
        for pattern in dict.fromkeys(pattern for pattern, _ in fast)
        if all((pattern, scheme) in fast for scheme in schemes)
    }


CLAIMS = (
    Claim("Real TCP gains as much", "docs/answers.md", REPLICATION, _replication_in_words, EMULATED),
    Claim("Gains by flows per host, real TCP", ANSWERS, REPLICATION, _replication, EMULATED),
    Claim("Web search under real TCP, shares of the control", ANSWERS, DYNAMIC, _web_search, EMULATED),
    Claim("The same flows emulated and simulated", ANSWERS, FLOWS, _flow_by_flow, EMULATED),
    Claim(
        "Shares of the control at 25 and 100 Mb/s",
        "docs/notes/conditions.md",
        SWEEPS,
        _whole_sweeps,
        EMULATED,
    ),
    Claim("Shares of the control by condition", "docs/notes/conditions.md", CONDITIONS, _conditions, EMULATED),
    Claim("Shares of the control with DCTCP", "docs/notes/conditions.md", CONDITIONS, _second_kernel, EMULATED),
    Claim("Shares of the control at 1 Gb/s", "docs/conditions.md", OWN_RATE, _own_rate_in_words, EMULATED),
    Claim("The same, by pattern", "docs/notes/conditions.md", OWN_RATE, _own_rate, EMULATED),
)
