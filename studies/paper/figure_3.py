"""Figure 3: what hash collisions cost, against flows per host (section 2.2): a Monte Carlo over randomly hashed paths.

Every host sends equal shares of its link's rate to ``flows_per_host`` random other hosts at once, each flow
on a path by its own hash. "Each link is capped" can be read in two ways:

* `worst_link_loss`: a link whose flows want more than its rate cuts all of them by the same factor, and a
  flow runs at the factor of the worst link on its path. It needs no memory per flow, so 27 million flows are fine.
* `max_min_loss`: other flows may use what a cut flow leaves unused on its other links.

Only the links above the edge switches count: flows that meet at a receiver have not collided by hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from hedera.compiled import below, bits, choice_links, compiled
from hedera.maxmin import max_min_rates
from hedera.options import seeds_option
from plots.style import INK
from record.published import FIGURE_3
from record.tasks import Computing, Runner, computed, in_turn
from studies.study import Row, column, grouped, picture, table
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import NO_LINK, num_links, path_links

COUNTS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
_STYLES = {
    "worst link": ("#0072b2", "o", "a flow runs at its worst link's share"),
    "max-min": ("#e69f00", "s", "max-min fair rates"),
}
MAX_MIN_FLOWS = 3_000_000
"""Above this number of flows the max-min model is left out: it has every flow's path in memory."""


def loss(task: tuple[FatTree, int, int, str]) -> float:
    """The share of all hosts' bandwidth that is lost to collisions, from 0 to 1: of so many flows per host, drawn by
    a seed, under one of MODELS."""
    tree, flows_per_host, seed, model = task
    return MODELS[model](tree, flows_per_host, seed)


def worst_link_loss(tree: FatTree, flows_per_host: int, seed: int) -> float:
    """If a flow runs at its worst link's factor."""
    load = np.zeros(num_links(tree), dtype=np.int32)
    _add_loads(tree.half, flows_per_host, np.uint64(seed), load)
    factor = np.minimum(1.0, flows_per_host / np.maximum(load, 1))
    kept = _sum_of_worst(tree.half, flows_per_host, np.uint64(seed), factor)
    return float(1.0 - kept / (tree.num_hosts * flows_per_host))


def max_min_loss(tree: FatTree, flows_per_host: int, seed: int) -> float:
    """If the flows have max-min fair rates, with each host's sending link capped as well."""
    src, dst, core = random_flows(tree, flows_per_host, seed)
    links = path_links(tree, src, dst, core)
    links[:, 5] = NO_LINK
    rates = max_min_rates(links, np.ones(num_links(tree)))
    return float(1.0 - rates.sum() / tree.num_hosts)


def random_flows(tree: FatTree, flows_per_host: int, seed: int) -> tuple[Int32, Int32, Int32]:
    """The drawn flows: senders, receivers and cores, int32 of shape (hosts * flows_per_host,)."""
    flows = np.empty((tree.num_hosts * flows_per_host, 3), dtype=np.int32)
    _fill(tree.half, flows_per_host, np.uint64(seed), flows)
    return flows[:, 0], flows[:, 1], flows[:, 2]


MODELS = {"worst link": worst_link_loss, "max-min": max_min_loss}


@compiled
def _draw(half: int, src: int, flow: int, seed: np.uint64) -> tuple[int, int]:
    """The receiver and the core of a flow, from its number alone: both passes see the same flows."""
    hosts = 2 * half**3
    dst = below(hosts - 1, bits(seed, np.uint64(2 * flow)))
    core = below(half * half, bits(seed, np.uint64(2 * flow + 1)))
    return int(dst + (dst >= src)), int(core)


@compiled
def _fill(half: int, flows_per_host: int, seed: np.uint64, flows: Int32) -> None:
    for flow in range(len(flows)):
        src = flow // flows_per_host
        dst, core = _draw(half, src, flow, seed)
        flows[flow] = src, dst, core


@compiled
def _add_loads(half: int, flows_per_host: int, seed: np.uint64, load: Int32) -> None:
    for flow in range(2 * half**3 * flows_per_host):
        src = flow // flows_per_host
        dst, core = _draw(half, src, flow, seed)
        for link in choice_links(src, dst, core, half):
            if link != NO_LINK:
                load[link] += 1


@compiled
def _sum_of_worst(half: int, flows_per_host: int, seed: np.uint64, factor: Float64) -> float:
    kept = 0.0
    for flow in range(2 * half**3 * flows_per_host):
        src = flow // flows_per_host
        dst, core = _draw(half, src, flow, seed)
        worst = 1.0
        for link in choice_links(src, dst, core, half):
            if link != NO_LINK:
                worst = min(worst, factor[link])
        kept += worst
    return kept


def compute(tree: FatTree, max_flows: int, seeds: int, run: Runner = in_turn) -> list[Row]:
    """The share of all hosts' bandwidth lost to collisions under each of MODELS, over seeds."""
    tasks = [
        (tree, flows, seed, model)
        for flows in COUNTS
        for seed in range(1, seeds + 1)
        for model in MODELS
        if flows <= max_flows and (model != "max-min" or tree.num_hosts * flows <= MAX_MIN_FLOWS)
    ]
    found: dict[tuple[str, int], list[float]] = {}
    for (_, flows, _, model), value in zip(tasks, run(loss, tasks), strict=True):
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
