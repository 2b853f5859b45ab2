"""`hedera cluster job`: one run in a guest."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click


@click.group(hidden=True)
def cluster() -> None:
    """What guests are started with."""


@cluster.command()
@click.argument("folder", type=click.Path(path_type=Path))
def job(folder: Path) -> None:
    """One request: one line of standard input; each step is reported in one line of standard output."""
    from files.sent import sent
    from harness.run.experiment import run_experiment
    from harness.sweep import enclosed
    from harness.sweep.remote import spec_of

    asked = json.loads(sys.stdin.readline())
    with sent(enclosed.found(asked)):
        run_experiment(spec_of(asked), folder, _say, worker=asked["worker"])
    click.echo(json.dumps({"done": True}))


def _say(stage: str) -> None:
    click.echo(json.dumps({"stage": stage}))
    sys.stdout.flush()
