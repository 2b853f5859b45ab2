"""What the commands of this package share: options for every parameter, and errors in words."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from hedera.options import Command, field_options, in_words, json_option, names_option, options, parallel, to_write
from packets.build import NotInstalled
from packets.parameters import SCHEMES, VARIANTS, Parameters, Quantity, unit_of, written

KEPT = Path("results/runs/hull")
"""Where results of single runs are kept; not in git."""
SAMPLE, QUICK = KEPT / "full", KEPT / "quick"
"""Where pictures and CSV go, in full and with --quick."""
SEEDS, QUICK_SEEDS = 5, 2
QUICK_SHARE = 0.12
"""The share of the full simulated time, with --quick."""


class _CannotRun(click.ClickException):
    exit_code = 3


def guarded(function: Command) -> Command:
    """Errors in one sentence; status 3 with what to install when the machine lacks something."""

    @in_words
    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except NotInstalled as error:
            raise _CannotRun(str(error)) from error

    return checked


def parameters(function: Command) -> Command:
    """An option for every parameter; the command gets them as ``parameters``, and as ``named`` those that the command
    line names."""

    @wraps(function)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        context = click.get_current_context()
        chosen = {each.name: kwargs.pop(each.name) for each in fields(Parameters) if each.name in kwargs}
        named = frozenset(n for n in chosen if context.get_parameter_source(n) is ParameterSource.COMMANDLINE)
        return function(*args, parameters=Parameters(**chosen), named=named, **kwargs)

    kinds = {each.name: Quantity(unit) for each in fields(Parameters) if (unit := unit_of(each.name))}
    add = field_options(Parameters, kinds=kinds, shown=lambda name, value: written(value, name))
    command: Command = add(gathered)
    return command


kept = click.option(
    "--results",
    "keep",
    default=KEPT,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder of the runs' results; runs that are there are not made again.",
)


def _known(names: Collection[str]) -> Callable[[str], str]:
    def known(name: str) -> str:
        if name not in names:
            raise ValueError(f"there is no {name!r}; there are {', '.join(names)}")
        return name

    return known


compared = options(
    names_option(
        "--variants", VARIANTS, _known(VARIANTS),
        "reproduction: as the report's authors built it (--no-sack, and the pacer behind the host's queue); "
        "conforming: with the given parameters, by default TCP by its RFCs and the pacer in front. Comma-separated.",
    ),
    names_option("--schemes", SCHEMES, _known(SCHEMES), f"Comma-separated: {', '.join(SCHEMES)}."),
)  # fmt: skip
"""The options of figures and tables that compare schemes, as both variants."""

_SUITE = ("parameters", "named", "keep", "as_json", "jobs", "cluster", "variants", "schemes")


def experiment(function: Callable[..., None]) -> Command:
    """The decorator of a figure or table, which gets a `packets.suites.Suite`."""

    @wraps(function)
    def gathered(*, quick: bool, seeds: int | None, out: Path | None, **given: Any) -> None:
        from packets.suites import Suite

        own = {name: given.pop(name) for name in _SUITE if name in given}
        share, folder = (QUICK_SHARE, out or QUICK) if quick else (1.0, out or SAMPLE)
        seeds = seeds or (QUICK_SEEDS if quick else SEEDS)
        function(Suite(seeds=seeds, share=share, folder=to_write(folder), **own), **given)

    add = options(
        click.option("--quick", is_flag=True, help="Shorter and fewer runs: the trend in a few minutes."),
        click.option(
            "--seeds",
            type=click.IntRange(1),
            help=f"Number of seeds: 1, 2, and so on (default: {SEEDS}; quick: {QUICK_SEEDS}).",
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            help=f"Folder for the picture and CSV (default: {SAMPLE}; with --quick {QUICK}).",
        ),
        kept,
        json_option,
        parallel,
    )
    return guarded(parameters(add(gathered)))
