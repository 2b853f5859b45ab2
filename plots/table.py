"""The summary as a table: for the terminal, for a README, and as CSV with every number, which is also read here."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hedera.schemes import CONTROL
from plots.style import short
from plots.summary import Bar, Spread, Summary, summarise, tallies, windows
from plots.trials import in_a_sentence
from results.parts import Count, Mbps, Name, Positive
from results.record import Run, content

CSV_COLUMNS = (
    "pattern", "scheme", "valid_trials", "invalid_trials",
    "median_mbps", "p5_mbps", "p95_mbps", "median_ratio", "p5_ratio", "p95_ratio",
    "median_payload_mbps", "p5_payload_mbps", "p95_payload_mbps",
    "invalid_median_mbps", "not_judged_trials", "tries", "left_out_tries", "all_median_mbps", "all_median_ratio",
    "late_median_ratio", "before_median_ratio", "after_median_ratio",
    "capacity_mbps", "payload_capacity_mbps", "reasons",
)  # fmt: skip

_HEADS = ("scheme", "valid trials", "share of the control", "tries", "left out", "share over all tries")
_OF_ALL = (
    "Means over patterns (how many) of median shares of the control: by valid trials, and by all tries, valid or "
    "not, first ones and repeated. In the last third of the run, by valid trials: TCP has found its rates again "
    "after most moves"
)
_MEANING = (
    "Mb/s on the wire received by all hosts: median of the valid trials, and its share of the control; where tries "
    "were left out, after the bar the same over all of them"
)
_FEW_TRIALS = 20
"""With fewer trials the 5th and 95th percentile are nearly the minimum and maximum."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A bar in a summary.csv: trials by verdict, and the median share of the control (None: there is none); the share
    over all tries, and how many tries were left out (None: an older file, which does not say)."""

    pattern: Name
    scheme: Name
    valid_trials: Count
    invalid_trials: Count
    not_judged_trials: Count = 0
    median_ratio: Positive | None = None
    left_out_tries: Count | None = None
    all_median_ratio: Mbps | None = None


def show(runs: Sequence[Run], tries: Sequence[Run] | None = None) -> str:
    """The tables for a terminal, in full width: every bar, and each scheme over all tries (``tries``, if there were
    more than ``runs``)."""
    if not runs:
        return "no runs"
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    summary = summarise(runs, tries)
    text = io.StringIO()
    console = Console(file=text, width=400, color_system=None)
    bars = ("pattern", *summary.schemes), _rows(summary, percentiles=False)
    meanings = (f"{_MEANING}. Capacity {summary.capacity_mbps:g} Mb/s.", f"{_OF_ALL}.")
    for meaning, (heads, rows) in zip(meanings, (bars, _tally_table(summary)), strict=True):
        table = Table(box=SIMPLE_HEAD)
        for i, head in enumerate(heads):
            table.add_column(head, justify="right" if i else "left")
        for row in rows:
            table.add_row(*map(escape, row))  # a file name in brackets is not markup
        console.print(meaning)
        console.print(table)
    console.print(escape(in_a_sentence(runs, runs if tries is None else tries)), soft_wrap=True)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def markdown(runs: Sequence[Run], tries: Sequence[Run] | None = None) -> str:
    """The same tables in Markdown."""
    if not runs:
        return "no runs\n"
    summary = summarise(runs, tries)
    most = max(bar.valid for bar in summary.bars.values())
    few = f", which of {most} trials are nearly the least and the most" if 1 < most < _FEW_TRIALS else ""
    meaning = f"{_MEANING}; in brackets the 5th to 95th percentile{few}. Capacity {summary.capacity_mbps:g} Mb/s."
    bars = _markdown_table(("pattern", *summary.schemes), _rows(summary, percentiles=True))
    said = in_a_sentence(runs, runs if tries is None else tries)
    return f"{bars}\n{meaning}\n\n{_markdown_table(*_tally_table(summary))}\n{_OF_ALL}.\n" + (said and f"\n{said}\n")


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    escaped = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in (heads, *rows)]
    lines = [f"| {row} |\n" for row in escaped]
    return "".join([lines[0], "|---" + "|--:" * (len(heads) - 1) + "|\n", *lines[1:]])


def csv_text(runs: Sequence[Run], tries: Sequence[Run] | None = None) -> str:
    """One line per bar with the numbers of the figures. Rates are on the wire unless a column is named payload.
    Columns all_ are over all tries, valid or not; late_ over the last third of the run; before_ and after_ over the
    parts of the window before and after failures. Cells are empty if there is no valid trial."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    if runs:
        summary = summarise(runs, tries)
        for bar in summary.bars.values():
            spreads = [
                f"{value:.4f}" if spread else ""
                for spread in (bar.mbps, bar.ratio, bar.payload)
                for value in ((spread.median, spread.low, spread.high) if spread else ("", "", ""))
            ]
            head = (bar.pattern, bar.scheme, bar.valid, bar.invalid)
            invalid = "" if bar.invalid_mbps is None else f"{bar.invalid_mbps:.4f}"
            others = (bar.every.mbps, bar.every.ratio, bar.late, bar.before, bar.after)
            medians = [f"{one.median:.4f}" if one else "" for one in others]
            counts = (bar.unjudged, bar.every.tries, bar.every.left_out)
            capacities = (f"{summary.capacity_mbps:g}", f"{summary.payload_capacity_mbps:.4f}")
            writer.writerow((*head, *spreads, invalid, *counts, *medians, *capacities, "; ".join(bar.reasons)))
    return text.getvalue()


def read_csv(path: Path) -> tuple[Line, ...]:
    """The bars of a summary.csv, which is not trusted. Raises ValueError with the reason, one sentence."""
    try:
        rows = list(csv.DictReader(io.StringIO(content(path).decode(), newline="")))
        given = [{name: cell for name, cell in row.items() if cell} for row in rows]
        lines = msgspec.convert(given, tuple[Line, ...], strict=False)
    except (UnicodeDecodeError, csv.Error, msgspec.ValidationError) as error:
        raise ValueError(f"is not a summary of a sweep: {ascii(str(error))[1:-1][:300]}") from None
    if len({(line.pattern, line.scheme) for line in lines}) < len(lines):
        raise ValueError("is not a summary of a sweep: a bar is in it twice")
    return lines


def _rows(summary: Summary, *, percentiles: bool) -> list[list[str]]:
    return [
        [
            short(pattern),
            *(
                _cell(summary.bars.get((pattern, scheme)), scheme, percentiles=percentiles)
                for scheme in summary.schemes
            ),
        ]
        for pattern in summary.patterns
    ]


def _cell(bar: Bar | None, scheme: str, *, percentiles: bool) -> str:
    if bar is None:
        return "-"
    spread = bar.valid > 1 and percentiles
    text = _rate(bar.mbps, bar.ratio, scheme, percentiles=spread) if bar.mbps else bar.void
    if bar.mbps and bar.valid < bar.trials:
        text += f" ({bar.valid} of {bar.trials})"
    if bar.every.left_out and bar.every.mbps:
        text += f", all {_rate(bar.every.mbps, bar.every.ratio, scheme, percentiles=False)}"
    return text


def _rate(mbps: Spread, ratio: Spread | None, scheme: str, *, percentiles: bool) -> str:
    text = f"{mbps.median:.1f}"
    if percentiles:
        text += f" ({mbps.low:.1f}-{mbps.high:.1f})"
    return text + (f" {ratio.median:.0%}" if ratio is not None and scheme != CONTROL else "")


def _tally_table(summary: Summary) -> tuple[tuple[str, ...], list[list[str]]]:
    """Heads and rows."""
    found = tallies(summary)
    others = windows(found)
    rows = [
        [
            one.scheme,
            f"{one.valid} of {one.trials}",
            _of_patterns(one.share, one.patterns),
            str(one.tries),
            str(one.left_out),
            _of_patterns(one.all_share, one.all_patterns),
            *(_percent(shares[number]) for _, shares in others),
        ]
        for number, one in enumerate(found)
    ]
    return (*_HEADS, *(name for name, _ in others)), rows


def _of_patterns(share: float | None, patterns: int) -> str:
    return "-" if share is None else f"{_percent(share)} ({patterns})"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
