"""Stock Mininet against ours, run by run in turns: ``python -m benchmarks.peers [--bw 5,10,25,100]`` (as root).

Both build the same k = 4 fat-tree with the same controller, traffic and rates; stock is what Mininet's documentation
shows (TCLink, one Open vSwitch). Both are judged by the same rules. Stock needs its hosts' offloads off where
Open vSwitch forwards in userspace, or no TCP segment arrives whole: ``--offloads`` leaves them on.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from harness.network.lock import sole_use
from harness.network.machine import choose_datapath, require_root, require_tools
from harness.run.experiment import failed_run, run_experiment
from harness.run.spec import RunSpec
from results.record import Run, decode
from results.temporary import temporary_folder

RUN_S = 300.0
"""Seconds a run on stock Mininet may take before it is given up."""


def say(sentence: str) -> None:
    """A line on standard error."""
    click.echo(sentence, err=True)


def ours(spec: RunSpec) -> Run:
    """A run as `hedera run` makes it."""
    with temporary_folder("peers") as folder:
        return run_experiment(spec, folder / "run")


def stock(spec: RunSpec, *, offloads: bool) -> Run:
    """The same on stock Mininet, in a network namespace of its own."""
    words = json.dumps(spec.as_json())
    with sole_use("stock Mininet, to compare", say), temporary_folder("peers") as folder:
        alone = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        given = [words, spec.datapath, "on" if offloads else "off", folder]
        command = [*alone, sys.executable, "-m", "benchmarks.stock_mininet", *given]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
        except subprocess.TimeoutExpired:
            return failed_run(spec, f"did not end within {RUN_S:g} s")
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return failed_run(spec, said[-1] if said else f"status {done.returncode}")
    return decode(done.stdout.splitlines()[-1].encode())


def median(found: Iterable[float | None]) -> float | None:
    """The median of what the runs have; None when none has it."""
    known = [number for number in found if number is not None]
    return statistics.median(known) if known else None


def shown(value: float | None, form: str = ".2f") -> str:
    """A number for the table."""
    return "-" if value is None else format(value, form)


@click.command()
@click.option("--bw", "rates", default="5,10,25,100", help="Link rates, Mb/s.", show_default=True)
@click.option("--mtu", "mtus", default="1500,9000", help="Packet sizes, bytes.", show_default=True)
@click.option("--scheme", default="hedera-sa", show_default=True)
@click.option("--traffic", default="stride:4", show_default=True)
@click.option("--seconds", default=12.0, show_default=True)
@click.option("--times", default=1, help="Runs of each, in turns.", show_default=True)
@click.option("--datapath", default="auto", show_default=True)
@click.option("--offloads", is_flag=True, help="Leave stock Mininet's offloads on.")
@click.option("--json", "as_json", is_flag=True, help="Rows as JSON on standard output.")
def main(
    rates: str,
    mtus: str,
    scheme: str,
    traffic: str,
    seconds: float,
    times: int,
    datapath: str,
    offloads: bool,
    as_json: bool,
) -> None:
    """Print a table: rate, packet, and for both: build, tear-down, share of capacity, packets lost, verdict."""
    require_root()
    require_tools()
    datapath = choose_datapath(datapath)
    makers = {"stock": lambda spec: stock(spec, offloads=offloads), "ours": ours}
    rows = []
    for mtu in map(int, mtus.split(",")):
        for rate in map(float, rates.split(",")):
            spec = RunSpec(
                scheme,
                traffic,
                seconds=seconds,
                link_mbps=rate,
                mtu=mtu,
                datapath=datapath,
                platform="os-ken",
            )
            results: dict[str, list[Run]] = {name: [] for name in makers}
            for _ in range(times):
                for name, make in makers.items():
                    run = make(spec)
                    results[name].append(run)
                    say(f"{rate:g} Mb/s, {mtu} bytes, {name}: {run.verdict} {'; '.join(run.reasons[:2])}")
            for name, made in results.items():
                rows.append(row(spec, name, made))
    if as_json:
        click.echo(json.dumps(rows))
        return
    table = Table("Mb/s", "MTU", "", "build s", "tear-down s", "of capacity", "lost outside queues", "valid", box=None)
    for one in rows:
        took = [shown(one["build_s"]), shown(one["teardown_s"])]
        seen = [shown(one["share"], ".1%"), shown(one["lost"], ".0f"), f"{one['valid']} of {one['runs']}"]
        table.add_row(f"{one['mbps']:g}", str(one["mtu"]), one["name"], *took, *seen)
    Console(width=110).print(table)
    for part in ("build_s", "teardown_s"):
        ratios = [a[part] / b[part] for a, b in zip(rows[::2], rows[1::2], strict=True) if a[part] and b[part]]
        if ratios:
            click.echo(f"{part}: stock takes {statistics.median(ratios):.1f} times as long (median of the rows)")


def row(spec: RunSpec, name: str, runs: list[Run]) -> dict[str, Any]:
    """Medians over the runs of one maker; ``share`` of capacity, packets ``lost`` outside every queue."""
    capacity = spec.capacity_mbps
    return {
        "mbps": spec.link_mbps,
        "mtu": spec.mtu,
        "name": name,
        "build_s": median(run.timing.ready_s or run.timing.build_s for run in runs),
        "teardown_s": median(run.timing.teardown_s for run in runs),
        "share": median(run.bisection_mbps / capacity for run in runs if run.bisection_mbps is not None),
        "lost": median(sum(run.lost_packets.values()) for run in runs if run.rates.t),
        "valid": sum(run.valid for run in runs),
        "runs": len(runs),
    }


if __name__ == "__main__":
    main()
