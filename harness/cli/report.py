"""What reads runs that are done: `hedera report`, `hedera export` and `hedera compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from plots import label
from plots.style import Value, format_seeds, format_setting
from record.errors import RunFailed, to_one_line
from record.files import find_files
from record.options import field_options, get_pictures, in_words, json_option, picture_options, to_write
from record.output import make_plain_table
from record.progress import tell_user
from simulator.config import Config

if TYPE_CHECKING:
    from rich.table import Table

    from plots.compare_sweeps import Comparison

_folder = click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
_NEW = click.Path(file_okay=False, path_type=Path)


@click.command()
@_folder
@click.option(
    "--publish",
    type=_NEW,
    metavar="DIR",
    help="Draw nothing; write a copy fit for publishing into DIR: summary.csv, differences.csv, seeds.csv, "
    "sweep.json, and the run.json of all runs in one compressed file. `hedera report DIR` and `hedera "
    "compare` read such a copy.",
)
@click.option(
    "--judge",
    is_flag=True,
    help="First judge the runs again by their raw files, as after a change of a rule: a run.json of which something "
    "changes is written anew. Runs without raw files (a published copy, runs before 2.0) are left, and named.",
)
@picture_options
@in_words
def report(folder: Path, publish: Path | None, judge: bool) -> None:
    """Draw figures and one self-contained HTML page from the runs in FOLDER (results/runs/NAME, or a published copy
    of it).

    With --format or --width the pictures are drawn once more, into FOLDER/figures/print, and with --format tex the
    tables are written there; these files are listed first.

    Example: hedera report results/runs/NAME --format pdf,tex --width 3.3in
    """
    from plots import load_sweep
    from plots.export import keep
    from plots.report import write_all

    if judge:
        _judge_again(folder)
    if publish:
        _tell(keep(folder, publish))
        return
    sweep = load_sweep(folder)
    if not sweep.runs:
        why = f"; {sweep.skipped[0].path} {sweep.skipped[0].reason}" if sweep.skipped else ""
        raise ValueError(f"{folder} has no run (run.json) to report on{why}")
    if sweep.mixture:
        click.echo(sweep.mixture, err=True)
    for file in sweep.skipped:
        if file.unreadable:
            click.echo(f"left out: {file.path} {file.reason}", err=True)
    _tell(write_all(sweep))


def _judge_again(folder: Path) -> None:
    from harness.jobs import RESULT, alone_in
    from harness.jobs.carry_out import judge_again

    judged = rewritten = verdicts = 0
    with alone_in(folder):
        for path in find_files(folder, RESULT):
            try:
                stored, run = judge_again(path)
            except (OSError, ValueError, RunFailed) as why:
                click.echo(f"not judged again: {path} {to_one_line(why)}", err=True)
                continue
            judged, rewritten = judged + 1, rewritten + (run != stored)
            if run.verdict != stored.verdict:
                verdicts += 1
                reason = f" ({run.reasons[0]})" if run.reasons else ""
                click.echo(f"{path}: {stored.verdict}, now {run.verdict}{reason}")
    click.echo(f"judged again: {judged} runs; {verdicts} have another verdict, {rewritten} were written anew")


@click.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", type=_NEW, metavar="DIR", help="Folder for the files [default: FOLDER/export; export-PROGRAM].")
@click.option(
    "--to",
    type=click.Choice(["hpcc", "htsim", "simgrid"]),
    help="Instead of a sweep: network, flows and (simgrid) paths of these options, as files of that program.",
)
@field_options(
    Config, "scheme traffic k link_mbps seconds seed topology oversubscribe flows_per_host keep scale_sizes",
    scheme="ecmp", traffic="",
)  # fmt: skip
@in_words
def export(folder: Path | None, out: Path | None, to: str | None, **fields: Any) -> None:
    """Write a sweep as CSV, or an experiment as the files of another program.

    FOLDER is a sweep (results/runs/NAME), or the kept data of one (results/figure9): one file with a row per run, one
    with a row per flow; docs/results.md says what is in them. With --to, an experiment's network, flows and paths
    are written for HPCC's ns-3, htsim or SimGrid (docs/workloads.md), which then run the same.

    \b
    hedera export results/figure9 --out /tmp/figure9
    hedera export --to simgrid --traffic poisson:web-search,0.5 --seconds 5 --out /tmp/there
    """
    if (to is None) == (folder is None):
        raise ValueError("give a sweep's FOLDER, or --to and --traffic for another program's files")
    if folder is not None:
        from plots.export import export as write

        _tell(write(folder, out or folder / "export"))
        return
    if not fields["traffic"]:
        raise ValueError("--to needs --traffic, as in --traffic stride:4")
    from simulator.export import export as write_experiment

    place = to_write(out or Path(f"export-{to}"))
    _tell(write_experiment(Config(**fields), str(to), place))
    if to != "simgrid":
        tell_user(f"paths are not in it: {to} chooses them by itself")


def _tell(files: Iterable[Path]) -> None:
    for path in files:
        click.echo(path)


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--html", is_flag=True, help="Also write one self-contained page, with bars side by side.")
@click.option(
    "--out",
    type=_NEW,
    metavar="DIR",
    default=Path("results/runs/compare"),
    show_default=True,
    help="Folder for the page and pictures.",
)
@picture_options
@json_option
@in_words
def compare(folders: tuple[Path, ...], html: bool, out: Path, as_json: bool) -> None:
    """Compare sweeps (FOLDERS, such as results/runs/NAME): how much each scheme's share of the control changes.

    The settings in which the folders differ are found and listed. Each folder is compared with the first, over the
    patterns, schemes and seeds that all of them have; intervals are Student's, 95 %, over three seeds or more. A folder
    may be the kept data of a sweep (results/figure9).

    With --html, --format or --width it draws, too: bars side by side, and the differences; --format tex writes the
    table.

    Example: hedera compare results/figure9 results/runs/NAME --format pdf,tex
    """
    from plots import compare_sweeps
    from record.latex import write_latex
    from record.output import conclude

    draws = html or get_pictures().asked
    if draws or get_pictures().latex:
        to_write(out)
    comparison = compare_sweeps.compare(folders)
    files = []
    if draws:
        from plots.comparison_page import write

        files = write(comparison, out, html)
    if as_json:
        for sentence in comparison.notes:
            click.echo(sentence, err=True)
    rows = comparison.rows()
    table = _make_mean_table(comparison, rows)
    if get_pictures().latex:
        notes = " ".join(_write_sentences(comparison, comparison.told))
        files.append(write_latex(out / "compare.tex", [table], notes, comparison.remove_local_paths))
    conclude(rows, [table, *map(escape, _write_sentences(comparison, comparison.alike))], files, as_json)


def _make_mean_table(comparison: Comparison, rows: Sequence[Mapping[str, Any]]) -> Table:
    """A line for each scheme and folder."""
    options = list(dict.fromkeys(option for row in rows for option in row["conditions"]))
    first = next(iter(comparison.conditions))
    title = f"Shares of the control in %, means over the patterns; differences to {first} in points"
    headings = ["patterns", "seeds", "runs", "share", "difference", "95 %", "largest"]
    table = make_plain_table(title, "scheme", "folder", *options, *headings, left=2 + len(options))
    for row in rows:
        conditions = row["conditions"]
        cells = [row["scheme"] if row["folder"] == first else "", row["folder"]]
        cells += [format_setting(conditions[option]) for option in options]
        cells += [
            *(str(row[column]) for column in ("patterns", "seeds", "runs")),
            f"{100 * row['share']:.1f}",
            _format_points(row["difference_points"]),
        ]
        cells.append("" if row["low_points"] is None else f"{row['low_points']:+.1f} to {row['high_points']:+.1f}")
        cells.append(f"{_format_points(row['largest_points'])} {label(row['largest_pattern'] or '')}".strip())
        table.add_row(*map(escape, cells))
    return table


def _format_points(value: float | None) -> str:
    return "" if value is None else f"{value:+.1f}"


def _write_sentences(comparison: Comparison, settings: Mapping[str, Value]) -> list[str]:
    """Of what is alike in all folders, ``settings`` are told."""
    differ = list(dict.fromkeys(option for differing in comparison.conditions.values() for option in differing))
    alike = [f"{option} {format_setting(value)}" for option, value in settings.items() if value not in (None, ())]
    return [
        f"They differ in {', '.join(differ)}." if differ else "They differ in no setting.",
        f"Alike: {' '.join(alike)}.",
        f"Seeds: {format_seeds(comparison.paired.seed)}; emulator: {', '.join(comparison.emulators)}.",
        *(f"{sentence}." for sentence in comparison.notes),
    ]
