"""`hedera clean`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from files.writer import remove_abandoned
from harness.errors import RunFailed
from harness.network.footprint import Cleaned, remove_leftovers
from harness.network.machine import require_root

STILL_S = 60.0
"""A half-written file that has not grown for so long is abandoned."""


@click.command()
@click.argument(
    "results", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="[RESULTS]..."
)
def clean(results: tuple[Path, ...]) -> None:
    """Remove what killed runs of this project left on the machine, and nothing else.

    It also removes half-written files below RESULTS (default: results/runs in the current folder).
    """
    require_root()
    cleaned = remove_leftovers()
    for folder in results or (Path("results/runs"),):
        _remove_halves(folder, cleaned)
    for line in cleaned.removed:
        click.echo(f"removed {line}")
    if cleaned.left:
        raise RunFailed(f"could not remove: {'; '.join(cleaned.left)}")
    if not cleaned.removed:
        click.echo("nothing to remove")


def _remove_halves(folder: Path, cleaned: Cleaned) -> None:
    """Remove half-written files and runs below a folder of results, which may be another user's."""
    for place, inside, _ in os.walk(folder):
        inside[:] = [name for name in inside if not name.startswith(".")]
        try:
            for gone in remove_abandoned(Path(place), STILL_S):
                cleaned.note(gone, None)
        except OSError as error:
            cleaned.note(place, error.strerror)
