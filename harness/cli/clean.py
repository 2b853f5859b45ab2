"""`hedera clean`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from harness.errors import RunFailed
from harness.jobs import root
from harness.jobs.store import remove_partial
from harness.network.footprint import Cleaned
from hedera.text import printable
from results.temporary import is_alive, left_by, remove_tree

STILL_S = 60.0
"""A half-written file that has not grown for so long is abandoned."""


@click.command()
@click.argument(
    "results", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="[RESULTS]..."
)
def clean(results: tuple[Path, ...]) -> None:
    """Remove what killed runs of this project left on the machine, and nothing else: for root the networks of runs in
    real time, for everyone temporary folders and half-written files below RESULTS (default: results/runs)."""
    cleaned = root.root().clean() if root.may_be_root() else Cleaned()
    for owner, folders in left_by([os.geteuid()]).items():
        for folder in folders if not is_alive(owner) else ():
            cleaned.note(folder, remove_tree(folder))
    for folder in results or (Path("results/runs"),):
        for gone in remove_partial(folder, STILL_S):
            cleaned.note(gone, None)
    for line in cleaned.removed:
        click.echo(printable(f"removed {line}"))
    if cleaned.left:
        raise RunFailed(f"could not remove: {'; '.join(cleaned.left)}")
    if not cleaned.removed:
        click.echo("nothing to remove")
