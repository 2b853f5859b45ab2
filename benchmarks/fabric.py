"""What the emulated network takes for each k: ``python -m benchmarks.fabric [--bw MBPS] [K ...]`` (as root).

One real run per k: Hedera with Simulated Annealing on stride:(k/2)^2, where every flow goes to the next pod and all
of them fit. Memory is what the machine has less to give than before, at most, all processes and the kernel's
own included.
"""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from harness.run.experiment import run_experiment
from harness.run.spec import RunSpec
from harness.run.watch import Sampler
from results.output import plain_table
from results.temporary import temporary_folder
from topos.fattree import FatTree
from topos.wire import DEFAULT_MTU

BW = {4: 10.0, 6: 1.0, 8: 0.5}
"""Link rates that two cores carry, Mb/s."""


def available_mib() -> float:
    """Memory the kernel could still give away."""
    line = next(x for x in Path("/proc/meminfo").read_text().splitlines() if x.startswith("MemAvailable"))
    return int(line.split()[1]) / 1024


class MemoryWatch(Sampler):
    """The least memory that was available while the ``with`` block ran, against what was before, MiB."""

    period_s = 0.2

    def __init__(self) -> None:
        self.before = self.least = available_mib()

    def sample(self) -> None:
        """Look once."""
        self.least = min(self.least, available_mib())


@click.command()
@click.argument("sizes", nargs=-1, type=int, metavar="[K ...]")
@click.option("--bw", type=float, help="Link rate, Mb/s (default: 10, 1 and 0.5 for k = 4, 6 and 8).")
@click.option("--mtu", default=DEFAULT_MTU, help="Largest packet, bytes.", show_default=True)
@click.option("--seconds", default=30.0, help="How long the traffic lasts.", show_default=True)
def main(sizes: tuple[int, ...], bw: float | None, mtu: int, seconds: float) -> None:
    """Print a table: one real run per K (default: 4 6 8)."""
    columns = ("k", "hosts", "switches", "cables", "Mb/s", "build s", "ready s", "teardown s", "MiB")
    table = plain_table("", *columns, "of capacity", "of max-min", "verdict", left=0)
    for k in sizes or (4, 6, 8):
        tree = FatTree(k)
        rate = bw or BW.get(k, 1.0)
        spec = RunSpec("hedera-sa", f"stride:{k * k // 4}", seconds=seconds, link_mbps=rate, k=k, mtu=mtu)
        with temporary_folder("fabric") as folder, MemoryWatch() as memory:
            run = run_experiment(spec, folder / "run", lambda stage: click.echo(f"{stage} ...", err=True))
        parts = (run.timing.build_s, run.timing.ready_s, run.timing.teardown_s)
        times = ["-" if part is None else f"{part:.2f}" for part in parts]
        total, best = run.bisection_mbps, run.maxmin_mbps
        shares = [f"{total / of:.1%}" if total and of else "-" for of in (spec.capacity_mbps, best)]
        table.add_row(
            *map(str, (k, tree.num_hosts, tree.num_switches, len(list(tree.links())), f"{rate:g}")),
            *times,
            f"{memory.before - memory.least:.0f}",
            *shares,
            run.verdict,
        )
        for reason in run.reasons:
            click.echo(f"k={k}: {reason}", err=True)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
