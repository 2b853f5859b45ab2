"""`hedera watch`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import click

from commands.beside import end_with_caller
from commands.options import in_words
from files.rights import leave_root_for_good


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port on 127.0.0.1 [default: any free port].")
@click.option("--beside", is_flag=True, hidden=True, help="End when standard input does.")
@in_words
def watch(folder: Path, port: int, beside: bool) -> None:
    """Serve a page on 127.0.0.1 that follows the sweep in FOLDER (results/runs/NAME), until Ctrl-C.

    It shows runs in progress second by second, and finished runs, without disturbing them. From another machine: ssh
    -L PORT:127.0.0.1:PORT and the same address.
    """
    leave_root_for_good(folder)
    from watch.follower import Follower
    from watch.server import Server

    os.nice(19)  # the measured run has priority
    with contextlib.suppress(KeyboardInterrupt), Server(Follower(folder), port) as server:
        if beside:
            end_with_caller(server.shutdown)
        click.echo(f"watch it at {server.address}")
        server.serve_forever()
