"""`hedera clean`."""

from __future__ import annotations

import click

from harness.errors import RunFailed
from harness.network.footprint import remove_leftovers
from harness.network.machine import require_root


@click.command()
def clean() -> None:
    """Remove what killed runs of this project left on the machine, and nothing else."""
    require_root()
    cleaned = remove_leftovers()
    for line in cleaned.removed:
        click.echo(f"removed {line}")
    if cleaned.left:
        raise RunFailed(f"what could not be removed: {'; '.join(cleaned.left)}")
    if not cleaned.removed:
        click.echo("nothing of ours is left on this machine")
