"""How soon a new flow gets through, and how many a second do: placed by the controller, and by the switches.

    sudo .venv/bin/python -m benchmarks.flow_setup [--rates 20,60,200] [--bw 10] [--out FOLDER]

Hosts of the whole fat-tree send flows of 200 bytes to each other, so that links are empty and every flow is new. What
a flow's first packet waits shows in how long its connection takes: SYN and SYN-ACK are a first packet each.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import click
import numpy as np

from harness.jobs.experiment import run_experiment
from harness.run.spec import RunSpec
from results.output import plain_table, wide_console

BYTES = 200


def spec_of(new_flows: str, rate: float, bw: float, seconds: float, **options: str) -> RunSpec:
    """So many new flows a second, in the whole network."""
    hosts = RunSpec("ecmp", "stride:1").tree.num_hosts
    load = rate * BYTES * 8e-6 / (hosts * bw)
    return RunSpec(
        "ecmp",
        f"poisson:fixed:{BYTES},{load:.9g}",
        seconds=seconds,
        link_mbps=bw,
        scale_sizes=False,
        new_flows=new_flows,
        **options,  # type: ignore[arg-type]
    )


@click.command(help=__doc__)
@click.option("--rates", default="20,60,200", help="New flows a second.", show_default=True)
@click.option("--bw", default=10.0, show_default=True)
@click.option("--seconds", default=12.0, show_default=True)
@click.option("--platforms", default="os-ken,pox", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="Keep the runs here.")
def main(rates: str, bw: float, seconds: float, platforms: str, out: Path | None) -> None:
    """Measure, and print a table."""
    columns = ("placed by", "platform", "flows/s", "connected", "median ms", "p95 ms", "p99 ms")
    table = plain_table("New flows", *columns, "controller %", "packet-ins/s", left=2)
    with tempfile.TemporaryDirectory() as scratch:
        for rate in map(float, rates.split(",")):
            for platform in platforms.split(","):
                for new_flows in ("controller", "switch"):
                    spec = spec_of(new_flows, rate, bw, seconds, platform=platform)
                    folder = (out or Path(scratch)) / f"{new_flows}-{platform}-{rate:g}"
                    run = run_experiment(spec, folder)
                    took = np.array([f.connect_s for f in run.flows if f.connect_s is not None]) * 1e3
                    shown = [f"{value:.1f}" for value in np.percentile(took, [50, 95, 99])] if took.size else []
                    connected = f"{len(took)} of {len(run.flows)}"
                    costs = [run.costs.get(name, math.nan) for name in ("controller_percent", "packet_ins_per_s")]
                    told = [f"{cost:.1f}" for cost in costs]
                    table.add_row(new_flows, platform, f"{rate:g}", connected, *shown, *told)
                    click.echo(f"{new_flows} {platform} {rate:g}: {run.verdict} {run.reasons}", err=True)
    wide_console().print(table)


if __name__ == "__main__":
    main()
