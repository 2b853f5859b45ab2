"""The commands `hedera hifi dctcp` and `hedera hifi buffers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedera.options import in_words, json_option, options, quiet_option
from results.output import conclude

if TYPE_CHECKING:
    from rich.table import Table

    from hifi.scene import Scene, Seen
    from results.output import Row

    Found = tuple[Sequence[Row], Table, Sequence[Path]]

KEPT, RESULTS, QUICK = Path("results/runs/hifi"), Path("results/hifi"), Path("results/runs/hifi-quick")


@click.group()
def hifi() -> None:
    """Mininet-HiFi's other experiments (CoNEXT '12): DCTCP's queue and buffer sizes.

    Real TCP in virtual time; needs no root. Finished runs are kept in results/runs/hifi and not made again: stop it
    at any time (Ctrl-C), and the same command continues. docs/hifi.md has the results.
    """


experiment = options(
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


def play(scenes: Sequence[Scene]) -> list[Seen]:
    from hifi.stage import played

    return played(scenes, KEPT)


def _conclude(make: Callable[..., Found], quick: bool, out: Path | None, as_json: bool) -> None:
    rows, table, files = make(play, quick, out or (QUICK if quick else RESULTS))
    conclude(rows, [table], files, as_json)


@hifi.command()
@click.option(
    "--bw", type=click.Choice(["100", "1000"]), default="100", show_default=True, help="Rate of the links, Mb/s."
)
@click.option("--seeds", type=click.IntRange(1), help="Seeds, that is runs, of each (default: 5; 1 with --quick).")
@click.option(
    "--varying-delay", is_flag=True, help="Vary delays, as Mininet-HiFi's script does; netem then reorders packets."
)
@experiment
def dctcp(bw: str, seeds: int | None, varying_delay: bool, **asked: Any) -> None:
    """Measure the queue of two endless flows, with DCTCP and with TCP, beside a hardware switch and Mininet-HiFi."""
    from hifi.dctcp import make

    _conclude(partial(make, float(bw), seeds, varying_delay), **asked)


@hifi.command()
@experiment
def buffers(**asked: Any) -> None:
    """Find the smallest buffer that keeps a link busy, against RTT C and RTT C / sqrt(n); Reno and cubic."""
    from hifi.buffers import make

    _conclude(make, **asked)
