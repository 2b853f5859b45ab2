"""`hedera collective`: what collectives lose to the non-blocking network, and their graphs for other simulators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hedera.options import field_options, in_words, seeds_option
from paper.claims import rows as kept_rows
from paper.collective_table import compute, tasks
from paper.collective_table import told as table_of
from results.tasks import Computing, computed
from simulator.config import Config
from traffic.goal import write_goal
from traffic.htsim import write_matrix

_WRITERS = {".goal": write_goal, ".cm": write_matrix}


@click.group()
def command() -> None:
    """Collectives: graphs of flows that wait for each other."""


@command.command()
@click.option("--quick", is_flag=True, help="A first look: k = 4, two sizes, nothing that fails, no mice.")
@seeds_option(5)
@computed
def table(asked: Computing, seeds: int, quick: bool) -> None:
    """Simulate how long collectives take under each scheme, over the non-blocking network.

    By size, placement, scheme, period, failed link and mice; some minutes of a processor, or a second with --quick.
    """
    found = compute(tasks(seeds, quick), asked.runner("collectives"))
    asked.conclude(found, [table_of(found)], [asked.csv("collectives", found)])


@command.command()
@click.argument("data", type=click.Path(exists=True, path_type=Path, dir_okay=False))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("collectives.png"),
    show_default=True,
    help="The PNG file to write.",
)
@in_words
def figure(data: Path, out: Path) -> None:
    """Draw DATA, the collectives.csv of `hedera collective table`."""
    from paper.collective_figure import COLUMNS, draw

    rows = kept_rows(data)
    if not rows or not set(COLUMNS) <= set(rows[0]):
        raise ValueError(f"{data} is no collectives.csv of hedera collective table")
    click.echo(f"written: {draw(rows, out)}")


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
