"""Table 3: iterations of Simulated Annealing against the size of the network.

The paper leaves three things open, and each changes the table: the rates that flows get on good paths (the model of
TCP), how often flows are placed, and when "final" is. So everything is computed under both engines, with several
periods, and over both the whole measuring window and its end. Every share is also given as a share of the control's
with the same seed, so that the draw of the receivers cancels out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedera.options import field_options, seeds_option
from paper.study import (
    ENGINE_LABELS,
    Row,
    column,
    engines_option,
    grouped,
    numbers,
    over_seeds,
    picture,
    ports_for,
    table,
)
from plots.style import INK, MUTED
from results.published import TABLE_3
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import ENGINES, Config
from topos.arrays import Float64

PERIOD_S = 5.0
"""The testbed's period, the shortest its switches allow (section 5.4); the simulator's is not published."""
FINAL_S = 5.0
"""The last seconds of the measuring window, which count as final."""
MAX_WORK = 400_000
"""Iterations in a simulated second beyond which a cell is left out: 2,000,000 in 5 s, the table's last row."""


def shares(config: Config) -> tuple[float, float]:
    """Percent of all hosts' links: the mean over the measuring window, and over the end of it."""
    from simulator.driver import window_mbps

    total = 100 * window_mbps(config) / config.capacity_mbps
    return float(total.mean()), float(total[-max(1, round(FINAL_S / config.tick_s)) :].mean())


def compute(
    sizes: Sequence[int],
    counts: Sequence[int],
    *,
    engines: Sequence[str] = ENGINES,
    intervals: Sequence[float] = (PERIOD_S,),
    flows_per_host: int = 3,
    seconds: float = 60.0,
    seeds: int = 1,
    tick_s: float = 0.01,
    run: Runner = in_turn,
) -> list[Row]:
    """Simulate random receivers on networks of ``sizes`` hosts. ValueError if no fat-tree has that many."""
    cases = []
    for engine in engines:
        for size in sizes:
            control = Config(
                "nonblocking", "random", ports_for(size), seconds, interval_s=PERIOD_S, iterations=1,
                flows_per_host=flows_per_host, engine=engine, tick_s=tick_s,
            )  # fmt: skip
            cases += [control, replace(control, scheme="hedera-clos")]  # whose period hardly matters
            for period in intervals:
                within = [count for count in counts if count <= MAX_WORK * period]
                annealed = replace(control, scheme="hedera-sa", interval_s=period)
                cases += [replace(annealed, iterations=count) for count in within]
    found = over_seeds(run, shares, cases, seeds, cost=lambda case: (case.k, case.iterations / case.interval_s))
    rows, control_shares = [], np.empty(0)
    for case, values in zip(cases, found, strict=True):
        ours = np.array(values)
        if case.scheme == "nonblocking":
            control_shares = ours
        rows.append(_row(case, ours, control_shares))
    return rows


def _row(case: Config, ours: Float64, control: Float64) -> Row:
    """One cell of the table: percent of all hosts' links, and of the non-blocking network's share with the same seed.
    ``ours`` and ``control``: (seeds, 2), window and end of it. ``iterations``: None without annealing."""
    hosts, count = case.tree.num_hosts, case.iterations if case.scheme == "hedera-sa" else None
    published = None if case.scheme == "hedera-clos" else TABLE_3.get((hosts, count))
    whole, ratio = TABLE_3.get((hosts, None)), 100 * ours / control
    (percent, final), (of_control, final_of_control) = ours.mean(axis=0), ratio.mean(axis=0)
    return {
        "engine": case.engine, "hosts": hosts, "scheme": case.scheme, "interval_s": case.interval_s,
        "iterations": count, "seeds": len(ours), "published_percent": published,
        "percent": float(percent), "sd_percent": _sd(ours[:, 0]), "lowest_percent": float(ours[:, 0].min()),
        "highest_percent": float(ours[:, 0].max()), "final_percent": float(final),
        "published_of_control_percent": 100 * published / whole if published and whole else None,
        "of_control_percent": float(of_control), "of_control_sd_percent": _sd(ratio[:, 0]),
        "final_of_control_percent": float(final_of_control),
    }  # fmt: skip


def _sd(values: Float64) -> float:
    """Over seeds; 0 for one."""
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def draw(rows: Sequence[Row], subtitle: str, path: Path) -> Path:
    """Share of the control against iterations, a panel per engine, a colour per size, the paper's as crosses."""
    engines = grouped(rows, "engine")
    annealed = [row for row in rows if row["iterations"] is not None]
    shades = dict(zip(grouped(rows, "hosts"), ("#009e73", "#0072b2", "#d55e00"), strict=False))
    lines = dict(zip(grouped(annealed, "interval_s"), ("o-", "s--", "^:"), strict=False))
    title = f"Table 3: how many iterations are enough\n{subtitle}"
    with picture(path, 5.2 * len(engines), 4.6, title) as figure:
        grid = figure.subplots(1, len(engines), sharey=True, squeeze=False)[0]
        for axes, (engine, own) in zip(grid, engines.items(), strict=True):
            for (hosts, scheme, period), cells in grouped(own, "hosts", "scheme", "interval_s").items():
                if hosts not in shades or scheme == "nonblocking":
                    continue
                x, y = [row["iterations"] for row in cells], column(cells, "of_control_percent")
                if scheme == "hedera-clos":
                    axes.axhline(y[0], color=shades[hosts], lw=0.8, ls=(0, (1, 3)))
                elif period in lines:
                    axes.plot(x, y, lines[period], ms=4, lw=1.3, color=shades[hosts])
                known = {row["iterations"]: row["published_of_control_percent"] for row in cells}
                known = {count: share for count, share in known.items() if count and share is not None}
                axes.plot(list(known), list(known.values()), "x", color=shades[hosts], ms=6, mew=1.4)
            axes.set_xscale("log")
            ticks = [1000, 10_000, 100_000, 1_000_000]
            axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
            axes.minorticks_off()
            axes.set_xlabel("iterations in every round")
            axes.set_title(ENGINE_LABELS[engine])
        for hosts, shade in shades.items():
            grid[0].plot([], [], "-", color=shade, label=f"{hosts:,} hosts")
        for period, line in lines.items():
            grid[0].plot([], [], line, ms=4, color=MUTED, label=f"every {period:g} s")
        grid[0].plot([], [], ls=(0, (1, 3)), color=INK, label="edge colouring")
        grid[0].plot([], [], "x", color=MUTED, ms=6, mew=1.4, label="paper")
        grid[0].set_ylabel("share of the non-blocking network's [%]")
        grid[0].legend(ncols=2, loc="lower right")
    return path


@click.command()
@click.option("--hosts", default="16,1024,8192", show_default=True, help="Sizes of the network.")
@click.option(
    "--iterations",
    default="1000,50000,100000,500000,1000000,1500000,2000000",
    show_default=True,
    help="Iterations of Simulated Annealing per round, comma-separated.",
)
@click.option("--intervals", default="5,1,0.1", show_default=True, help="Hedera's scheduling periods, s.")
@field_options(Config, "flows_per_host seconds tick_s", flows_per_host=3, tick_s=0.01)
@engines_option
@seeds_option(3)
@computed
def command(
    asked: Computing,
    hosts: str,
    iterations: str,
    intervals: str,
    engines: tuple[str, ...],
    flows_per_host: int,
    **fields: Any,
) -> None:
    """Simulate iterations of Simulated Annealing against the size of the network (random receivers).

    Cells with more than 400,000 iterations in a simulated second are left out.
    """
    rows = compute(
        numbers("--hosts", hosts, int),
        numbers("--iterations", iterations, int),
        engines=engines,
        intervals=numbers("--intervals", intervals, float),
        flows_per_host=flows_per_host,
        run=asked.runner("Table 3"),
        **fields,
    )
    seeds = rows[0]["seeds"]
    load = f"{flows_per_host} random receivers per host, " + (f"{seeds} seeds" if seeds > 1 else "one seed")
    tables = [
        table(f"Table 3 under {engine}: percent of full bisection bandwidth and of the control's, {load}", own)
        for engine, own in grouped(rows, "engine").items()
    ]
    asked.conclude(rows, tables, [asked.csv("table3", rows), draw(rows, load, asked.png("table3"))])
