"""The summary as a table: for the terminal, for a README, and as CSV with every number, read back here too."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hedera.schemes import CONTROL
from plots.style import short
from plots.summary import Bar, Summary, summarise
from results.parts import Count, Name, Positive
from results.record import Run, content

CSV_COLUMNS = (
    "pattern", "scheme", "valid_trials", "invalid_trials",
    "median_mbps", "p5_mbps", "p95_mbps", "median_ratio", "p5_ratio", "p95_ratio",
    "median_payload_mbps", "p5_payload_mbps", "p95_payload_mbps",
    "invalid_median_mbps", "capacity_mbps", "payload_capacity_mbps", "reasons",
)  # fmt: skip

_MEANING = "Mb/s on the wire received by all hosts: median of the valid trials, and its share of the control"


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A bar in a summary.csv: valid and invalid trials, and the median share of the control (None: there is none)."""

    pattern: Name
    scheme: Name
    valid_trials: Count
    invalid_trials: Count
    median_ratio: Positive | None = None


def show(runs: Sequence[Run]) -> str:
    """The table for a terminal, as wide as it needs."""
    if not runs:
        return "no runs"
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    summary = summarise(runs)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("pattern")
    for scheme in summary.schemes:
        table.add_column(scheme, justify="right")
    for row in _rows(summary, percentiles=False):
        table.add_row(*map(escape, row))  # a file name in brackets is no markup
    text = io.StringIO()
    console = Console(file=text, width=400, color_system=None)
    console.print(f"{_MEANING}. Capacity {summary.capacity_mbps:g} Mb/s.")
    console.print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def markdown(runs: Sequence[Run]) -> str:
    """The same table in Markdown."""
    if not runs:
        return "no runs\n"
    summary = summarise(runs)
    lines = [
        "| " + " | ".join(("pattern", *summary.schemes)) + " |",
        "|---" + "|--:" * len(summary.schemes) + "|",
        *(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
            for row in _rows(summary, percentiles=True)
        ),
    ]
    meaning = f"{_MEANING}; in brackets the 5th to 95th percentile. Capacity {summary.capacity_mbps:g} Mb/s."
    return "\n".join(lines) + f"\n\n{meaning}\n"


def csv_text(runs: Sequence[Run]) -> str:
    """One line per bar: the numbers that the figures show, on the wire unless a column is named payload. Empty cells
    where there is no valid trial."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    if runs:
        summary = summarise(runs)
        for bar in summary.bars.values():
            spreads = [
                f"{value:.4f}" if spread else ""
                for spread in (bar.mbps, bar.ratio, bar.payload)
                for value in ((spread.median, spread.low, spread.high) if spread else ("", "", ""))
            ]
            head = (bar.pattern, bar.scheme, bar.valid, bar.invalid)
            invalid = "" if bar.invalid_mbps is None else f"{bar.invalid_mbps:.4f}"
            capacities = (f"{summary.capacity_mbps:g}", f"{summary.payload_capacity_mbps:.4f}")
            writer.writerow((*head, *spreads, invalid, *capacities, "; ".join(bar.reasons)))
    return text.getvalue()


def read_csv(path: Path) -> tuple[Line, ...]:
    """The bars of a summary.csv, which may be anybody's. Raises ValueError with the reason, one sentence."""
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
    if bar.mbps is None:
        return "INVALID"
    text = f"{bar.mbps.median:.1f}"
    if percentiles and bar.valid > 1:
        text += f" ({bar.mbps.low:.1f}-{bar.mbps.high:.1f})"
    if bar.ratio is not None and scheme != CONTROL:
        text += f" {bar.ratio.median:.0%}"
    if bar.invalid:
        text += f" ({bar.valid} of {bar.valid + bar.invalid})"
    return text
