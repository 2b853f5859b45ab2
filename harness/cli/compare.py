"""`hedera compare`."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

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
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.png",
    help="Draw the means as well, into this file.",
)
@json_option
@in_words
def compare(folders: tuple[Path, ...], by_pattern: bool, picture: Path | None, as_json: bool) -> None:
    """Compare sweeps (FOLDERS, such as results/runs/NAME): how much each scheme's share of the control changes.

    The settings in which the folders differ are found and listed. Each folder is compared with the first, over the
    patterns and schemes that all of them have. A folder may be a published summary.csv with its sweep.json
    (results/sample).

    Example: hedera compare results/sample results/runs/k4-100mbps-mtu9000-10s
    """
    from plots import compare_sweeps
    from results.output import conclude

    comparison = compare_sweeps.compare(folders)
    files = compare_sweeps.draw(comparison, picture) if picture else []
    if as_json:
        for sentence in comparison.notes:
            click.echo(sentence, err=True)
    rows = comparison.pattern_rows() if by_pattern else comparison.rows()
    tables = [_by_pattern(comparison)] if by_pattern else [_means(comparison)]
    if not by_pattern and any(row.left_out is None or row.left_out for row in comparison.rows()):
        tables.append(_all_tries(comparison))
    conclude(rows, [*tables, *map(escape, _sentences(comparison))], files, as_json)


def _means(comparison: Comparison) -> Table:
    """A line for each scheme and folder."""
    rows = comparison.rows()
    options = list(dict.fromkeys(option for row in rows for option in row.conditions))
    first = comparison.sides[0].name
    title = f"Shares of the control in %, means over the patterns; differences to {first} in points"
    numbers_of = ("patterns", "runs", "share", "difference", "95 %", "largest")
    made = plain_table(title, "scheme", "folder", *options, *numbers_of, left=2 + len(options))
    for row in rows:
        name = row.scheme if row.folder == first else ""
        conditions = [setting_text(row.conditions[option]) if option in row.conditions else "?" for option in options]
        numbers = [str(row.patterns), str(row.runs), f"{100 * row.share:.1f}"]
        if row.difference_points is not None:
            low, high = row.low_points, row.high_points
            numbers += [
                f"{row.difference_points:+.1f}",
                "-" if low is None or high is None else f"{low:+.1f} to {high:+.1f}",
                f"{row.largest_points:+.1f} {label(row.largest_pattern or '')}",
            ]
        made.add_row(*map(escape, (name, row.folder, *conditions, *numbers)))
    return made


def _all_tries(comparison: Comparison) -> Table:
    """The same over all tries, valid or not, and how many were left out above; where any was, or may have been."""
    title = "The same with the tries that do not count above"
    made = plain_table(title, "scheme", "folder", "left out", "patterns", "share", "difference", left=2)
    for row in comparison.rows():
        numbers = (
            "?" if row.left_out is None else str(row.left_out),
            str(row.all_patterns),
            "?" if row.all_share is None else f"{100 * row.all_share:.1f}",
            "" if row.all_difference_points is None else f"{row.all_difference_points:+.1f}",
        )
        name = row.scheme if row.folder == comparison.sides[0].name else ""
        made.add_row(*map(escape, (name, row.folder, *numbers)))
    return made


def _by_pattern(comparison: Comparison) -> Table:
    """A line for each scheme and pattern, a column for each folder."""
    title = (
        f"Shares of the control in %; in brackets points above {comparison.sides[0].name}; "
        "where tries were left out, by all of them"
    )
    made = plain_table(title, "scheme", "pattern", *(side.label for side in comparison.sides), left=2)
    last = ""
    for (scheme, pattern), rows in groupby(comparison.pattern_rows(), lambda row: (row.scheme, row.pattern)):
        cells = [
            f"{100 * row.share:.1f}"
            + ("" if row.difference_points is None else f" ({row.difference_points:+.1f})")
            + (f", all {100 * row.all_share:.1f}" if row.left_out and row.all_share is not None else "")
            for row in rows
        ]
        made.add_row(*map(escape, ("" if scheme == last else scheme, label(pattern), *cells)))
        last = scheme
    return made


def _sentences(comparison: Comparison) -> list[str]:
    """What differs, what is alike, and what was left out."""
    differ = list(dict.fromkeys(option for side in comparison.sides for option in side.conditions))
    alike = [f"{option} {setting_text(value)}" for option, value in comparison.alike.items() if value not in (None, ())]
    return [
        f"They differ in {', '.join(differ)}." if differ else "They differ in no setting.",
        f"Alike: {' '.join(alike)}.",
        *(f"{sentence}." for sentence in comparison.notes),
    ]
