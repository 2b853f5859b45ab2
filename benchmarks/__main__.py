"""What costs how much, in one table: case, the paper's number or what is aimed at, ours, and the ratio.

    python -m benchmarks [simulator] [virtual] [--all]

A quarter of an hour without --all; virtual time needs no root. A ratio is ours over the other. Beside it: whether
virtual time is true (`benchmarks.truth`), and what no test notices (`benchmarks.mutants`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click

from benchmarks import simulator, virtual
from benchmarks.row import Row
from results.output import plain_table, wide_console

PARTS: dict[str, Callable[[bool], Iterator[Row]]] = {"simulator": simulator.rows, "virtual": virtual.rows}


@click.command(help=__doc__)
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)), metavar="[PART ...]")
@click.option("--all", "whole", is_flag=True, help="The cases that take long as well.")
def main(parts: tuple[str, ...], whole: bool) -> None:
    table = plain_table("Benchmarks", "case", "paper or aim", "ours", "ratio")
    for part in parts or PARTS:
        for row in PARTS[part](whole):
            click.echo(f"{part}: {row.case}", err=True)
            table.add_row(row.case, row.said(row.paper), row.said(row.ours), row.ratio)
    wide_console().print(table)


if __name__ == "__main__":
    main()
