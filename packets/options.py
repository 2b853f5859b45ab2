"""What the commands of this package share: options for every parameter, errors in words, how results are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from commands.shared import in_words, options, parallel
from packets.build import NotInstalled
from packets.metrics import Cell, within
from packets.parameters import Parameters
from packets.quantity import Quantity, option_of, unit_of, written

Command = Callable[..., Any]

KEPT = Path("results/runs/hull")
"""Where results of single runs are kept; not in git."""


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


def _option(name: str, default: Any, help: str) -> Command:
    if isinstance(default, bool):
        return click.option(
            f"{option_of(name)}/--no-{option_of(name)[2:]}",
            name,
            default=default,
            help=help,
            show_default=True,
        )
    unit = unit_of(name)
    shown = False if default is None else written(default, name)
    kind = Quantity(unit) if unit else type(default)
    return click.option(option_of(name), name, default=default, type=kind, help=help, show_default=shown)


def parameters(function: Command) -> Command:
    """An option for every parameter; the command gets them as ``parameters``."""

    @wraps(function)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        chosen = {each.name: kwargs.pop(each.name) for each in fields(Parameters)}
        return function(*args, parameters=Parameters(**chosen), **kwargs)

    for each in reversed(fields(Parameters)):
        gathered = _option(each.name, each.default, each.metadata["help"])(gathered)
    return gathered


as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
kept = click.option(
    "--keep",
    "keep",
    default=KEPT,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder of the runs' results: what is there is not run again.",
)
out = click.option(
    "--out",
    default=Path("results/hull"),
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder for picture and CSV.",
)
quick = click.option("--quick", is_flag=True, help="Shorter and fewer runs: the shape in a few minutes.")


def experiment_options(seeds: int) -> Command:
    """The options of every figure and table; ``seeds`` is the default without --quick."""
    return options(
        quick,
        click.option(
            "--seeds", type=click.IntRange(1), help=f"How many: 1, 2, and so on (default: {seeds}; quick: 2)."
        ),
        out,
        kept,
        as_json,
        parallel,
    )


def rows_of(cells: Iterable[Cell], x_name: str) -> list[dict[str, Any]]:
    """Cells as rows of named columns."""
    rows = []
    for each in cells:
        row = {x_name: each.x, **asdict(each), "ratio": each.ratio}
        del row["x"]
        rows.append(row)
    return rows


def conclude(
    title: str, cells: Sequence[Cell], x_name: str, name: str, files: list[Path], as_json: bool
) -> None:
    """Write the CSV, and show the cells: a table for each metric, or JSON."""
    from commands.comparison import write_csv

    rows = rows_of(cells, x_name)
    csv = write_csv(files[0].with_name(f"{name}.csv"), list(rows[0]), (list(row.values()) for row in rows))
    if as_json:
        click.echo(json.dumps({"rows": rows}))
        return
    show(title, cells, x_name, [csv, *files])


def show(title: str, cells: Sequence[Cell], x_name: str, files: Sequence[Path]) -> None:
    """Paper against ours, one table for each metric, and how many cells are near."""
    from commands.comparison import Row, table
    from commands.shared import wide_console

    console = wide_console()
    label = x_name.split("_")[0]
    for metric in dict.fromkeys(each.metric for each in cells):
        rows = [
            Row(
                f"{label} {each.x:g}  {each.scheme}  {each.statistic}",
                each.published,
                each.ours,
                f"{each.lowest:,.1f} to {each.highest:,.1f}" if each.seeds > 1 else "",
            )
            for each in cells
            if each.metric == metric
        ]
        unit = {"us": "us", "ms": "ms", "mbps": "Mb/s"}.get(metric.rpartition("_")[2], "of 10")
        console.print(table(f"{title}: {metric}", rows, unit))
    for statistic, factor in (("mean", 1.5), ("p99", 2.0)):
        near, known = within(cells, statistic, factor)
        if known:
            console.print(
                f"{statistic}: {near} of {known} within a factor {factor:g} of the published", highlight=False
            )
    console.print("written: " + "  ".join(str(file) for file in files), highlight=False, soft_wrap=True)
