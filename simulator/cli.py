"""The command `hedera simulate`.

Everything slow to import (numba, matplotlib) is imported by the command that needs it, when it runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from commands.shared import in_words, progress_bar


@click.command()
@click.option("--scheme", required=True, help="How paths are chosen, such as ecmp, hedera-sa, FILE.py:CLASS.")
@click.option("--traffic", required=True, help="Who sends what to whom: stride:4, poisson:web-search,0.5 ...")
@click.option("-k", "k", default=4, show_default=True, help="Ports per switch: k^3/4 hosts.")
@click.option(
    "--seconds", default=60.0, show_default=True, help="Simulated time; its middle two thirds count."
)
@click.option("--seed", default=1, show_default=True, help="Fixes every draw.")
@click.option(
    "--engine", default="aimd", show_default=True, help="aimd (section 5.5) or maxmin (ideal shares)."
)
@click.option("--tick", "tick_s", default=0.001, show_default=True, help="Length of a tick, seconds.")
@click.option("--interval", "interval_s", default=5.0, show_default=True, help="Scheduling period, seconds.")
@click.option("--bw", "link_mbps", default=1000.0, show_default=True, help="Rate of every link, Mb/s.")
@click.option(
    "--increase",
    "increase_mbps",
    type=float,
    help="A flow's first rate, and growth per tick, Mb/s (0.12 of --bw).",
)
@click.option("--threshold", default=0.1, show_default=True, help="Share of a link that makes a flow large.")
@click.option(
    "--large-flows",
    default="measured-or-estimated",
    show_default=True,
    help="measured (rates above it), or measured-or-estimated (or demands).",
)
@click.option("--iterations", default=1000, show_default=True, help="Of Simulated Annealing, each round.")
@click.option(
    "--flows-per-host", default=1, show_default=True, help="Draws of the pattern laid over each other."
)
@click.option("--keep", default=1.0, show_default=True, help="Fraction of the flows kept, at random.")
@click.option("--arrivals", "arrivals_per_s", default=0.0, help="Flows a host starts per second (Poisson).")
@click.option("--mean-size", "mean_mbytes", default=125.0, help="Their mean size, 10^6 bytes (exponential).")
@click.option("--by-rate", is_flag=True, help="Place flows by measured rates instead of estimated demands.")
@click.option("--shuffled", is_flag=True, help="Global First Fit takes flows and paths in a random order.")
@click.option(
    "--detect",
    "detect_s",
    default=0.0,
    help="Global First Fit re-routes upon detection, looking this often, s (default: with the period).",
)
@click.option(
    "--scale-sizes/--no-scale-sizes",
    default=True,
    show_default=True,
    help="Whether sizes of poisson traffic, which are meant for 1 Gb/s, scale with --bw.",
)
@click.option(
    "--fail",
    multiple=True,
    metavar="WHAT@SECONDS",
    help="Break link:A-B@SECONDS or switch:NAME@SECONDS, until :UNTIL. Can be given again.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the flows to this CSV file, for --traffic file:PATH.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@in_words
def simulate(as_json: bool, record: Path | None, **fields: Any) -> None:
    """Run the paper's flow-level simulator once."""
    from simulator.config import INCREASE, Config

    if fields["increase_mbps"] is None:
        fields["increase_mbps"] = INCREASE * fields["link_mbps"]
    config = Config(**fields)
    if record is not None:
        from simulator.workload import MOST_FLOWS
        from traffic.flowfile import write_flows

        count = write_flows(record, config.workload().bounded(MOST_FLOWS).blocks())
        click.echo(f"{count:,} flows written to {record}", err=True)

    from simulator.driver import Simulation

    if as_json:
        click.echo(json.dumps(Simulation(config).run().as_json()))
        return
    simulation = Simulation(config)
    with progress_bar(f"{config.scheme}  {config.traffic}", config.seconds) as done:
        result = simulation.run(done)
    share = result.bisection_mbps / result.capacity_mbps
    click.echo(
        f"{config.scheme}, {config.traffic}, k={config.k}: bisection bandwidth "
        f"{result.bisection_mbps:,.1f} Mb/s, {share:.1%} of {result.capacity_mbps:,.0f}"
    )
    if result.completion_s.size:
        click.echo(
            f"{result.completion_s.size:,} flows completed, {result.completion_s.mean():.3f} s on average"
        )
    for one in result.completion():
        if one.flows:
            click.echo(
                f"{one.size_class:>7}: {one.flows:,} flows began in the window, {one.cut_off:,} cut off; "
                f"slowdown {one.mean_slowdown:.2f}, median {one.median_slowdown:.2f}, 99th {one.p99_slowdown:.2f}"
            )
