"""The command `hedera simulate`.

Everything slow to import (numba, matplotlib) is imported by the command that needs it, when it runs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np

from record import completion
from record.files import write_whole
from record.options import field_options, in_words, json_option, quiet_option
from record.output import progress_bar
from simulator.config import Config


@click.command()
@field_options(Config)
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the flows to this CSV file, for --traffic file:PATH.",
)
@json_option
@quiet_option
@in_words
def simulate(as_json: bool, record: Path | None, **fields: Any) -> Any:
    """Run the paper's flow-level simulator once."""
    config = Config(**fields)
    if record is not None:
        from simulator.config import MAX_FLOWS
        from traffic.flowfile import recorded

        flows = recorded(config.workload().bounded(MAX_FLOWS).blocks())
        write_whole(record, flows)
        click.echo(f"{flows.count(chr(10)) - 1:,} flows written to {record}", err=True)

    from simulator.driver import Simulation

    if as_json:
        result = Simulation(config).run()
        click.echo(json.dumps(result.as_json()))
        return result
    simulation = Simulation(config)
    with progress_bar(f"{config.scheme}  {config.traffic}", config.seconds) as done:
        result = simulation.run(done)
    what = f"{config.scheme}, {config.traffic}, {config.topology or f'k={config.k}'}:"
    if (told := result.collective()) is not None:
        click.echo(f"{what} {completion.in_words(told)}")
    if told is None or np.isinf(result.size_bytes).any():
        share = result.bisection_mbps / result.capacity_mbps
        click.echo(
            f"{what} bisection bandwidth {result.bisection_mbps:,.1f} Mb/s, {share:.1%} of {result.capacity_mbps:,.0f}"
        )
    if bound := result.bound_mbps:
        share = result.bisection_mbps / bound
        click.echo(f"the network's own bound for this traffic is {bound:,.1f} Mb/s: {share:.1%}")
    if result.completion_s.size:
        mean, slowest = result.completion_s.mean(), result.completion_s.max()
        click.echo(
            f"{result.completion_s.size:,} flows completed, {mean:.6g} s on average, the slowest {slowest:.6g} s"
        )
    for one in result.completion():
        if one.flows:
            click.echo(
                f"{one.size_class:>7}: {one.flows:,} flows began in the window, {one.cut_off:,} cut off; "
                f"slowdown {one.mean_slowdown:.2f}, median {one.median_slowdown:.2f}, 99th {one.p99_slowdown:.2f}"
            )
    return result
