"""What the commands of this package share: options for every parameter, and errors in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hedera.options import field_options, in_words, json_option, options, parallel
from packets.build import NotInstalled
from packets.parameters import Parameters
from packets.quantity import Quantity, unit_of, written
from packets.schemes import SCHEMES, VARIANTS

if TYPE_CHECKING:
    from packets.suites import Suite

Command = Callable[..., Any]

KEPT = Path("results/runs/hull")
"""Where results of single runs are kept; not in git."""

SAMPLE = Path("results/hull")
QUICK = KEPT / "quick"
"""Where pictures and CSV go, in full and with --quick."""

SEEDS = 5
QUICK_SEEDS = 2
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
        chosen = {each.name: kwargs.pop(each.name) for each in fields(Parameters)}
        named = {name for name in chosen if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
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


def _listed(known: Iterable[str]) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], tuple[str, ...]]:
    """A reader of names from ``known``, separated by commas or given in several options."""

    def read(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
        named = click.Choice(tuple(known))
        words = (word for value in values for word in value.split(","))
        return tuple(dict.fromkeys(named.convert(word.strip(), parameter, context) for word in words))

    return read


compared = options(
    click.option(
        "--variants",
        multiple=True,
        metavar="LIST",
        callback=_listed(VARIANTS),
        help="reproduction: as the report's authors built it (--no-sack --pacer-behind); conforming: with the"
        " given parameters, by default TCP by its RFCs and the pacer in front. Comma-separated (default: both).",
    ),
    click.option(
        "--schemes",
        multiple=True,
        metavar="LIST",
        callback=_listed(SCHEMES),
        help=f"Comma-separated: {', '.join(SCHEMES)} (default: all).",
    ),
)
"""The options of figures and tables that compare schemes, as both variants."""


@dataclass(frozen=True)
class Asked:
    """What the options of a figure or table come to.

    ``share``: of the full simulated time. ``named``: the parameters that the command line names.
    """

    suite: Suite
    share: float
    folder: Path
    as_json: bool
    named: set[str]


def experiment(function: Command) -> Command:
    """The decorator of a figure or table, which gets `Asked`."""

    @wraps(function)
    def gathered(
        *,
        parameters: Parameters,
        named: set[str],
        quick: bool,
        seeds: int | None,
        out: Path | None,
        keep: Path,
        as_json: bool,
        jobs: int | None,
        cluster: str | None,
        variants: tuple[str, ...] = (),
        schemes: tuple[str, ...] = (),
        **own: Any,
    ) -> None:
        from packets.suites import Suite

        suite = Suite(
            parameters,
            seeds or (QUICK_SEEDS if quick else SEEDS),
            keep,
            jobs,
            cluster,
            schemes or tuple(SCHEMES),
            variants or tuple(VARIANTS),
        )
        folder = out or (QUICK if quick else SAMPLE)
        function(Asked(suite, QUICK_SHARE if quick else 1.0, folder, as_json, named), **own)

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
