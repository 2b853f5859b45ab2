"""`hedera watch`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import click

from commands.shared import in_words


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--port", default=0, type=click.IntRange(0, 65535), help="Where on 127.0.0.1 [default: any free port]."
)
@in_words
def watch(folder: Path, port: int) -> None:
    """Serve a page on 127.0.0.1 that follows the sweep in FOLDER (results/runs/NAME), until Ctrl-C.

    It shows what is under way second by second and what has finished, and disturbs neither. From elsewhere: ssh -L
    PORT:127.0.0.1:PORT and the same address.
    """
    from watch.follower import Follower
    from watch.server import Server

    os.nice(19)  # a run that is measured comes first
    with contextlib.suppress(KeyboardInterrupt), Server(Follower(folder), port) as server:
        click.echo(f"watch it at {server.address}")
        server.serve_forever()
