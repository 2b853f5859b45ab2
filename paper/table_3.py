"""Table 3: iterations of Simulated Annealing against the size of the network.

The paper leaves three things open, and each changes the table: the rates that flows get on good paths (the model of
TCP), how often flows are placed, and when "final" is. So everything is computed under both engines, with several
periods, and over both the whole measuring window and its end. Every share is also given as a share of the control's
with the same seed, so that the draw of the receivers cancels out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedera.options import field_options, seeds_option
from paper.scale import engines_option, numbers
from paper.style import ENGINE_LABELS, broken, clean, heading, new_figure, saved
from paper.suite import ports_for
from plots.style import INK, MUTED, house_style
from results.output import Compared, comparison
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


@dataclass(frozen=True)
class Cell:
    """One cell: shares of all hosts' links, percent, over seeds.

    ``iterations``: of annealing, else None. ``published_percent``: the table's. ``final_percent``: over the last 5 s
    of the window. ``of_control_percent``: of the non-blocking network's share with the same seed. A standard
    deviation (``sd``) is over the seeds, 0 for one seed.
    """

    engine: str
    hosts: int
    scheme: str
    interval_s: float
    iterations: int | None
    seeds: int
    published_percent: float | None
    percent: float
    sd_percent: float
    lowest_percent: float
    highest_percent: float
    final_percent: float
    published_of_control_percent: float | None
    of_control_percent: float
    of_control_sd_percent: float
    final_of_control_percent: float


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
) -> list[Cell]:
    """Simulate random receivers on networks of ``sizes`` hosts. ValueError if no fat-tree has that many."""
    cases = []
    for engine in engines:
        for size in sizes:
            control = Config(
                "nonblocking",
                "random",
                ports_for(size),
                seconds,
                interval_s=PERIOD_S,
                iterations=1,
                flows_per_host=flows_per_host,
                engine=engine,
                tick_s=tick_s,
            )
            cases += [control, replace(control, scheme="hedera-clos")]  # whose period hardly matters
            for period in intervals:
                within = [count for count in counts if count <= MAX_WORK * period]
                annealed = replace(control, scheme="hedera-sa", interval_s=period)
                cases += [replace(annealed, iterations=count) for count in within]
    configs = [replace(case, seed=seed) for seed in range(1, seeds + 1) for case in cases]
    by_cost = sorted(configs, key=_cost, reverse=True)
    found = dict(zip(by_cost, run(shares, by_cost), strict=True))
    cells, control_shares = [], np.empty(0)
    for case in cases:
        ours = np.array([found[replace(case, seed=seed)] for seed in range(1, seeds + 1)])
        if case.scheme == "nonblocking":
            control_shares = ours
        cells.append(_cell(case, ours, control_shares))
    return cells


def _cost(config: Config) -> tuple[int, float]:
    return config.k, config.iterations / config.interval_s


def _cell(case: Config, ours: Float64, control: Float64) -> Cell:
    """``ours`` and ``control``: (seeds, 2), window and end of it."""
    hosts, annealed = case.tree.num_hosts, case.scheme == "hedera-sa"
    count = case.iterations if annealed else None
    published = None if case.scheme == "hedera-clos" else TABLE_3.get((hosts, count))
    whole, ratio = TABLE_3.get((hosts, None)), 100 * ours / control
    (percent, final), (of_control, final_of_control) = ours.mean(axis=0), ratio.mean(axis=0)
    return Cell(
        case.engine,
        hosts,
        case.scheme,
        case.interval_s,
        count,
        len(ours),
        published,
        float(percent),
        _sd(ours[:, 0]),
        float(ours[:, 0].min()),
        float(ours[:, 0].max()),
        float(final),
        100 * published / whole if published and whole else None,
        float(of_control),
        _sd(ratio[:, 0]),
        float(final_of_control),
    )


def _sd(values: Float64) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def draw(rows: Sequence[Cell], subtitle: str, path: Path) -> Path:
    """Share of the control against iterations, a panel per engine, a colour per size, the paper's as crosses."""
    shades = ("#009e73", "#0072b2", "#d55e00")
    lines = ("o-", "s--", "^:")
    engines = list(dict.fromkeys(row.engine for row in rows))
    annealed = [row for row in rows if row.iterations is not None]
    sizes = list(dict.fromkeys(row.hosts for row in rows))
    periods = list(dict.fromkeys(row.interval_s for row in annealed))
    with house_style():
        figure = new_figure(5.2 * len(engines), 4.6)
        grid = figure.subplots(1, len(engines), sharey=True, squeeze=False)[0]
        for axes, engine in zip(grid, engines, strict=True):
            for shade, hosts in zip(shades, sizes, strict=False):
                for line, period in zip(lines, periods, strict=False):
                    ours = [
                        row for row in annealed if (row.engine, row.hosts, row.interval_s) == (engine, hosts, period)
                    ]
                    x, y = [row.iterations for row in ours], [row.of_control_percent for row in ours]
                    axes.plot(x, y, line, ms=4, lw=1.3, color=shade)
                paper = {row.iterations: row.published_of_control_percent for row in annealed if row.hosts == hosts}
                known = {count: share for count, share in paper.items() if share is not None}
                axes.plot(list(known), list(known.values()), "x", color=shade, ms=6, mew=1.4)
                best = [
                    row.of_control_percent
                    for row in rows
                    if (row.engine, row.hosts, row.scheme) == (engine, hosts, "hedera-clos")
                ]
                axes.axhline(best[0], color=shade, lw=0.8, ls=(0, (1, 3)))
            axes.set_xscale("log")
            ticks = [1000, 10_000, 100_000, 1_000_000]
            axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
            axes.minorticks_off()
            axes.set_xlabel("iterations in every round")
            axes.set_title(ENGINE_LABELS[engine])
            broken(axes)
            clean(axes)
        for shade, hosts in zip(shades, sizes, strict=False):
            grid[0].plot([], [], "-", color=shade, label=f"{hosts:,} hosts")
        for line, period in zip(lines, periods, strict=False):
            grid[0].plot([], [], line, ms=4, color=MUTED, label=f"every {period:g} s")
        grid[0].plot([], [], ls=(0, (1, 3)), color=INK, label="edge colouring")
        grid[0].plot([], [], "x", color=MUTED, ms=6, mew=1.4, label="paper")
        grid[0].set_ylabel("share of the non-blocking network's [%]")
        grid[0].legend(ncols=2, loc="lower right")
        heading(figure, f"Table 3: how many iterations are enough\n{subtitle}")
        return saved(figure, path)


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
    seeds = rows[0].seeds
    load = f"{flows_per_host} random receivers per host, " + (f"{seeds} seeds" if seeds > 1 else "one seed")
    files = [asked.csv("table3", rows), draw(rows, load, asked.png("table3"))]
    tables = [
        comparison(
            f"Table 3 under {engine}: share of {what}, {load}",
            [_compared(row, of_control) for row in rows if row.engine == engine],
            "%",
            digits=2,
        )
        for engine in engines
        for what, of_control in (("full bisection bandwidth", False), ("the non-blocking network's", True))
    ]
    asked.conclude(rows, tables, files)


def _compared(row: Cell, of_control: bool) -> Compared:
    """The paper's number is set beside ours of any period, because its own period is not published."""
    case = f"{row.hosts:,} hosts, non-blocking"
    if row.scheme != "nonblocking":
        how = f"{row.iterations:,} iterations" if row.iterations else "edge colouring"
        case = f"{row.hosts:,} hosts, every {row.interval_s:g} s, {how}"
    if of_control:
        paper, ours, sd = row.published_of_control_percent, row.of_control_percent, row.of_control_sd_percent
        final = row.final_of_control_percent
    else:
        paper, ours, sd, final = row.published_percent, row.percent, row.sd_percent, row.final_percent
    return Compared(case, paper, ours, f"sd {sd:.2f}; final {final:.2f}")
