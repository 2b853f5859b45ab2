"""What Figures 10 and 11 and Table 3 share: their options, named as the fields of `simulator.config.Config`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import click

from hedera.options import Command, field_options, options, seeds_option
from hedera.schemes import scheme
from paper.suite import AT_SCALE
from plots.trials import difference
from simulator.config import ENGINES, Config
from topos.arrays import Float64

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Interval:
    """The mean over seeds and Student's interval of 95 %, in the unit of the values; None with fewer than three."""

    mean: float
    low: float | None
    high: float | None

    @property
    def spread(self) -> str:
        """The interval as text that more text follows; empty if there is none."""
        return "" if self.low is None else f"{self.low:.1f} to {self.high:.1f}  "


def interval(values: Float64) -> Interval:
    """The interval of values with different seeds, (seeds,)."""
    found = difference(None, values.tolist())
    return Interval(float(values.mean()), found.low, found.high)


def told_seeds(seeds: int) -> str:
    """What the intervals are over, for the title of a table."""
    return f"{seeds} seeds, 95 % intervals" if seeds > 2 else f"{seeds} seed{'s' * (seeds > 1)}"


def numbers(option: str, text: str, kind: Callable[[str], Number]) -> list[Number]:
    """The numbers above 0 in a comma-separated list, each once; ValueError, which names the option, for others."""
    try:
        found = [kind(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not 0 < min(found) <= max(found) < float("inf"):
        whole = "whole " if kind is int else ""
        raise ValueError(f"{option} takes {whole}numbers above 0, separated by commas; not {text!r}")
    return list(dict.fromkeys(found))


def _engines(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
    for name in names:
        if name not in ENGINES:
            raise click.BadParameter(f"there is no engine {name!r}; the engines are {' and '.join(ENGINES)}")
    return names


engines_option = click.option(
    "--engines",
    default=",".join(ENGINES),
    show_default=True,
    callback=_engines,
    help="Comma-separated: aimd (section 5.5), maxmin (ideal shares).",
)


def _schemes(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter("name at least one scheme")
    try:
        return tuple(scheme(name).name for name in names)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def schemes_option(default: Sequence[str]) -> Command:
    """The option --schemes, whose names arrive as a tuple."""
    return click.option(
        "--schemes",
        default=",".join(default),
        show_default=True,
        callback=_schemes,
        help="Comma-separated; hedera-clos shows what the network itself allows.",
    )


def at_scale(k: int) -> Command:
    """The options as one decorator; ``k`` is the default."""
    return options(
        schemes_option(AT_SCALE),
        field_options(Config, "k seconds tick_s interval_s iterations", k=k, tick_s=0.01, iterations=100_000),
        seeds_option(5),
    )
