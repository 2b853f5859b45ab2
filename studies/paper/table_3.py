"""Table 3: iterations of Simulated Annealing against the size of the network.

The paper leaves three things open, and each changes the table: the rates that flows get on good paths (the model of
TCP), how often flows are placed, and when "final" is. So everything is computed under both engines, with several
periods, and over both the whole measuring window and its end. Every share is also given as a share of the control's
with the same seed, so that the draw of the receivers cancels out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np

from hedera.options import field_options, seeds_option
from record.published import TABLE_3
from record.tasks import Computing, Runner, computed, in_turn
from simulator.config import ENGINES, Config
from studies.study import Row, engines_option, grouped, numbers, over_seeds, ports_for, table
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
    rows, beside = [], np.empty(0)
    for case, values in zip(cases, found, strict=True):
        beside = np.array(values) if case.scheme == "nonblocking" else beside
        rows.append(_row(case, np.array(values), beside))
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
def command(asked: Computing, hosts: str, iterations: str, intervals: str, **fields: Any) -> None:
    """Simulate iterations of Simulated Annealing against the size of the network (random receivers).

    Cells with more than 400,000 iterations in a simulated second are left out.
    """
    rows = compute(
        numbers("--hosts", hosts, int),
        numbers("--iterations", iterations, int),
        intervals=numbers("--intervals", intervals, float),
        run=asked.runner("Table 3"),
        **fields,
    )
    seeds = rows[0]["seeds"]
    load = f"{fields['flows_per_host']} random receivers per host, " + (f"{seeds} seeds" if seeds > 1 else "one seed")
    tables = [
        table(f"Table 3 under {engine}: percent of full bisection bandwidth and of the control's, {load}", own)
        for engine, own in grouped(rows, "engine").items()
    ]
    asked.conclude(rows, tables, [asked.csv("table3", rows)])
