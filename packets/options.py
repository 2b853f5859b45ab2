"""What the commands of this package share: options for every parameter, errors in words, how results are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, make_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hedera.options import field_options, in_words, json_option, options, parallel
from packets.build import NotInstalled
from packets.metrics import Cell, within
from packets.parameters import Parameters
from packets.quantity import Quantity, unit_of, written
from packets.schemes import SCHEMES
from packets.variants import VARIANTS

if TYPE_CHECKING:
    from rich.table import Table

    from packets.suites import Compared

Command = Callable[..., Any]

KEPT = Path("results/runs/hull")
"""Where results of single runs are kept; not in git."""

SAMPLE = Path("results/hull")
QUICK = KEPT / "quick"
"""Where pictures and CSV go, in full and with --quick."""


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
    """An option for every parameter; the command gets them as ``parameters``."""

    @wraps(function)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        chosen = {each.name: kwargs.pop(each.name) for each in fields(Parameters)}
        return function(*args, parameters=Parameters(**chosen), **kwargs)

    kinds = {each.name: Quantity(unit) for each in fields(Parameters) if (unit := unit_of(each.name))}
    add = field_options(Parameters, kinds=kinds, shown=lambda name, value: written(value, name))
    command: Command = add(gathered)
    return command


def asked() -> set[str]:
    """The parameters that the command line names."""
    context = click.get_current_context()
    named = ParameterSource.COMMANDLINE
    return {each.name for each in fields(Parameters) if context.get_parameter_source(each.name) is named}


kept = click.option(
    "--results",
    "keep",
    default=KEPT,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder of the runs' results; runs that are there are not made again.",
)
sample = click.option(
    "--out",
    default=SAMPLE,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder of pictures and CSV.",
)
quick = click.option("--quick", is_flag=True, help="Shorter and fewer runs: the trend in a few minutes.")


def experiment_options(seeds: int) -> Command:
    """The options of every figure and table; ``seeds`` is the default without --quick."""
    return options(
        quick,
        click.option(
            "--seeds",
            type=click.IntRange(1),
            help=f"Number of seeds: 1, 2, and so on (default: {seeds}; quick: 2).",
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


def _listed(
    known: Iterable[str],
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], tuple[str, ...]]:
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


def conclude(title: str, found: Compared, x_name: str, name: str, picture: Path, json_wanted: bool) -> None:
    """Write the CSV beside the picture, and print the cells: a table for each metric, or JSON."""
    from results import output

    rows = rows_of(found.cells, x_name)
    files = [output.write_csv(picture.with_name(f"{name}.csv"), rows), picture]
    if found.reductions:
        reductions = rows_of(found.reductions, x_name)
        files.append(output.write_csv(picture.with_name(f"{name}_reductions.csv"), reductions))
    told: list[Any] = []
    for variant in dict.fromkeys(each.variant for each in found.cells):
        cells = [each for each in found.cells if each.variant == variant]
        told += [*_tables(f"{title}, {variant}", cells, x_name), *_near(cells)]
    output.conclude(rows, [*told, *_reduced(found)], files, json_wanted)


def rows_of(found: Sequence[Any], x_name: str) -> list[Any]:
    """Cells or reductions as rows whose first column says what x is."""
    columns = [each.name for each in fields(found[0]) if each.name != "x"]
    more = ["ratio"] if hasattr(found[0], "ratio") else []
    row = make_dataclass("Row", [x_name, *columns, *more], frozen=True)
    return [row(each.x, *(getattr(each, name) for name in [*columns, *more])) for each in found]


def _reduced(found: Compared) -> Iterable[str]:
    """HULL's reductions, the mean over x, as sentences."""
    for each in found.reductions:
        if each.x is None:
            interval = "" if each.low is None else f" ({each.low:.1f} to {each.high:.1f})"
            published = "" if each.published is None else f"; published: {each.published:.1f} %"
            yield (
                f"{each.variant}, {each.metric} {each.statistic}: HULL is {each.percent:.1f} %{interval} below"
                f" {each.than}{published}"
            )


def _tables(title: str, cells: Sequence[Cell], x_name: str) -> Iterable[Table]:
    """Published against ours, one table for each metric."""
    from results.output import Compared, comparison

    label = x_name.split("_")[0]
    for metric in dict.fromkeys(each.metric for each in cells):
        rows = [
            Compared(
                f"{label} {each.x:g}  {each.scheme}  {each.statistic}",
                each.published,
                each.ours,
                f"{each.lowest:,.4g} to {each.highest:,.4g}" if each.seeds > 1 else "",
            )
            for each in cells
            if each.metric == metric
        ]
        unit = {"us": "us", "ms": "ms", "mbps": "Mb/s", "percent": "%", "timeouts": ""}.get(
            metric.rpartition("_")[2], "of 10"
        )
        digits = 1 if max(row.ours for row in rows) >= 10 else 3
        yield comparison(f"{title}: {metric}", rows, unit, digits)


def _near(cells: Sequence[Cell]) -> Iterable[str]:
    """How many cells of each metric are near the published number."""
    for metric in dict.fromkeys(each.metric for each in cells):
        for statistic, factor in (("mean", 1.5), ("p99", 2.0)):
            near, known = within([each for each in cells if each.metric == metric], statistic, factor)
            if known:
                yield f"{metric}, {statistic}: {near} of {known} within a factor {factor:g} of the published"
