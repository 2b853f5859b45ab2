"""Table 3: iterations of Simulated Annealing against the size of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from commands.output import Compared, comparison, conclude, write_csv
from commands.shared import Run, in_turn, in_words, json_option, output, parallel, runner, seeds_option
from paper.style import clean, heading, new_figure, saved
from paper.suite import ports_for
from plots.style import MUTED, house_style
from results.published import TABLE_3
from simulator.config import Config


@dataclass(frozen=True)
class Cell:
    """One cell: the share of all hosts' links, over seeds. ``iterations`` is None for the non-blocking network."""

    hosts: int
    iterations: int | None
    published_percent: float | None
    percent: float
    lowest_percent: float
    highest_percent: float


def compute(
    sizes: Sequence[int],
    counts: Sequence[int],
    *,
    flows_per_host: int = 3,
    seconds: float = 60.0,
    seeds: int = 1,
    tick_s: float = 0.01,
    run: Run = in_turn,
) -> list[Cell]:
    """Simulate random receivers on networks of ``sizes`` hosts. ValueError when no fat-tree has as many."""
    from simulator.driver import bisection_mbps

    configs = [
        Config(
            scheme,
            "random",
            ports_for(size),
            seconds,
            seed,
            tick_s=tick_s,
            iterations=count,
            flows_per_host=flows_per_host,
        )
        for size in sizes
        for scheme, count in [("nonblocking", 1), *(("hedera-sa", count) for count in counts)]
        for seed in range(1, seeds + 1)
    ]
    by_cost = sorted(configs, key=lambda config: (config.k, config.iterations), reverse=True)
    found = dict(zip(by_cost, run(bisection_mbps, by_cost), strict=True))
    shares: dict[tuple[int, int | None], list[float]] = {}
    for config in configs:
        count = config.iterations if config.scheme == "hedera-sa" else None
        share = 100 * found[config] / config.capacity_mbps
        shares.setdefault((config.tree.num_hosts, count), []).append(share)
    return [
        Cell(size, count, TABLE_3.get((size, count)), float(np.mean(v)), min(v), max(v))
        for (size, count), v in shares.items()
    ]


def draw(rows: Sequence[Cell], subtitle: str, path: Path) -> Path:
    """Share against iterations, a line per size, the paper's as crosses."""
    shades = ("#009e73", "#0072b2", "#d55e00")
    with house_style():
        figure = new_figure(7.6, 4.4)
        axes = figure.subplots()
        for shade, hosts in zip(shades, dict.fromkeys(row.hosts for row in rows), strict=False):
            ours = [row for row in rows if row.hosts == hosts and row.iterations is not None]
            ideal = next(row for row in rows if row.hosts == hosts and row.iterations is None)
            counts, percent = [row.iterations for row in ours], [row.percent for row in ours]
            axes.plot(counts, percent, "o-", ms=4, color=shade, label=f"{hosts:,} hosts")  # type: ignore[arg-type]
            axes.axhline(ideal.percent, color=shade, lw=0.9, ls=":")
            for row in ours:
                if row.iterations is not None and row.published_percent is not None:
                    axes.plot(row.iterations, row.published_percent, "x", color=shade, ms=6, mew=1.4)
        axes.plot([], [], "o-", ms=4, color=MUTED, label="ours")
        axes.plot([], [], "x", color=MUTED, ms=6, mew=1.4, label="paper")
        axes.plot([], [], ":", color=MUTED, label="ours, non-blocking")
        axes.set_xscale("log")
        ticks = [1000, 10_000, 100_000, 1_000_000]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
        axes.set_xlabel("iterations of Simulated Annealing in every round")
        axes.set_ylabel("share of full bisection bandwidth [%]")
        axes.legend(ncols=2)
        clean(axes)
        heading(figure, "Table 3: how many iterations are enough", subtitle)
        return saved(figure, path)


@click.command()
@click.option("--hosts", default="16,1024,8192", show_default=True, help="Sizes of the network.")
@click.option("--iterations", default="1000,50000,100000,500000,1000000,1500000,2000000", show_default=True)
@click.option("--flows-per-host", default=3, show_default=True, help="Random receivers of every host.")
@click.option("--seconds", default=60.0, show_default=True, help="Simulated time of every run.")
@seeds_option(1)
@click.option("--tick", "tick_s", default=0.01, show_default=True, help="Length of a tick, seconds.")
@output
@json_option
@parallel
@in_words
def command(
    hosts: str, iterations: str, flows_per_host: int, seconds: float, seeds: int, tick_s: float, out: Path,
    as_json: bool, jobs: int | None, cluster: str | None,
) -> None:  # fmt: skip
    """Iterations of Simulated Annealing against the size of the network (random receivers)."""
    rows = compute(
        _integers("--hosts", hosts),
        _integers("--iterations", iterations),
        flows_per_host=flows_per_host,
        seconds=seconds,
        seeds=seeds,
        tick_s=tick_s,
        run=runner("Table 3", jobs, cluster),
    )
    load = f"{flows_per_host} random receivers per host"
    files = [write_csv(out / "table3.csv", rows), draw(rows, load, out / "table3.png")]
    compared = [
        Compared(
            f"{row.hosts:,} hosts, "
            + (f"{row.iterations:,} iterations" if row.iterations else "non-blocking"),
            row.published_percent,
            row.percent,
            f"{row.lowest_percent:.2f} to {row.highest_percent:.2f}" if seeds > 1 else "",
        )
        for row in rows
    ]
    title = f"Table 3: share of full bisection bandwidth, {load}"
    conclude(rows, [comparison(title, compared, "%", digits=2)], files, as_json)


def _integers(option: str, text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ValueError(f"{option} takes whole numbers above 0, separated by commas, not {text!r}")
    return numbers
