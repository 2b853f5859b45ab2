"""The commands `hedera hifi dctcp` and `hedera hifi buffers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hedera.options import json_option, quiet_option
from results.output import conclude, plain_table, write_csv

if TYPE_CHECKING:
    from harness.scenes.scene import Scene, Seen

KEPT = Path("results/runs/hifi")


@click.group()
def hifi() -> None:
    """Mininet-HiFi's other experiments (CoNEXT '12): DCTCP's queue and buffer sizes.

    Real TCP in virtual time; needs no root. Finished runs are kept in results/runs/hifi and not made again: stop it
    at any time (Ctrl-C), and the same command continues. docs/hifi.md has the results.
    """


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--quick", is_flag=True, help="Fewer and shorter runs, in under three minutes."),
        click.option("--redraw", is_flag=True, help="Run nothing; print and draw earlier runs."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder for CSV and pictures (default: results/hifi; with --quick results/runs/hifi-quick).",
        ),
        json_option,
        quiet_option,
    ):
        command = option(command)

    @wraps(command)
    def guarded(**given: Any) -> None:
        from virtual.errors import GuestFailed

        try:
            command(**given)
        except GuestFailed as error:
            raise click.ClickException(str(error)) from None

    return guarded


def _player(redraw: bool) -> Callable[[Sequence[Scene]], list[Seen]]:
    """The function that plays scenes, or (``redraw``) finds their kept results."""
    from files.rights import leave_root_for_good
    from harness.cli.options import tell_user
    from harness.scenes.stage import played
    from harness.sweep import guests

    leave_root_for_good()
    ground = None if redraw else guests.prepare(tell_user)
    return lambda scenes: played(scenes, ground, KEPT)


def _folder(out: Path | None, quick: bool) -> Path:
    return out or Path("results/runs/hifi-quick" if quick else "results/hifi")


@hifi.command()
@click.option(
    "--bw",
    type=click.Choice(["100", "1000"]),
    default="100",
    show_default=True,
    help="Rate of the links, Mb/s.",
)
@click.option("--seeds", type=click.IntRange(1), help="Seeds, that is runs, of each (default: 5; 1 with --quick).")
@click.option(
    "--varying-delay",
    is_flag=True,
    help="Vary delays, as Mininet-HiFi's script does; netem then reorders packets.",
)
@_options
def dctcp(
    bw: str,
    seeds: int | None,
    varying_delay: bool,
    quick: bool,
    redraw: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Measure the queue of two endless flows, with DCTCP and with TCP, beside a hardware switch and Mininet-HiFi."""
    from hifi import dctcp as experiment
    from hifi import pictures

    asked = experiment.scenes(float(bw), seeds or (1 if quick else 5), quick, varying_delay)
    seen = _player(redraw)(asked)
    if not seen:
        raise click.ClickException("there are no runs of this yet")
    rows = [experiment.row(one) for one in seen]
    quantiles = [quantile for one in seen for quantile in experiment.quantiles(one)]
    name = f"dctcp{'' if bw == '100' else '-1g'}{'-jitter' if varying_delay else ''}"
    folder = _folder(out, quick)
    files = [write_csv(folder / f"{name}.csv", rows), write_csv(folder / f"{name}-queue.csv", quantiles)]
    files.append(pictures.queues(quantiles, folder / f"{name}.png"))
    table = plain_table("The queue in packets: ours, the hardware's, Mininet-HiFi's", "", "5 %", "median", "95 %")
    for control in experiment.CONTROLS:
        ours = [row for row in rows if row.congestion_control == control]
        for row in ours:
            table.add_row(f"{control}, seed {row.seed}", *(f"{value:.1f}" for value in (row.p5, row.median, row.p95)))
        for who, of in (("hardware", experiment.HARDWARE), ("Mininet-HiFi", experiment.HIFI)):
            if ours and bw == "100":
                one = of[control]
                table.add_row(f"{control}, {who}", *(f"{value:g}" for value in (one.p5, one.median, one.p95)))
    table.caption = _caption(experiment.missed(rows)) if bw == "100" else "nothing is published at this rate"
    conclude(rows, [table], files, as_json)


@hifi.command()
@_options
def buffers(quick: bool, redraw: bool, out: Path | None, as_json: bool) -> None:
    """Find the smallest buffer that keeps a link busy, against RTT C and RTT C / sqrt(n); Reno and cubic."""
    from hifi import buffers as experiment
    from hifi import pictures

    play = _player(redraw)
    searches = [
        experiment.Search(experiment.HIFI, n, control, target)
        for control in (("reno",) if quick else experiment.CONTROLS)
        for n in ((10, 100) if quick else experiment.FLOWS)
        for target in ((0.99,) if quick else experiment.TARGETS)
    ]
    times = experiment.QUICK if quick else experiment.SEARCH
    points = experiment.search(experiment.HIFI, searches, times, play)
    found = [one.found for one in searches]
    if not quick:
        points += experiment.single_flows(play)
        points += experiment.figure_15(play)
    folder = _folder(out, quick)
    files = [write_csv(folder / "buffers.csv", points), write_csv(folder / "least.csv", found)]
    files.append(pictures.least(found, folder / "buffers.png"))
    table = plain_table("The smallest buffer, packets", "", "target", "flows", "least", "RTT C / sqrt(n)", "RTT C")
    for one in found:
        name = f"{one.congestion_control}"
        table.add_row(name, f"{one.target:.1%}", str(one.flows), str(one.least), f"{one.rule:.0f}", str(one.product))
    table.caption = _caption(experiment.missed(found, points))
    conclude(found, [table], files, as_json)


def _caption(missed: list[str]) -> str:
    return "outside the published range: " + "; ".join(missed) if missed else "all within the published range"
