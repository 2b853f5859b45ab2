"""The summary as a table: for the terminal, and as CSV with every number."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

from hedera.schemes import CONTROL
from plots.style import rounded, short
from plots.summary import COLUMNS, WINDOWS, Summary, by_scheme, summarise
from plots.trials import in_a_sentence
from record.output import plain_table
from record.run import Run

Table = tuple[str, list[str], list[list[str]]]
"""What it is, heads and rows."""


def show(runs: Sequence[Run], tries: Sequence[Run] | None = None) -> str:
    """The tables for a terminal, in full width: every bar; and, where tries (``tries``, if there were more than
    ``runs``) were left out or there are other windows, each scheme over all patterns."""
    if not runs:
        return "no runs"
    from rich.console import Console
    from rich.markup import escape

    text = io.StringIO()
    console = Console(file=text, width=400, color_system=None)
    for meaning, heads, rows in _tables(summarise(runs, tries)):
        table = plain_table("", *heads)
        for row in rows:
            table.add_row(*map(escape, row))  # a file name in brackets is not markup
        console.print(meaning, table, sep="\n")
    console.print(escape(in_a_sentence(runs, runs if tries is None else tries)), soft_wrap=True)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def csv_text(runs: Sequence[Run], tries: Sequence[Run] | None = None) -> str:
    """summary.csv: a line per bar (`plots.summary.COLUMNS`)."""
    if not runs:
        return ",".join(COLUMNS) + "\n"
    frame = summarise(runs, tries).frame[list(COLUMNS)]
    written: str = frame.assign(capacity_mbps=frame.capacity_mbps.map("{:g}".format)).to_csv(
        index=False, float_format="%.4f", lineterminator="\n"
    )
    return written


def _tables(summary: Summary) -> list[Table]:
    schemes = by_scheme(summary.frame)
    left_out = bool(schemes.left_out_tries.sum())
    meaning = (
        "Payload received by all hosts in Mb/s, and its share of the control: medians of the valid trials. "
        f"All links could carry {rounded(summary.payload_capacity_mbps)} Mb/s."
    )
    if left_out:
        meaning += " Behind a bar with tries that do not count: the same with them."
    rows = [
        [short(pattern), *(_cell(summary.bars.get((pattern, scheme))) for scheme in summary.schemes)]
        for pattern in summary.patterns
    ]
    if len(rows) > 1:
        means = schemes.loc[list(summary.schemes)]
        some = means.patterns.where(means.patterns < len(rows))
        rows.append(["mean share", *map(_mean, means.median_ratio, some)])
    tables = [(meaning, ["pattern", *summary.schemes], rows)]
    if left_out or any(name in schemes for name in WINDOWS if name != "late_median_ratio"):
        tables.append(_of_schemes(schemes, left_out))
    return tables


def _of_schemes(schemes: Any, left_out: bool) -> Table:
    windows = {column: name for column, name in WINDOWS.items() if column in schemes}
    all_tries = ["tries", "left out", "share with all tries"] if left_out else []
    heads = ["scheme", "valid trials", "share of the control", *all_tries, *windows.values()]
    rows = []
    for row in schemes.itertuples():
        trials = row.valid_trials + row.invalid_trials + row.not_judged_trials
        cells = [row.Index, f"{row.valid_trials} of {trials}", _mean(row.median_ratio, row.patterns)]
        if left_out:
            cells += [f"{row.tries}", f"{row.left_out_tries}", _mean(row.all_median_ratio, row.all_patterns)]
        rows.append([*cells, *(_mean(getattr(row, column)) for column in windows)])
    return "Shares of the control, means over patterns (in brackets how many) of medians over trials.", heads, rows


def _mean(share: float, patterns: float = math.nan) -> str:
    """A share and, where it is said, of how many patterns."""
    if math.isnan(share):
        return "-"
    return f"{share:.1%}" + ("" if math.isnan(patterns) else f" ({patterns:.0f})")


def _cell(bar: Any) -> str:
    if bar is None:
        return "-"
    text: str = bar.void
    if bar.median_payload_mbps is not None:
        text = f"{bar.median_payload_mbps:.1f}"
        text += _share(bar, bar.median_ratio)
        if bar.valid_trials < bar.trials:
            text += f" ({bar.valid_trials} of {bar.trials})"
    if bar.left_out_tries and bar.all_payload_mbps is not None:
        text += f", all {bar.all_payload_mbps:.1f}{_share(bar, bar.all_median_ratio)}"
    return text


def _share(bar: Any, ratio: float | None) -> str:
    return "" if ratio is None or bar.scheme == CONTROL else f" {ratio:.0%}"
