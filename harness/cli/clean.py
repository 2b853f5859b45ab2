"""`hedera clean`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from files.unprivileged import NOBODY_S_CACHE
from files.writer import remove_abandoned
from harness.errors import RunFailed
from harness.network.footprint import Cleaned, remove_cache, remove_leftovers
from harness.network.machine import require_root

STILL_S = 60.0
"""A half-written file that has not grown for so long has nobody left who writes it."""


@click.command()
@click.argument(
    "results", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="[RESULTS]..."
)
@click.option(
    "--all", "everything", is_flag=True, help=f"Also what is kept to be used again: {NOBODY_S_CACHE.parent}."
)
def clean(results: tuple[Path, ...], everything: bool) -> None:
    """Remove what killed runs of this project left on the machine, and nothing else.

    Half-written files are looked for below RESULTS, by default results/runs where you stand.
    """
    require_root()
    cleaned = remove_leftovers()
    for folder in results or (Path("results/runs"),):
        _remove_halves(folder, cleaned)
    if everything:
        remove_cache(cleaned)
    for line in cleaned.removed:
        click.echo(f"removed {line}")
    if cleaned.left:
        raise RunFailed(f"what could not be removed: {'; '.join(cleaned.left)}")
    if not cleaned.removed:
        click.echo("nothing of ours is left on this machine")


def _remove_halves(folder: Path, cleaned: Cleaned) -> None:
    """Of files and runs below a folder of results, which may well be another user's."""
    for place, inside, _ in os.walk(folder):
        inside[:] = [name for name in inside if not name.startswith(".")]
        try:
            for gone in remove_abandoned(Path(place), STILL_S):
                cleaned.note(gone, None)
        except OSError as error:
            cleaned.note(place, error.strerror)
