"""Figure 3: what hash collisions cost, against flows per host."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from hedera.options import seeds_option
from paper.study import Row, column, grouped, picture, table
from plots.style import INK
from results.published import FIGURE_3
from results.tasks import Computing, Runner, computed, in_turn
from topos.fattree import FatTree

COUNTS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
_STYLES = {
    "worst link": ("#0072b2", "o", "a flow runs at its worst link's share"),
    "max-min": ("#e69f00", "s", "max-min fair rates"),
}


def compute(tree: FatTree, max_flows: int, seeds: int, run: Runner = in_turn) -> list[Row]:
    """The share of all hosts' bandwidth lost to collisions under each model of `paper.collisions`, over seeds."""
    from paper import collisions

    tasks = [
        (tree, flows, seed, model)
        for flows in COUNTS
        for seed in range(1, seeds + 1)
        for model in collisions.MODELS
        if flows <= max_flows and (model != "max-min" or tree.num_hosts * flows <= collisions.MAX_MIN_FLOWS)
    ]
    found: dict[tuple[str, int], list[float]] = {}
    for (_, flows, _, model), value in zip(tasks, run(collisions.loss, tasks), strict=True):
        found.setdefault((model, flows), []).append(100 * value)
    return [
        {
            "model": model, "flows_per_host": flows, "loss_percent": float(np.mean(lost)),
            "lowest_percent": min(lost), "highest_percent": max(lost), "published_percent": FIGURE_3.get(flows),
        }
        for (model, flows), lost in found.items()
    ]  # fmt: skip


def draw(rows: Sequence[Row], tree: FatTree, path: Path) -> Path:
    """A line per model, its range over seeds, and the two numbers of the paper's text."""
    subtitle = f"{tree.num_hosts:,} hosts (k = {tree.k}), random receivers, every flow on a path of its own hash"
    most = max(row["flows_per_host"] for row in rows)
    with picture(path, 6.8, 4.2, "Figure 3: what hash collisions cost", subtitle) as figure:
        axes = figure.subplots()
        for model, ours in grouped(rows, "model").items():
            shade, marker, label = _STYLES[model]
            names = ("flows_per_host", "loss_percent", "lowest_percent", "highest_percent")
            flows, lost, low, high = (column(ours, name) for name in names)
            axes.fill_between(flows, low, high, color=shade, alpha=0.2, lw=0)
            axes.plot(flows, lost, marker=marker, ms=4, color=shade, label=label)
        known = {n: loss for n, loss in FIGURE_3.items() if n <= most}
        axes.plot(list(known), list(known.values()), "x", color=INK, ms=9, mew=2, label="paper's text", zorder=5)
        for n, loss in known.items():
            axes.annotate(f"{loss} %", (n, loss), xytext=(9, 7), textcoords="offset points", fontsize=8.5)
        axes.set_xscale("log")
        ticks = [n for n in (1, 10, 100, 1000) if n <= most]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, 70)
        axes.set_xlabel("flows per host, at the same time")
        axes.set_ylabel("bisection bandwidth lost to collisions [%]")
        axes.legend()
    return path


@click.command()
@click.option("-k", "k", default=48, show_default=True, help="Ports per switch.")
@click.option("--max-flows", default=1000, type=click.IntRange(1), show_default=True, help="Per host.")
@seeds_option(5)
@computed
def command(asked: Computing, k: int, max_flows: int, seeds: int) -> None:
    """What hash collisions cost, against flows per host (27,648 hosts)."""
    tree = FatTree(k)
    rows = compute(tree, max_flows, seeds, asked.runner("Figure 3: Monte Carlo"))
    files = [asked.csv("figure3", rows), draw(rows, tree, asked.png("figure3"))]
    title = f"Figure 3: bisection bandwidth lost to hash collisions, k={k}"
    asked.conclude(rows, [table(title, rows)], files)
