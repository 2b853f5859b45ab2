"""What the commands of this package share: options for every parameter, errors in words, how results are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, make_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commands.options import in_words, json_option, options, parallel
from commands.parameters import field_options
from packets.build import NotInstalled
from packets.metrics import Cell, within
from packets.parameters import Parameters
from packets.quantity import Quantity, unit_of, written

if TYPE_CHECKING:
    from rich.table import Table

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


kept = click.option(
    "--keep",
    "keep",
    default=KEPT,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder of the runs' results: what is there is not run again.",
)
sample = click.option(
    "--out",
    default=SAMPLE,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder of pictures and CSV.",
)
quick = click.option("--quick", is_flag=True, help="Shorter and fewer runs: the shape in a few minutes.")


def experiment_options(seeds: int) -> Command:
    """The options of every figure and table; ``seeds`` is the default without --quick."""
    return options(
        quick,
        click.option(
            "--seeds", type=click.IntRange(1), help=f"How many: 1, 2, and so on (default: {seeds}; quick: 2)."
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            help=f"Folder for picture and CSV (default: {SAMPLE}; quick: {QUICK}, which leaves the sample as it is).",
        ),
        kept,
        json_option,
        parallel,
    )


def conclude(
    title: str, cells: Sequence[Cell], x_name: str, name: str, picture: Path, json_wanted: bool
) -> None:
    """Write the CSV beside the picture, and tell the cells: a table for each metric, or JSON."""
    from commands import output

    rows = rows_of(cells, x_name)
    csv = output.write_csv(picture.with_name(f"{name}.csv"), rows)
    output.conclude(rows, [*_tables(title, cells, x_name), *_near(cells)], [csv, picture], json_wanted)


def rows_of(cells: Iterable[Cell], x_name: str) -> list[Any]:
    """Cells as rows whose first column says what x is."""
    columns = [each.name for each in fields(Cell) if each.name != "x"]
    row = make_dataclass("Row", [x_name, *columns, "ratio"], frozen=True)
    return [row(each.x, *(getattr(each, name) for name in columns), each.ratio) for each in cells]


def _tables(title: str, cells: Sequence[Cell], x_name: str) -> Iterable[Table]:
    """Published against ours, one table for each metric."""
    from commands.output import Compared, comparison

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
        unit = {"us": "us", "ms": "ms", "mbps": "Mb/s"}.get(metric.rpartition("_")[2], "of 10")
        digits = 1 if max(row.ours for row in rows) >= 10 else 3
        yield comparison(f"{title}: {metric}", rows, unit, digits)


def _near(cells: Sequence[Cell]) -> Iterable[str]:
    """How many cells of each metric are near the published."""
    for metric in dict.fromkeys(each.metric for each in cells):
        for statistic, factor in (("mean", 1.5), ("p99", 2.0)):
            near, known = within([each for each in cells if each.metric == metric], statistic, factor)
            if known:
                yield f"{metric}, {statistic}: {near} of {known} within a factor {factor:g} of the published"
