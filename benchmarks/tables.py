"""The paper's Tables 4 and 5 with ours beside them: ``hedera table 4`` and ``hedera table 5``.

Slow imports wait until a command runs.
"""

from __future__ import annotations

from typing import Any

import click

SECONDS = click.option(
    "--seconds", type=click.FloatRange(0.0), default=0.5, show_default=True, help="Measuring time per figure."
)


@click.command("4")
@SECONDS
def table_4(seconds: float) -> None:
    """Time demand estimation: the paper's Table 4 and ours."""
    from benchmarks import demand
    from benchmarks.measure import first_call_seconds

    table = _table("Table 4: demand estimation, ms per call", "k", "flows", "paper")
    _columns(table, "ours", "best", "ratio")
    for case in demand.cases(seconds):
        table.add_row(
            str(case.k),
            f"{case.flows:,}",
            f"{case.paper_ms:.2f}",
            *_timing(case.paper_ms, case.ours.median, case.ours.best),
        )
    _print(table)
    compiled, loaded = first_call_seconds(demand.FIRST_CALL)
    click.echo(_FIRST_CALL.format(loaded=loaded, compiled=compiled))
    click.echo(
        f"Memory for 250,000 flows at k=48: {demand.megabytes_needed():.1f} MB (the paper: less than 20 MB)."
    )
    click.echo(_CAPTION)


@click.command("5")
@SECONDS
def table_5(seconds: float) -> None:
    """Time Simulated Annealing: the paper's Table 5 and ours, with set-up and without."""
    from benchmarks import annealing
    from benchmarks.measure import first_call_seconds

    table = _table("Table 5: Simulated Annealing, ms per call", "k", "flows", "iterations", "paper")
    _columns(table, "placement", "best", "ratio", "annealing", "ratio", "excess", "after")
    for case in annealing.cases(seconds):
        alone = case.placement.median - case.setup.median
        table.add_row(
            str(case.k),
            f"{case.flows:,}",
            f"{case.iterations:,}",
            f"{case.paper_ms:.2f}",
            *_timing(case.paper_ms, case.placement.median, case.placement.best),
            f"{alone:.3f}",
            f"{case.paper_ms / alone:.0f}x",
            *(f"{energy:,.1f}" for energy in case.energy),
        )
    _print(table)
    compiled, loaded = first_call_seconds(annealing.FIRST_CALL)
    click.echo(_FIRST_CALL.format(loaded=loaded, compiled=compiled))
    click.echo(
        "Annealing is a placement without its set-up; excess is the exceeded capacity, in links, before and after."
    )
    click.echo("One thread: each iteration starts from the state that the one before it left.")
    click.echo(_CAPTION)


_WIDTH = 120  # of the wider table; a narrow terminal wraps its lines rather than its figures
_FIRST_CALL = (
    "Imports and first call in a new process: {loaded:.2f} s, or {compiled:.2f} s when it has to be compiled."
)
_CAPTION = (
    "Figures are medians over the calls made, and the best of them; ratio is the paper's over our median."
)


def _timing(paper_ms: float, median: float, best: float) -> tuple[str, str, str]:
    return f"{median:.3f}", f"{best:.3f}", f"{paper_ms / median:.0f}x"


def _table(title: str, *columns: str) -> Any:
    from rich.table import Table

    table = Table(title=title)
    _columns(table, *columns)
    return table


def _columns(table: Any, *names: str) -> None:
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def _print(table: Any) -> None:
    from rich.console import Console

    console = Console()
    console.width = max(console.width, _WIDTH)
    console.print(table)


TABLES: dict[str, click.Command] = {"4": table_4, "5": table_5}
