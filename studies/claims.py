"""The documents' headline claims, held against the data that is committed with them (`hedera claims`); and the
numbers and the picture of docs/figure9.md, made from the sweep that is kept.

`results/claims.csv` has a row for each number: the claim, the document that says it (``said``) and in which ``words``;
the CSV file below results/ (``data``) and the ``command`` that makes it; and the number itself, ``value`` as it is
spelled. It is taken from a ``column`` in the rows that fulfil ``where`` (``scheme=ecmp;seconds>10``), divided row by
row by what is ``over`` (another column, or as many other rows), in a ``unit`` (`UNITS`), and then summed up (``of``:
mean, min, max, total, or low and high, the ends of Student's 95 % interval of the mean). ``tolerance``: by how much
another run may differ; none: the digits that are spelled.
"""

from __future__ import annotations

import csv
import operator
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import mean

import click
import numpy as np

from hedera.schemes import CONTROL
from plots import Sweep, figure9, load_sweep, shorten_name
from plots.paired_tests import describe_significance, format_seeds_csv
from plots.paired_tests import format_csv as format_differences_csv
from plots.published import (
    Family,
    find_bijective,
    find_our_share,
    find_published_bars,
    list_families,
    make_overall_family,
    match_published,
)
from plots.summary import Summary, summarise
from plots.summary import format_csv as format_summary_csv
from record.errors import to_one_line
from record.files import write_whole
from record.output import read_csv, write_csv
from record.published import CAPACITY_MBPS
from record.run import ARCHIVE, Run
from studies import document_numbers
from studies.study import estimate_over_seeds, group_rows
from topos.arrays import Float64

PROJECT = Path(__file__).parents[1]
TABLE = Path("results/claims.csv")
Row = Mapping[str, str]

UNITS: dict[str, Callable[[Float64, Float64], Float64]] = {
    "": lambda value, divisor: value / divisor,
    "percent": lambda value, divisor: 100 * value / divisor,
    "more": lambda value, divisor: 100 * (value / divisor - 1),
    "less": lambda value, divisor: 100 * (1 - value / divisor),
    "off": lambda value, divisor: 100 * np.abs(value / divisor - 1),
    "points": lambda value, divisor: 100 * (value - divisor),
    "below": lambda value, divisor: -value / divisor,
    "minus": lambda value, divisor: value - divisor,
}
"""What two numbers come to: their ratio, as it is, in percent, or in percent more than one, less than one, or either;
their difference in points; their ratio with the other sign, of a difference that words call so much less; or the
difference of what is in percent already."""


def _find_ends(seeds: Float64) -> tuple[float, float]:
    """The two ends of Student's 95 % interval of the mean. Raises ValueError with so few values that there is none."""
    mean_over_seeds = estimate_over_seeds(seeds)
    if mean_over_seeds.low is None or mean_over_seeds.high is None:
        raise ValueError(f"{len(seeds)} values have no interval")
    return mean_over_seeds.low, mean_over_seeds.high


# A total has been made one ratio of sums before, and the mean of one number is that number.
_SUMMED: dict[str, Callable[[Float64], float]] = {
    "mean": np.mean, "min": np.min, "max": np.max, "total": np.mean,
    "low": lambda seeds: _find_ends(seeds)[0], "high": lambda seeds: _find_ends(seeds)[1],
}  # fmt: skip
_COMPARED = {"=": operator.eq, ">": operator.gt, "<": operator.lt}


def compute_claim(claim: Row, data: Path) -> float:
    rows, over = _load_rows(data, data.stat().st_mtime_ns), claim["over"]
    selected = [row for row in rows if _fulfils(row, claim["where"])]
    values = [row[claim["column"]] for row in selected]
    if re.search("[=<>]", over):
        divisors = [row[claim["column"]] for row in rows if _fulfils(row, over)]
    else:
        divisors = [row[over] if over else "1" for row in selected]
    if not selected or len(values) != len(divisors):
        raise ValueError(f"{data} has {len(values)} rows with {claim['where']}, and {len(divisors)} to divide them by")
    # An empty cell is a number that was not measured: its row says nothing about the claim.
    pairs = [(float(a), float(b)) for a, b in zip(values, divisors, strict=True) if a and b]
    numerators, denominators = np.array(pairs).T
    # A total is a ratio of sums, which a mean of ratios is not.
    if claim["of"] == "total":
        numerators, denominators = numerators.sum(), denominators.sum()
    return float(_SUMMED[claim["of"]](UNITS[claim["unit"]](numerators, denominators)))


@cache
def _load_rows(data: Path, changed_ns: int) -> Sequence[Row]:
    # A file of two thousand rows has up to two hundred claims, and would be read for each of them.
    return read_csv(data)


def _fulfils(row: Row, conditions: str) -> bool:
    for condition in filter(None, conditions.split(";")):
        column, sign, limit = re.split("([=<>])", condition, maxsplit=1)
        if not (row[column] == limit if sign == "=" else _COMPARED[sign](float(row[column]), float(limit))):
            return False
    return True


def find_fault(claim: Row, project: Path | None = None) -> str:
    """What is wrong with a claim, in a sentence; empty when its document says what its data does."""
    project = project or PROJECT
    page, value = claim["said"], claim["value"]
    words, text = (" ".join(text.split()) for text in (claim["words"], (project / page).read_text(encoding="utf-8")))
    if words not in text:
        return f"{page} does not say: {words}"
    without_commas = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", words)  # 7,600 is 7600
    if not re.search(rf"(?<![\d.]){re.escape(value)}(?![\d]|\.\d)", without_commas):
        return f"the words of {page} have no {value}: {words}"
    computed = compute_claim(claim, project / "results" / claim["data"])
    # A number is right if the data rounds to it. The factor forgives that 0.15 is not exactly 0.15 in binary.
    half_digit = 0.5 * 10.0 ** -len(value.partition(".")[2])
    if abs(computed - float(value)) > (float(claim["tolerance"]) if claim["tolerance"] else half_digit * (1 + 1e-9)):
        return f"{page} says {value} where {claim['data']} has {computed:.4g}: {words}"
    return ""


KEPT = "results/figure9"
TRIALS, SECONDS, INTERVAL_S = 5, 60, 5
"""What the paper had (sections 6.1 and 5.4)."""
COMMAND = f"./test.sh {TRIALS} {SECONDS} --suite figure9 --time virtual --bw 10 --interval {INTERVAL_S}"
FIGURE = "docs/figure9.md"
PICTURE = "docs/figure9.png"
BEGIN, END = "<!-- made by `hedera claims --write` -->\n", "<!-- until here -->"
HEDERA = ("hedera-gff", "hedera-sa")
COLUMNS = {
    "hedera-gff": "{ours:.2f} / {published:.2f}",
    "hedera-sa": "{ours:.2f} / {published:.2f}",
    "spanning-tree": "{ours:.2f}",
    "ecmp": "{ours:.2f}",
}
"""Of the table by family, and its cells; what the paper calls ECMP has a column of its own, the last."""
LEAST_POINTS = 5
"""A bar is listed if it is so many points of the control below the published one."""
EXPECTED_ORDER = ("hedera-sa", "hedera-gff", "ecmp", "spanning-tree")
"""The order that the paper lets one expect under patterns in which every host sends to one host and receives from
one."""
NOTICEABLE = 0.01
"""A rate lower by less than this share does not break the order: a link's limit is not known more exactly."""


def compose_section(sweep: Sweep) -> str:
    """What docs/figure9.md says of a sweep's bars, in Markdown. Raises ValueError when there is no run."""
    summary, runs = summarise(sweep), sweep.runs
    every = make_overall_family(summary)
    lines = "\n".join(_write_rows([*list_families(summary), every]))
    sentences = [
        _count_lower_bars(summary),
        _describe_gains(every),
        _describe_order(summary, runs),
        describe_significance(sweep),
        _describe_share_of_fair(runs),
    ]
    sentences.append(sweep.mixture)
    parts = [
        _describe_share_of_links(summary, runs),
        _describe_conditions(sweep),
        lines,
        "\n".join(filter(None, sentences)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _describe_share_of_links(summary: Summary, runs: Sequence[Run]) -> str:
    """What was received in % of the hosts' links, which shares of the control hide; empty without published bars."""
    patterns = [
        pattern for pattern in find_bijective(runs, summary.patterns) if find_published_bars(pattern, summary.k)
    ]
    published = [find_published_bars(pattern, summary.k) for pattern in patterns]
    bars = summary.frame[summary.frame.pattern.isin(patterns)].set_index("scheme")
    if CONTROL not in bars.index:
        return ""
    ours = bars[["median_payload_mbps", "median_mbps"]].groupby("scheme").mean() / runs[0].capacity_mbps * 100
    theirs = {scheme: [100 * values[scheme] / CAPACITY_MBPS for values in published] for scheme in (CONTROL, *COLUMNS)}
    means = [
        f"`{scheme}` {ours.median_payload_mbps[scheme]:.0f} / {mean(values):.0f}"
        for scheme, values in theirs.items()
        if scheme in ours.index
    ]
    return (
        f"**Shares hide that the controls differ.** Payload in % of the links' rate, means over the {len(patterns)} "
        f"bijective patterns, ours / published:\n{', '.join(means)}. With headers and "
        f"acknowledgements our control has {ours.median_mbps[CONTROL]:.1f} %."
    )


def _count_lower_bars(summary: Summary) -> str:
    """On how many bars Hedera has the published share of the control, and on which it has much less, in points."""
    bars = {scheme: match_published(summary, scheme).rows for scheme in HEDERA}
    less = {scheme: rows[rows.difference < 0] for scheme, rows in bars.items()}
    by_scheme = [
        f"`{scheme}` on "
        + ", ".join(f"{shorten_name(row.pattern)} {-100 * row.difference:.1f}" for row in rows.itertuples())
        for scheme, all_less in less.items()
        if len(rows := all_less[all_less.difference < -LEAST_POINTS / 100])
    ]
    number, lower = (sum(map(len, rows.values())) for rows in (bars, less))
    exceptions = f"; lower by more than {LEAST_POINTS} points are {'; '.join(by_scheme)}" if by_scheme else ""
    sentence = (
        f"Of Hedera's {number} bars {number - lower} are at least the published share of the control{exceptions}."
    )
    return sentence if number else ""


def _describe_gains(every: Family) -> str:
    """What Hedera has beyond ECMP in the mean over all patterns, in points of the control."""
    ecmp = every.means.get("ecmp", {})
    gains = [
        f"`{scheme}` {100 * (means['ours'] - ecmp['ours']):.0f} / {100 * (means['published'] - ecmp['published']):.0f}"
        for scheme, means in every.means.items()
        if ecmp and scheme in HEDERA
    ]
    return f"Beyond ECMP, in points of the control, ours / published: {', '.join(gains)}." if gains else ""


def _describe_conditions(sweep: Sweep) -> str:
    trials = len({run.trial for run in sweep.runs})
    valid = sum(run.valid for run in sweep.runs)
    spec = sweep.runs[0].spec
    like_paper = ", as in the paper," if (spec.seconds, spec.interval_s) == (SECONDS, INTERVAL_S) else ""
    return (
        f"Runs of {spec.seconds:g} s and a period of {spec.interval_s:g} s{like_paper} and links of "
        f"{spec.link_mbps:g} Mb/s in virtual time: `{COMMAND}`\n"
        f"({trials} of {TRIALS} trials; {valid} of {len(sweep.runs)} runs valid; "
        f"[data](../{KEPT}/summary.csv), [how](../{KEPT}/README.md)).\n"
        "Mean shares of the control, ours / published; in brackets the mean absolute difference from the published:"
    )


def _write_rows(every: Sequence[Family]) -> Iterator[str]:
    yield f"| family | {' | '.join(COLUMNS)} | published ECMP |"
    yield f"|{' --- |' * (2 + len(COLUMNS))}"
    for family in every:
        difference = " ({mean_absolute:.3f})" if family is every[-1] else ""
        complete = {scheme: mean for scheme, mean in family.means.items() if None not in mean.values()}
        cells = [
            (cell + difference).format(**complete[scheme]) if scheme in complete else ""
            for scheme, cell in COLUMNS.items()
        ]
        cells.append(f"{complete['ecmp']['published']:.2f}" if "ecmp" in complete else "")
        yield f"| {family.name} | {' | '.join(cells)} |"


def _describe_order(summary: Summary, runs: Sequence[Run]) -> str:
    """On how many patterns, bijective ones and all, shares have the order that one expects, and where they do not."""
    schemes = [scheme for scheme in EXPECTED_ORDER if scheme in summary.schemes]
    # A pattern counts only if every scheme has a share of it: an order of some is no order.
    shares_by_pattern = {p: [find_our_share(summary, p, scheme) or 0.0 for scheme in schemes] for p in summary.patterns}
    shares = {p: of_schemes for p, of_schemes in shares_by_pattern.items() if all(of_schemes)}
    missed = [
        {
            p: f"`{shorten_name(p)}`: `{first}` {a:.3f}, `{second}` {b:.3f}"
            for p, of_schemes in shares.items()
            for (first, a), (second, b) in pairwise(zip(schemes, of_schemes, strict=True))
            if a < factor * b
        }
        for factor in (1, 1 - NOTICEABLE)
    ]
    bijections = [pattern for pattern in find_bijective(runs, summary.patterns) if pattern in shares]
    single, every = (
        [len({*patterns} - of_schemes.keys()) for of_schemes in missed] for patterns in (bijections, shares)
    )
    exceptions = f", not on {'; '.join(missed[1].values())}" if missed[1] else ""
    expected = " >= ".join(f"`{scheme}`" for scheme in schemes)
    return (
        f"The expected order, {expected}, holds on {single[0]} of {len(bijections)} bijective patterns "
        f"(within 1 % on {single[1]}), and on {every[0]} of all {len(shares)} (within 1 % on {every[1]}{exceptions})."
    )


def _describe_share_of_fair(runs: Sequence[Run]) -> str:
    over = [run.bisection_mbps / run.maxmin_mbps for run in runs if run.bisection_mbps and run.maxmin_mbps]
    return (
        f"Runs have {min(over):.0%} to {max(over):.0%} of the total of max-min fair rates on their flows' paths, "
        "which is not the largest that is possible."
    )


def find_unsaid(project: Path) -> list[str]:
    """The lines that only one of two sections has: the one in the document, and the one that is made from the data.
    Each is a sentence."""
    committed, composed = (
        _split_figure_page(project)[1].splitlines(),
        compose_section(load_sweep(project / KEPT)).splitlines(),
    )
    return [
        f"{FIGURE} differs from {KEPT}: {line}"
        for line in composed + committed
        if (line in composed) != (line in committed)
    ]


def find_unread(project: Path, unheld: Mapping[str, Sequence[document_numbers.Number]]) -> list[str]:
    """Sentences on the numbers that no claim holds (`find_unheld`) and that are not as somebody has read them."""
    read = (
        {row["page"]: row["numbers"] for row in read_csv(project / document_numbers.READ)}
        if (project / document_numbers.READ).exists()
        else {}
    )
    gone = [f"{page} is not there, and {document_numbers.READ} has its numbers" for page in read.keys() - unheld.keys()]
    return [
        *gone,
        *(
            sentence
            for page in unheld
            for sentence in document_numbers.describe_changed_numbers(page, unheld[page], read.get(page, ""))
        ),
    ]


def find_unheld(project: Path, claims: Sequence[Row]) -> dict[str, list[document_numbers.Number]]:
    """By page, the numbers that no claim holds and no command makes."""
    by_page = {page: (project / page).read_text(encoding="utf-8") for page in document_numbers.list_pages(project)}
    generated_by_page = {FIGURE: _split_figure_page(project)[1]} if FIGURE in by_page else {}
    return {
        page: document_numbers.find_not_held(
            text, [claim for claim in claims if claim["said"] == page], generated_by_page.get(page, "")
        )
        for page, text in by_page.items()
    }


def take_as_read(project: Path, unheld: Mapping[str, Sequence[document_numbers.Number]]) -> None:
    rows = [
        {"page": page, "numbers": " ".join(number.spelled for number in numbers)} for page, numbers in unheld.items()
    ]
    write_csv(project / document_numbers.READ, rows)


def propose_claims(project: Path, page: str, claims: Sequence[Row]) -> list[dict[str, str]]:
    """Claims that the data of a page's links would hold, for numbers that none holds yet, as rows for `TABLE`."""
    text = (project / page).read_text(encoding="utf-8")
    files = document_numbers.load_linked_data(project / page, project)
    places = document_numbers.find_held(
        document_numbers.flatten(text), [claim for claim in claims if claim["said"] == page]
    )
    of_data = {claim["data"]: claim["command"] for claim in claims}
    proposals, heading = [], page
    for line in map(document_numbers.flatten, text.splitlines()):
        heading = line.lstrip("# ") if line.startswith("#") else heading
        for words, source in document_numbers.find_sources(line, files):
            row = dict.fromkeys(claims[0], "") | {"claim": heading, "said": page, "words": words, "of": "mean"}
            row |= source._asdict() | {"command": of_data.get(source.data, "")}
            offsets = document_numbers.find_held(document_numbers.flatten(text), [row])
            # What is proposed must hold, or the list would begin with a fault; and each number is proposed once.
            if not offsets <= places and not find_fault(row, project):
                proposals.append(row)
                places |= offsets
    return proposals


MADE_OF_RUNS = {
    "summary.csv": format_summary_csv,
    "differences.csv": format_differences_csv,
    "seeds.csv": format_seeds_csv,
}
"""What a published sweep has beside its runs, and what makes it."""


def find_unlike_sweeps(project: Path) -> Iterator[str]:
    """Sentences on the rows of each table beside kept runs (`MADE_OF_RUNS`), below results/, that these do not give. A
    table that is older than a statistic lacks its rows."""
    for archive in sorted((project / "results").rglob(ARCHIVE)):
        sweep = load_sweep(archive.parent)
        for table, make in MADE_OF_RUNS.items():
            path = archive.with_name(table)
            if path.exists():
                yield from _list_unlike_rows(path.relative_to(project), path.read_text(encoding="utf-8"), make(sweep))


def find_unlike_tables(project: Path) -> Iterator[str]:
    """Sentences on the rows of the tables that results/tables.sh makes of kept runs, and that it does not make. Raises
    ClickException when it ends early."""
    script = Path("results/tables.sh")
    with tempfile.TemporaryDirectory() as made:
        done = subprocess.run([project / script, made], capture_output=True, encoding="utf-8", check=False)
        if done.returncode:
            raise click.ClickException(
                f"{script} ended with status {done.returncode}: {to_one_line(done.stderr)[-300:]}"
            )
        for table in sorted(Path(made).rglob("*.csv")):
            path = Path("results", table.relative_to(made))
            if (project / path).exists():
                kept = (project / path).read_text(encoding="utf-8")
                yield from _list_unlike_rows(path, kept, table.read_text(encoding="utf-8"))


def _list_unlike_rows(path: Path, kept: str, made: str) -> Iterator[str]:
    made_rows = {*made.splitlines()}
    yield from (f"{path} is not what its runs give: {row}" for row in kept.splitlines() if row not in made_rows)


def write_section(project: Path) -> None:
    sweep = load_sweep(project / KEPT)
    before, _, after = _split_figure_page(project)
    write_whole(project / FIGURE, f"{before}{BEGIN}{compose_section(sweep)}{END}{after}")
    # A document shows the PNG. The SVG that is drawn with it would be a second copy of the same picture in the
    # repository.
    for path in figure9.draw(sweep, (project / PICTURE).with_suffix("")):
        if path.suffix != Path(PICTURE).suffix:
            path.unlink()


def _split_figure_page(project: Path) -> tuple[str, str, str]:
    before, _, after_begin = (project / FIGURE).read_text(encoding="utf-8").partition(BEGIN)
    generated, _, after = after_begin.partition(END)
    return before, generated, after


@click.command()
@click.option("--write", is_flag=True, help="Write the numbers and the picture of docs/figure9.md.")
@click.option(
    "--read", is_flag=True, help="Take the numbers that no claim holds as they are: you have read them again."
)
@click.option("--tables", is_flag=True, help="Make each table of kept runs again, too; takes minutes.")
@click.option("--find", metavar="PAGE", help="Print claims, as CSV, that the data which a page links to would hold.")
def command(write: bool, read: bool, tables: bool, find: str | None) -> None:
    """List the documents' numbers that data holds, each with its data and the command that makes that; check them all.

    Each claim is computed again from its data. A simulation gives the same digits again; an emulated number may differ
    by as much as the list says. Of all other numbers in README.md, docs/ and the README.md of each folder of results/
    those are named that have changed since somebody has read them (results/read.csv).

    \b
    You changed a page: hedera claims --find docs/ecmp.md >> results/claims.csv (look at the rows, fill in
    commands), then hedera claims --read.
    """
    if not (PROJECT / TABLE).is_file():
        raise click.UsageError("claims are of a clone of the project: an installed one has no documents and no data")
    claims = read_csv(PROJECT / TABLE)
    if find is not None:
        if find not in document_numbers.list_pages(PROJECT):
            raise click.BadParameter(f"{find} is none of README.md, docs/ and results/*/README.md", param_hint="--find")
        for row in propose_claims(PROJECT, find, claims):
            csv.writer(sys.stdout, lineterminator="\n").writerow(row.values())
        return
    if write:
        write_section(PROJECT)
    # After --write, because that changes numbers of docs/figure9.md.
    unheld = find_unheld(PROJECT, claims)
    if read:
        take_as_read(PROJECT, unheld)
    columns = ("claim", "said", "data", "command", "tolerance")
    for (claim, page, data, made_by, tolerance), rows in group_rows(claims, *columns).items():
        differ = f"; another run may differ by {tolerance}" if tolerance else ""
        click.echo(
            f"{claim}: {', '.join(row['value'] for row in rows)}{differ}\n    {page}, results/{data}\n    {made_by}"
        )
    faults = [*filter(None, map(find_fault, claims)), *find_unsaid(PROJECT), *find_unread(PROJECT, unheld)]
    if tables:
        faults += [*find_unlike_sweeps(PROJECT), *find_unlike_tables(PROJECT)]
    for fault in faults:
        click.echo(fault)
    if faults:
        raise SystemExit(1)
    for folder in sorted({Path(claim["data"]).parent for claim in claims} | {Path(KEPT).relative_to("results")}):
        if (PROJECT / "results" / folder / ARCHIVE).exists() and (
            mixed := load_sweep(PROJECT / "results" / folder).mixture
        ):
            click.echo(f"results/{folder}: {mixed}")
    click.echo(f"{len({claim['claim'] for claim in claims})} claims, {len(claims)} numbers: all as their data says")
    click.echo(f"{sum(map(len, unheld.values()))} more numbers are as they were read: no data is asked about these")
