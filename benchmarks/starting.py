"""What starting costs: processor seconds of every command's help, of importing the library, and of a short simulation.

    python -m benchmarks.starting [--rounds N]      needs no root

Each is a process of its own, the median of some; what is compiled once is compiled before. Python alone is the first
row: what comes above it is ours.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from harness.cli import cli
from record.output import make_plain_table, make_wide_console

HEDERA = str(Path(sys.executable).with_name("hedera"))
SIMULATION = "simulate --scheme ecmp --traffic poisson:web-search,0.6 -k 16 --seconds 0.5 --engine maxmin"
LIBRARY = "import hedera_harness; hedera_harness.run"


def measure_spent_s(words: Sequence[str]) -> float:
    """Processor seconds of a process and of its children."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def list_helps(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command and group."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None:
                yield from list_helps(inner, (*words, name))


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1), help="The median is of so many.")
def main(rounds: int) -> None:
    """Measure, and print the slowest first."""

    def measure_median_s(words: Sequence[str]) -> float:
        measure_spent_s(words)  # its files come into memory, its loops are compiled
        return statistics.median(measure_spent_s(words) for _ in range(rounds))

    others = {
        "python": measure_median_s([sys.executable, "-I", "-c", ""]),
        "import of the library": measure_median_s([sys.executable, "-c", LIBRARY]),
        SIMULATION: measure_median_s([HEDERA, *SIMULATION.split()]),
    }
    seconds = {" ".join((*words, "--help")): measure_median_s([HEDERA, *words, "--help"]) for words in list_helps(cli)}
    rows = [*others.items(), *sorted(seconds.items(), key=lambda row: -row[1])]
    table = make_plain_table("Starting", "what", "processor s")
    for name, spent in rows:
        table.add_row(name, f"{spent:.3f}")
    make_wide_console().print(table)
    over = sum(spent > 0.1 for spent in seconds.values())
    click.echo(f"{len(seconds)} helps, median {statistics.median(seconds.values()):.3f} s; {over} take more than 0.1 s")


if __name__ == "__main__":
    main()
