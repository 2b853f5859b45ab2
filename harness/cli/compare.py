"""`hedera compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from hedera.options import in_words, json_option
from plots.sample import setting_text
from plots.style import label
from results.output import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from plots.compare_sweeps import Comparison


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by-pattern", is_flag=True, help="A line for each pattern, instead of the means over them.")
@json_option
@in_words
def compare(folders: tuple[Path, ...], by_pattern: bool, as_json: bool) -> None:
    """Compare sweeps (FOLDERS, such as results/runs/NAME): how much each scheme's share of the control changes.

    The settings in which the folders differ are found and listed. Each folder is compared with the first, over the
    patterns and schemes that all of them have. A folder may be a published summary.csv with its sweep.json
    (results/sample).

    Example: hedera compare results/sample results/runs/k4-100mbps-mtu9000-10s
    """
    from plots import compare_sweeps
    from results.output import conclude

    comparison = compare_sweeps.compare(folders)
    if as_json:
        for sentence in comparison.notes:
            click.echo(sentence, err=True)
    rows = comparison.pattern_rows() if by_pattern else comparison.rows()
    table = (_by_pattern if by_pattern else _means)(comparison, rows)
    conclude(rows, [table, *map(escape, _sentences(comparison))], [], as_json)


def _means(comparison: Comparison, rows: Sequence[Mapping[str, Any]]) -> Table:
    """A line for each scheme and folder; behind it, where tries were or may have been left out, the same with them."""
    options = list(dict.fromkeys(option for row in rows for option in row["conditions"]))
    first = next(iter(comparison.conditions))
    title = f"Shares of the control in %, means over the patterns; differences to {first} in points"
    headings = ["patterns", "runs", "share", "difference", "95 %", "largest"]
    if every := any(row["left_out"] != 0 for row in rows):
        headings += ["left out", "patterns", "share with them", "difference"]
    made = plain_table(title, "scheme", "folder", *options, *headings, left=2 + len(options))
    for row in rows:
        given = row["conditions"]
        cells = [row["scheme"] if row["folder"] == first else "", row["folder"]]
        cells += [setting_text(given[option]) if option in given else "?" for option in options]
        cells += [
            str(row["patterns"]),
            str(row["runs"]),
            f"{100 * row['share']:.1f}",
            _points(row["difference_points"]),
        ]
        cells.append("" if row["low_points"] is None else f"{row['low_points']:+.1f} to {row['high_points']:+.1f}")
        cells.append(f"{_points(row['largest_points'])} {label(row['largest_pattern'] or '')}".strip())
        if every:
            left_out, share = row["left_out"], row["all_share"]
            cells += ["?" if left_out is None else str(left_out), str(row["all_patterns"])]
            cells += ["?" if share is None else f"{100 * share:.1f}", _points(row["all_difference_points"])]
        made.add_row(*map(escape, cells))
    return made


def _points(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}"


def _by_pattern(comparison: Comparison, found: Sequence[Mapping[str, Any]]) -> Table:
    title = (
        f"Shares of the control in %; in brackets points above {next(iter(comparison.conditions))}; "
        "where tries were left out, by all of them"
    )
    made = plain_table(title, "scheme", "pattern", *map(comparison.label, comparison.conditions), left=2)
    last = ""
    for (scheme, pattern), rows in groupby(found, lambda row: (row["scheme"], row["pattern"])):
        cells = [
            f"{100 * row['share']:.1f}"
            + ("" if row["difference_points"] is None else f" ({_points(row['difference_points'])})")
            + (f", all {100 * row['all_share']:.1f}" if row["left_out"] and row["all_share"] is not None else "")
            for row in rows
        ]
        made.add_row(*map(escape, ("" if scheme == last else scheme, label(pattern), *cells)))
        last = scheme
    return made


def _sentences(comparison: Comparison) -> list[str]:
    differ = list(dict.fromkeys(option for differing in comparison.conditions.values() for option in differing))
    alike = [f"{option} {setting_text(value)}" for option, value in comparison.alike.items() if value not in (None, ())]
    return [
        f"They differ in {', '.join(differ)}." if differ else "They differ in no setting.",
        f"Alike: {' '.join(alike)}.",
        *(f"{sentence}." for sentence in comparison.notes),
    ]
