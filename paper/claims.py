"""What the documents claim, each beside the data that it is taken from, and the command that makes these.

A claim's words are made from the committed CSV, as they are spelled in its document: where the document says another
number, they are not in it. `docs/claims.md` is the table of all of them; ``hedera claims`` tells it, writes it, and
runs their commands again.
"""

from __future__ import annotations

import csv
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from statistics import mean

import click

from files.writer import write_whole
from plots import conditions
from plots.sample import Sample
from plots.style import label

ROOT = Path(__file__).parents[1]
PAGE = Path("docs/claims.md")
CHECKED = Path("results/checked.csv")
"""When the command of a source was last run and said what the documents say: source, revision, date, processor_s."""

Rows = Sequence[Mapping[str, str]]
"""Of a CSV file: cells by column."""


@dataclass(frozen=True)
class Source:
    """Data that is kept: a CSV file, or a folder of summaries, below results/; the command that makes it; the time
    that took, as far as it is known. ``again``: whether `hedera claims --again` may run it, for a simulation says the
    same again."""

    data: str
    command: str
    takes: str
    again: bool = False


@dataclass(frozen=True)
class Claim:
    """``what`` a document (``said``) tells, in ``words`` that are made from the data of a source. ``tolerance``: what
    may differ in another run without making it wrong."""

    what: str
    said: str
    source: Source
    words: Callable[[Path], Iterator[str]]
    tolerance: str = "none: the digits that are spelled"


UNKNOWN = "not told"
EMULATED = "another machine's runs: docs/conditions.md; the digits are those of these runs"
ECMP = Source("simulated/explain_ecmp_fits.csv", "hedera explain-ecmp", UNKNOWN, again=True)
LOSS = Source("simulated/figure3.csv", "hedera figure 3", UNKNOWN, again=True)
HOSTS_16 = Source("simulated/flows_per_host_k4.csv", "hedera flows-per-host", UNKNOWN, again=True)
HOSTS_1024 = Source(
    "simulated/flows_per_host_k16.csv",
    "hedera flows-per-host -k 16 --engines maxmin",
    UNKNOWN,
    again=True,
)
COMPLETION = Source(
    "simulated/completion_k16.csv", "hedera completion", "9 minutes on two processors", again=True
)
TABLE_3 = Source("simulated/table3.csv", "hedera table 3", UNKNOWN, again=True)
HULL_2 = Source("hull/table2.csv", "hedera hull table 2", "15 minutes on two processors", again=True)
HULL_4 = Source("hull/figure4.csv", "hedera hull figure 4", "15 minutes of a processor", again=True)
HULL_5 = Source("hull/figure5.csv", "hedera hull figure 5", "10 minutes of a processor", again=True)
REPLICATION = Source(
    "replication/summary.csv", "./test.sh 3 10 --suite replication", "336 runs, 75 minutes of real time"
)
DYNAMIC = Source(
    "dynamic/summary.csv", "./test.sh 1 20 --suite dynamic", "35 runs, a quarter of an hour of real time"
)
FLOWS = Source("dynamic/flow_by_flow.csv", "python -m benchmarks.flow_by_flow --emulate", UNKNOWN)
SWEEPS = Source(
    "sample-100mbps/summary.csv",
    "./test.sh 3 10 --suite figure9 --bw 100 --mtu 9000",
    "93 minutes of real time",
)
CONDITIONS = Source("conditions", "results/conditions/README.md has one for each folder", UNKNOWN)
SCHEMES = ("hedera-gff", "hedera-sa")


def rows(path: Path) -> Rows:
    """Of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _ecmp(path: Path) -> Iterator[str]:
    fits = {row["routing"]: row for row in rows(path) if row["engine"] == "maxmin"}
    error = {name: float(row["mean_relative_error_percent"]) for name, row in fits.items()}
    best = min(float(row["best_single_seed_error_percent"]) for row in fits.values() if row["seeds"] != "1")
    correlation = float(fits["spanning tree"]["correlation"])
    yield f"mean error of {error['spanning tree']:.1f} % and a correlation of {correlation:.3f}"
    yield (
        f"5-tuple hashing misses them by {error['5-tuple hash']:.0f} %, hashing the destination by "
        f"{error['destination hash']:.0f} %, hashing pairs of edge switches by {error['edge-pair hash']:.0f} %, "
        f"and the best of 200 hash seeds of any of these by {best:.0f} %"
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


def _mean_slowdowns(path: Path) -> Iterator[str]:
    """By scheme: the mean slowdowns of small and of large flows, at every load."""
    by, loads = _completions(path)
    for curve in dict.fromkeys(key[1] for key in by):
        values = [(by.get(("small", curve, load)), by.get(("large", curve, load))) for load in loads]
        if any(small for small, _ in values):
            cells = (f"{float(s):.2f} / {float(e):.2f}" if s and e else "" for s, e in values)
            yield f"| {curve} | {' | '.join(cells)} |"


THREE = ("stride:8", "random", "randbij")
EIGHT = (*THREE, "stride:1", "stride:2", "stride:4", "staggered:0.2,0.3", "staggered:0.5,0.3")


def _replication(path: Path) -> Iterator[str]:
    share = {(row["pattern"], row["scheme"]): float(row["median_ratio"]) for row in rows(path)}
    for flows, suffix in (("2", "x2"), ("6, half dropped", "x6 keep 0.5")):
        for named, patterns in (("these three", THREE), ("all eight", EIGHT)):
            of_each = [f"{pattern} {suffix}" for pattern in patterns]
            cells = [mean(share[one, "ecmp"] for one in of_each)]
            for scheme in (*SCHEMES, "nonblocking"):
                cells.append(mean(share[one, scheme] / share[one, "ecmp"] for one in of_each))
            yield f"| {flows} | {named} | {' | '.join(f'{cell:.2f}' for cell in cells)} |"


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
        f"take {float(near['median_ratio']):.2f} of AIMD's time in the median (nine in ten between {ends}) and "
        f"{ratio:.2f} of max-min's"
    )


def _ours(path: Path, metric: str, statistic: str) -> dict[tuple[str, int], tuple[float, float]]:
    """Ours and published by scheme and x, of a table of HULL's."""
    found = {}
    for row in rows(path):
        if (row["metric"], row["statistic"]) == (metric, statistic):
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
    Claim("Gains by flows per host, 16 hosts, max-min rates", "docs/answers.md", HOSTS_16, _gains("maxmin")),
    Claim("Gains by flows per host, 16 hosts, AIMD", "docs/answers.md", HOSTS_16, _gains("aimd")),
    Claim(
        "Gains by flows per host, 1,024 hosts, max-min rates", "docs/answers.md", HOSTS_1024, _gains("maxmin")
    ),
    Claim("Real TCP gains as much", "docs/answers.md", REPLICATION, _replication, EMULATED),
    Claim("Small flows' slowdown over ECMP's", "docs/answers.md", COMPLETION, _slowdowns("small")),
    Claim("Large flows' slowdown over ECMP's", "docs/answers.md", COMPLETION, _slowdowns("large")),
    Claim(
        "Web search under real TCP, shares of the control", "docs/answers.md", DYNAMIC, _web_search, EMULATED
    ),
    Claim("The same flows emulated and simulated", "docs/answers.md", FLOWS, _flow_by_flow, EMULATED),
    Claim("Mean slowdowns of small and large flows", "docs/workloads.md", COMPLETION, _mean_slowdowns),
    Claim("What collisions cost (Figure 3)", "docs/simulator.md", LOSS, _collisions),
    Claim("What few iterations cost (Table 3)", "docs/simulator.md", TABLE_3, _table_3),
    Claim("Table II's orders", "docs/hull.md", HULL_2, _hull_orders, "the order, and no number"),
    Claim("TCP's tails in Figure 4", "docs/hull.md", HULL_4, _hull_tails),
    Claim("Low-latency search, Figure 5", "docs/hull.md", HULL_5, _hull_low_latency),
    Claim("Shares of the control at 25 and 100 Mb/s", "docs/conditions.md", SWEEPS, _whole_sweeps, EMULATED),
    Claim("Shares of the control by condition", "docs/conditions.md", CONDITIONS, _conditions, EMULATED),
    Claim("Shares of the control with DCTCP", "docs/conditions.md", CONDITIONS, _second_kernel, EMULATED),
)


def unsaid(claim: Claim, data: Path | None = None) -> list[str]:
    """What the data says (``data``: other than what is kept) and the document does not."""
    text = _one_space((ROOT / claim.said).read_text(encoding="utf-8"))
    words = list(claim.words(data or ROOT / "results" / claim.source.data))
    return (
        [one for one in words if _one_space(one) not in text]
        if words
        else ["nothing: the data says otherwise"]
    )


def _one_space(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def page() -> str:
    """docs/claims.md."""
    checked = {row["source"]: row for row in rows(ROOT / CHECKED)}
    lines = []
    for claim in CLAIMS:
        first, *more = claim.words(ROOT / "results" / claim.source.data)
        last = checked.get(claim.source.data)
        cells = (
            claim.what,
            f"{_quoted(first)}{f' (and {len(more)} more)' if more else ''}",
            f"[{claim.said}]({_from_docs(claim.said)})",
            f"[{claim.source.data}](../results/{claim.source.data})",
            f"`{claim.source.command}`",
            f"{float(last['processor_s']):.0f} s of a processor" if last else claim.source.takes,
            claim.tolerance,
            f"{last['revision']}, {last['date']}" if last else "not since the data was made",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return _PAGE.format(rows="\n".join(lines))


def _quoted(words: str) -> str:
    """Words in a cell; a line of a table by its cells."""
    cells = [cell.strip() for cell in words.strip("| ").split("|")]
    return "; ".join(cells)


def _from_docs(said: str) -> str:
    return said.removeprefix("docs/") if said.startswith("docs/") else f"../{said}"


_PAGE = """# Claims

Made by `hedera claims --write` from `paper/claims.py`. Each claim is made from the committed data, as it is spelled
where it is said: `hedera claims`, and a test, fail where a document says another number than its data.

`hedera claims --again NAME` runs the command of simulated data again (NAME: a part of the file's name), in a folder
of its own, holds the documents against what comes out, and keeps when that was and by which code. What is emulated
differs from run to run and from machine to machine: its command is there to be run, and `hedera compare` says by how
much.

| claim | its words, or a row of its table | said in | data | command | takes | may differ by | last run again |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

More of docs/hull.md is held by `tests/packets/test_committed.py`, of docs/virtual-time-truth.md by
`tests/benchmarks/test_truth_page.py`; `tests/paper/test_committed.py` computes a cheap part of every file in
results/simulated anew. Figure 9's table in the README is not among them.
"""


@click.command()
@click.option("--write", is_flag=True, help="Write docs/claims.md.")
@click.option(
    "--again",
    metavar="NAME",
    help="Run the commands of simulated data whose files have NAME in their names again.",
)
def command(write: bool, again: str | None) -> None:
    """What the documents claim, and whether the committed data says so; and to make the data again."""
    if not (ROOT / CHECKED).is_file():
        raise click.UsageError(
            "claims are of a clone of the project: an installed one has no documents and no data"
        )
    wrong = _said_again(again) if again is not None else [(c, one) for c in CLAIMS for one in unsaid(c)]
    if write:
        write_whole(ROOT / PAGE, page())
    for claim, words in wrong:
        click.echo(f"{claim.said} does not say what {claim.source.data} does: {words}")
    if not wrong and again is None:
        click.echo(f"{len(CLAIMS)} claims say what their data does")
    if wrong:
        raise SystemExit(1)


def _said_again(name: str) -> list[tuple[Claim, str]]:
    sources = dict.fromkeys(c.source for c in CLAIMS if c.source.again and name in c.source.data)
    if not sources:
        raise click.UsageError(f"no simulated data has {name} in its name")
    wrong = []
    for source in sources:
        with tempfile.TemporaryDirectory() as folder:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            words = [*shlex.split(source.command)[1:], "--out", folder]
            if words[0] == "hull":
                words += ["--keep", f"{folder}/runs"]
            subprocess.run([sys.argv[0], *words], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            data = Path(folder) / Path(source.data).name
            found = [(c, one) for c in CLAIMS if c.source is source for one in unsaid(c, data)]
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        click.echo(f"{source.data}: {took:.0f} s, {'another number' if found else 'says the same'}")
        if not found:
            _keep(source, took)
        wrong += found
    return wrong


def _keep(source: Source, took: float) -> None:
    revision = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    kept = {row["source"]: dict(row) for row in rows(ROOT / CHECKED)}
    today = datetime.now(timezone.utc).date().isoformat()
    kept[source.data] = dict(source=source.data, revision=revision, date=today, processor_s=f"{took:.0f}")
    columns = ("source", "revision", "date", "processor_s")
    lines = [",".join(columns), *(",".join(kept[name][c] for c in columns) for name in sorted(kept))]
    write_whole(ROOT / CHECKED, "\n".join(lines) + "\n")
