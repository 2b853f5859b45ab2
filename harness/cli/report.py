"""`hedera report`."""

from __future__ import annotations

from pathlib import Path

import click

from files.rights import as_owner


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Figures and one self-contained HTML page from the runs stored in FOLDER (results/runs/NAME)."""
    with as_owner(folder):
        from plots.figures import write_all
        from plots.report import write_report

        for path in [*write_all(folder), write_report(folder)]:
            click.echo(path)
