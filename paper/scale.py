"""What Figures 10 and 11 share: their options, named as the fields of `simulator.config.Config`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from commands.shared import Command, options
from hedera.schemes import scheme
from paper.suite import SCHEMES


def _schemes(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter("name one scheme at least")
    try:
        return tuple(scheme(name).name for name in names)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def at_scale(k: int) -> Command:
    """The options as one decorator; ``k`` is the default. Those of the schemes arrive as a tuple, ``schemes``."""
    return options(
        click.option(
            "--schemes",
            default=",".join(SCHEMES),
            show_default=True,
            callback=_schemes,
            help="Comma-separated; hedera-clos shows what the best placement would do.",
        ),
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


def schemes_option(default: Sequence[str]) -> Command:
    """The option --schemes, which arrives as a tuple."""
    return click.option(
        "--schemes", default=",".join(default), show_default=True, callback=_schemes, help="Comma-separated."
    )
