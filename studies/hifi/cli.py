"""The commands `hedera hifi dctcp` and `hedera hifi buffers`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hedera.options import in_words, json_option, options, quiet_option, to_write
from record.output import conclude

RESULTS, QUICK = Path("results/runs/hifi"), Path("results/runs/hifi-quick")


@click.group()
def hifi() -> None:
    """Mininet-HiFi's other experiments (CoNEXT '12): DCTCP's queue and buffer sizes.

    Real TCP in virtual time; needs no root. Finished runs are kept in results/runs/hifi and not made again: stop it
    at any time (Ctrl-C), and the same command continues. docs/hifi.md has the results.
    """


def experiment(make: Callable[..., Any]) -> click.Command:
    """The command of a function that plays an experiment, and answers with rows, tables, and the files written."""

    @wraps(make)
    def made(quick: bool, out: Path | None, as_json: bool, **own: Any) -> None:
        rows, tables, files = make(quick=quick, folder=to_write(out or (QUICK if quick else RESULTS)), **own)
        conclude(rows, tables, files, as_json)

    add = options(
        click.option("--quick", is_flag=True, help="Fewer and shorter runs, in under three minutes."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help=f"Folder for CSV and pictures (default: {RESULTS}; with --quick {QUICK}).",
        ),
        json_option,
        quiet_option,
        in_words,
    )
    return hifi.command()(add(made))


@experiment
@click.option(
    "--bw", type=click.Choice(["100", "1000"]), default="100", show_default=True, help="Rate of the links, Mb/s."
)
@click.option("--seeds", type=click.IntRange(1), help="Seeds, that is runs, of each (default: 5; 1 with --quick).")
def dctcp(bw: str, **asked: Any) -> Any:
    """Measure the queue of two endless flows, with DCTCP and with TCP, beside a hardware switch and Mininet-HiFi."""
    from studies.hifi.dctcp import make

    return make(float(bw), **asked)


@experiment
def buffers(**asked: Any) -> Any:
    """Find the smallest buffer that keeps a link busy, against RTT C and RTT C / sqrt(n); Reno and cubic."""
    from studies.hifi.buffers import make

    return make(**asked)
