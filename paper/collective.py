"""`hedera collective`: what collectives lose to the non-blocking network, and their graphs for other simulators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from commands.options import in_words
from commands.parameters import field_options
from simulator.config import Config
from traffic.goal import write_goal
from traffic.htsim import write_matrix

_WRITERS = {".goal": write_goal, ".cm": write_matrix}


@click.group()
def command() -> None:
    """Collectives: graphs of flows that wait for each other."""


@command.command()
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@field_options(Config, "traffic k seed placement compute_s repeats")
@in_words
def export(out: Path, **fields: Any) -> None:
    """Write a collective's flows to OUT for other simulators.

    \b
    NAME.goal  GOAL text, for LogGOPSim and ATLAHS
    NAME.cm    a connection matrix, for csg-htsim

    \b
    hedera collective export --traffic ring:16,100000000 --placement random ring.goal
    """
    writer = _WRITERS.get(out.suffix)
    if writer is None:
        raise ValueError(f"{out} ends in neither of {' '.join(_WRITERS)}, which say what is written")
    graph = Config("ecmp", **fields).workload().graph
    if graph is None:
        raise ValueError(
            f"traffic {fields['traffic']!r} is no collective, whose flows wait for each other (docs/collectives.md)"
        )
    writer(out, graph)
    flows = int((~graph.computes).sum())
    click.echo(f"{flows:,} flows between {graph.num_hosts:,} hosts written to {out}")
