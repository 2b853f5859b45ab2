"""`hedera report`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.errors import UserMistake


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--publish",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Draw nothing; write a copy fit for publishing into DIR: summary.csv, differences.csv, sweep.json, and the "
    "run.json of all runs in one compressed file. `hedera report DIR` and `hedera compare` read such a copy.",
)
def report(folder: Path, publish: Path | None) -> None:
    """Draw figures and one self-contained HTML page from the runs in FOLDER (results/runs/NAME, or a published copy
    of it)."""
    if publish:
        from plots.export import keep

        try:
            files = keep(folder, publish)
        except ValueError as error:
            raise UserMistake(str(error)) from None
        for path in files:
            click.echo(path)
        return
    from plots.figures import write_all
    from plots.load import load_sweep
    from plots.report import write_report

    pictures = write_all(folder)
    if not pictures:
        skipped = load_sweep(folder).skipped
        why = f"; {skipped[0].path} {skipped[0].reason}" if skipped else ""
        raise UserMistake(f"{folder} has no run (run.json) to report on{why}")
    for path in [*pictures, write_report(folder)]:
        click.echo(path)
