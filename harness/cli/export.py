"""`hedera export`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.errors import UserMistake


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for the files [default: FOLDER/export].",
)
def export(folder: Path, out: Path | None) -> None:
    """Write a sweep as CSV: one file with a row per run, one with a row per flow.

    FOLDER is a sweep (results/runs/NAME), or the kept data of one (results/figure9). `hedera compare` reads the
    export just as it reads the sweep. For the columns see docs/fields.md.

    Example: hedera export results/figure9 --out /tmp/figure9
    """
    from plots.export import export as write

    try:
        files = write(folder, out or folder / "export")
    except ValueError as error:
        raise UserMistake(str(error)) from None
    for path in files:
        click.echo(path)
