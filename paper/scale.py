"""What Figures 10 and 11 share: their options, named as the fields of `simulator.config.Config`."""

from __future__ import annotations

import click

from commands.shared import Command, options


def at_scale(k: int) -> Command:
    """The options as one decorator; ``k`` is the default."""
    return options(
        click.option("-k", "k", default=k, show_default=True, help="Ports per switch."),
        click.option("--seconds", default=60.0, show_default=True, help="Simulated time of every run."),
        click.option("--seed", default=1, show_default=True, help="Fixes every draw."),
        click.option("--tick", "tick_s", default=0.01, show_default=True, help="Length of a tick, seconds."),
        click.option(
            "--interval", "interval_s", default=5.0, show_default=True, help="Scheduling period, s."
        ),
        click.option(
            "--iterations", default=100_000, show_default=True, help="Of Simulated Annealing, each round."
        ),
    )
