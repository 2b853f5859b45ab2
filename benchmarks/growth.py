"""How the cost grows with flows, hosts and iterations: ``python -m benchmarks.growth FILE``.

Draws three panels: demand estimation against flows for several sizes of network, annealing against flows
for several numbers of iterations, and annealing against iterations. The paper's figures are the crosses.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedera.demand import estimate_demands
from paper.table_4 import random_flows
from paper.table_5 import placement_input, timed_placement
from paper.timing import time_calls
from results.published import TABLE_4, TABLE_5
from topos.fattree import FatTree

SECONDS = 0.2  # per point
ITERATIONS = (100, 1000, 10_000)


def demand_ms(k: int, flows: int) -> float:
    hosts = FatTree(k).num_hosts
    return time_calls(partial(estimate_demands, *random_flows(hosts, flows), hosts), seconds=SECONDS).best_ms


def placement_ms(k: int, flows: int, iterations: int) -> float:
    tree, large, links = placement_input(k, flows)
    return timed_placement(tree, large, links, iterations, SECONDS)[0].best_ms


def draw(demand: Any, by_flows: Any, by_iterations: Any) -> None:
    """Fill the three axes."""
    sizes = [int(n) for n in np.geomspace(250, 512_000, 12)]
    for k, colour in ((16, "C0"), (32, "C1"), (48, "C2")):
        label = f"k={k}, {FatTree(k).num_hosts:,} hosts"
        demand.plot(sizes, [demand_ms(k, n) for n in sizes], colour, marker=".", label=label)
        paper = {n: ms for (of_k, n), ms in TABLE_4.items() if of_k == k}
        demand.plot(paper.keys(), paper.values(), colour, marker="x", linestyle="")
    demand.set(xlabel="large flows", title="Demand estimation")

    for iterations, colour in zip(ITERATIONS, ("C3", "C4", "C5"), strict=True):
        label = f"{iterations:,} iterations"
        times = [placement_ms(32, n, iterations) for n in sizes[:-2]]
        by_flows.plot(sizes[:-2], times, colour, marker=".", label=label)
        paper = {n: row[iterations] for (k, n), row in TABLE_5.items() if k == 32 and iterations in row}
        by_flows.plot(paper.keys(), paper.values(), colour, marker="x", linestyle="")
    by_flows.set(xlabel="large flows", title="Simulated Annealing, k=32")

    for (k, flows), colour in zip(TABLE_5, ("C0", "C6", "C1", "C7"), strict=True):
        counts = [int(n) for n in np.geomspace(10, 100_000, 9)]
        times = [placement_ms(k, flows, n) for n in counts]
        by_iterations.plot(counts, times, colour, marker=".", label=f"k={k}, {flows:,} flows")
        row = TABLE_5[k, flows]
        by_iterations.plot(row.keys(), row.values(), colour, marker="x", linestyle="")
    by_iterations.set(xlabel="iterations", title="Simulated Annealing")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def main(file: Path) -> None:
    """Measure, and write the picture to FILE (.svg, .png, ...)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.2), layout="constrained")
    axes = figure.subplots(1, 3)
    draw(*axes)
    for axis in axes:
        axis.set(xscale="log", yscale="log", ylabel="ms per call, one thread")
        axis.plot([], [], "k", marker="x", linestyle="", label="the paper")
        axis.grid(visible=True, which="major", alpha=0.3)
        axis.legend(frameon=False, fontsize=8)
    figure.savefig(file, dpi=110)
    click.echo(f"wrote {file}")


if __name__ == "__main__":
    main()
