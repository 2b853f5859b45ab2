"""The commands `hedera hifi dctcp` and `hedera hifi buffers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedera.options import json_option, options, quiet_option
from results.output import conclude, plain_table, write_csv

if TYPE_CHECKING:
    from hifi.scene import Scene, Seen

KEPT = Path("results/runs/hifi")


@click.group()
def hifi() -> None:
    """Mininet-HiFi's other experiments (CoNEXT '12): DCTCP's queue and buffer sizes.

    Real TCP in virtual time; needs no root. Finished runs are kept in results/runs/hifi and not made again: stop it
    at any time (Ctrl-C), and the same command continues. docs/hifi.md has the results.
    """


def experiment(command: Callable[..., None]) -> Callable[..., Any]:
    """A command that plays scenes: it gets ``play``, which gives what is seen of some, and the folder of its files."""

    @wraps(command)
    def guarded(redraw: bool, quick: bool, out: Path | None, **given: Any) -> None:
        from virtual.errors import GuestFailed

        folder = out or Path("results/runs/hifi-quick" if quick else "results/hifi")
        try:
            command(play=_player(redraw), folder=folder, quick=quick, **given)
        except GuestFailed as error:
            raise click.ClickException(str(error)) from None

    add = options(
        click.option("--quick", is_flag=True, help="Fewer and shorter runs, in under three minutes."),
        click.option("--redraw", is_flag=True, help="Run nothing; print and draw earlier runs."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder for CSV and pictures (default: results/hifi; with --quick results/runs/hifi-quick).",
        ),
        json_option,
        quiet_option,
    )
    decorated: Callable[..., Any] = add(guarded)
    return decorated


def _player(redraw: bool) -> Callable[[Sequence[Scene]], list[Seen]]:
    """The function that plays scenes, or (``redraw``) finds their kept results."""
    from harness.cli.options import tell_user
    from harness.jobs import guests
    from hifi.stage import played

    ground = None if redraw else guests.prepare(tell_user)
    return lambda scenes: played(scenes, ground, KEPT)


def _caption(missed: list[str]) -> str:
    return "outside the published range: " + "; ".join(missed) if missed else "all within the published range"


@hifi.command()
@click.option(
    "--bw", type=click.Choice(["100", "1000"]), default="100", show_default=True, help="Rate of the links, Mb/s."
)
@click.option("--seeds", type=click.IntRange(1), help="Seeds, that is runs, of each (default: 5; 1 with --quick).")
@click.option(
    "--varying-delay", is_flag=True, help="Vary delays, as Mininet-HiFi's script does; netem then reorders packets."
)
@experiment
def dctcp(bw: str, seeds: int | None, varying_delay: bool, play: Any, quick: bool, folder: Path, as_json: bool) -> None:
    """Measure the queue of two endless flows, with DCTCP and with TCP, beside a hardware switch and Mininet-HiFi."""
    from hifi import dctcp, pictures

    seen = play(dctcp.scenes(float(bw), seeds or (1 if quick else 5), quick, varying_delay))
    if not seen:
        raise click.ClickException("there are no runs of this yet")
    rows = [dctcp.row(one) for one in seen]
    quantiles = [quantile for one in seen for quantile in dctcp.quantiles(one)]
    name = f"dctcp{'' if bw == '100' else '-1g'}{'-jitter' if varying_delay else ''}"
    files = [write_csv(folder / f"{name}.csv", rows), write_csv(folder / f"{name}-queue.csv", quantiles)]
    files.append(pictures.queues(quantiles, folder / f"{name}.png"))
    table = plain_table("The queue in packets: ours, the hardware's, Mininet-HiFi's", "", "5 %", "median", "95 %")
    for control in dctcp.CONTROLS:
        ours = [row for row in rows if row["congestion_control"] == control]
        for row in ours:
            table.add_row(f"{control}, seed {row['seed']}", *(f"{row[what]:.1f}" for what in ("p5", "median", "p95")))
        for who, theirs in dctcp.PUBLISHED.items() if ours and bw == "100" else ():
            table.add_row(f"{control}, {who}", *(f"{value:g}" for value in theirs[control]))
    table.caption = _caption(dctcp.missed(rows)) if bw == "100" else "nothing is published at this rate"
    conclude(rows, [table], files, as_json)


@hifi.command()
@experiment
def buffers(play: Any, quick: bool, folder: Path, as_json: bool) -> None:
    """Find the smallest buffer that keeps a link busy, against RTT C and RTT C / sqrt(n); Reno and cubic."""
    from hifi import buffers, pictures

    searches = [
        buffers.Search(buffers.HIFI, n, control, target)
        for control in (("reno",) if quick else buffers.CONTROLS)
        for n in ((10, 100) if quick else buffers.FLOWS)
        for target in ((0.99,) if quick else buffers.TARGETS)
    ]
    points = buffers.search(buffers.HIFI, searches, buffers.QUICK if quick else buffers.SEARCH, play)
    if not quick:
        points += buffers.published_points(play)
    found = [one.found for one in searches]
    files = [write_csv(folder / "buffers.csv", points), write_csv(folder / "least.csv", found)]
    files.append(pictures.least(found, folder / "buffers.png"))
    table = plain_table("The smallest buffer, packets", "", "target", "flows", "least", "RTT C / sqrt(n)", "RTT C")
    for one in found:
        cells = "{congestion_control} {target:.1%} {flows} {least} {rule:.0f} {product}".format(**one).split()
        table.add_row(*cells)
    table.caption = _caption(buffers.missed(found, points))
    conclude(found, [table], files, as_json)
