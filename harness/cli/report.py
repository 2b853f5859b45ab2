"""`hedera report` and `hedera export`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from hedera.options import in_words

_folder = click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
_NEW = click.Path(file_okay=False, path_type=Path)


@click.command()
@_folder
@click.option(
    "--publish",
    type=_NEW,
    metavar="DIR",
    help="Draw nothing; write a copy fit for publishing into DIR: summary.csv, differences.csv, sweep.json, and the "
    "run.json of all runs in one compressed file. `hedera report DIR` and `hedera compare` read such a copy.",
)
@in_words
def report(folder: Path, publish: Path | None) -> None:
    """Draw figures and one self-contained HTML page from the runs in FOLDER (results/runs/NAME, or a published copy
    of it)."""
    if publish:
        from plots.export import keep

        _tell(keep(folder, publish))
        return
    from plots.figures import write_all
    from plots.load import load_sweep
    from plots.report import write_report

    pictures, sweep = write_all(folder), load_sweep(folder)
    skipped = sweep.skipped
    if sweep.mixture:
        click.echo(sweep.mixture, err=True)
    if not pictures:
        why = f"; {skipped[0].path} {skipped[0].reason}" if skipped else ""
        raise ValueError(f"{folder} has no run (run.json) to report on{why}")
    for one in skipped:
        if one.unreadable:
            click.echo(f"left out: {one.path} {one.reason}", err=True)
    *_, drawn = (file for file in pictures if file.name in ("figure9.svg", "figure9-patterns.svg"))
    _tell([*pictures, write_report(folder, figure_9=drawn.read_bytes())])


@click.command()
@_folder
@click.option("--out", type=_NEW, metavar="DIR", help="Folder for the files [default: FOLDER/export].")
@in_words
def export(folder: Path, out: Path | None) -> None:
    """Write a sweep as CSV: one file with a row per run, one with a row per flow.

    FOLDER is a sweep (results/runs/NAME), or the kept data of one (results/figure9). For the columns see
    docs/fields.md.

    Example: hedera export results/figure9 --out /tmp/figure9
    """
    from plots.export import export as write

    _tell(write(folder, out or folder / "export"))


def _tell(files: Iterable[Path]) -> None:
    for path in files:
        click.echo(path)
