"""The command `hedera explain-ecmp`: which static routing fits the published testbed "ECMP" bars of Figure 9.

Section 6.2 says they are a hash of the destination address. For every published matrix, each routing in turn sets
the flows' paths, and an engine computes their rates. One scale factor per routing, fitted by least squares, accounts
for what the simulator leaves out (headers, timeouts). The remaining errors are compared. The testbed's hash functions
are unknown, so hashed routings are tried with many seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np

from hedera.experiment import middle
from hedera.maxmin import max_min_rates
from hedera.options import Command
from hedera.routing import Ecmp, EcmpDestination, EdgePairHash, Routing, SpanningTree
from plots.style import MUTED
from record.published import FIGURE_9
from record.tasks import Computing, Runner, computed, in_turn
from simulator.aimd import AimdEngine
from studies.study import Row, column, grouped, picture, table
from topos.arrays import Float64
from topos.fattree import FatTree
from topos.links import num_links, path_links
from traffic.flows import SERVER_PORT, Matrix, source_ports
from traffic.patterns import published
from traffic.workload import standing_flows

TREE = FatTree(4)
LINK_MBPS = 1000.0
AIMD_TICKS = 6000

ROUTINGS: dict[str, Callable[[int], Routing]] = {
    "spanning tree": lambda seed: SpanningTree(TREE),
    "5-tuple hash": lambda seed: Ecmp(TREE, seed),
    "destination hash": lambda seed: EcmpDestination(TREE, seed),
    "edge-pair hash": lambda seed: EdgePairHash(TREE, seed),
}
"""The routings to try, each made from a seed for its hashes."""


Task = tuple[str, str, int, tuple[str, ...]]
"""A routing, an engine, a seed, and the names of matrices."""


def predict(task: Task) -> Float64:
    """Bisection bandwidth of every matrix, Mb/s, float64 (matrices,), without any fitting."""
    routing, engine, seed, matrices = task
    return np.array([_bisection_mbps(published(name), ROUTINGS[routing](seed), engine, seed) for name in matrices])


def _bisection_mbps(matrix: Matrix, routing: Routing, engine: str, seed: int) -> float:
    cores = routing.cores(matrix.src, matrix.dst, source_ports(matrix, seed), SERVER_PORT)
    links = path_links(TREE, matrix.src, matrix.dst, cores)
    if engine == "maxmin":
        return float(max_min_rates(links, np.full(num_links(TREE), LINK_MBPS)).sum())
    aimd = AimdEngine(standing_flows(matrix), links, num_links(TREE), tick_s=0.001, seed=seed)
    begin, end = middle(AIMD_TICKS)
    return float(aimd.advance(AIMD_TICKS)[round(begin) : round(end)].mean())


def fit(predicted: Float64, measured: Float64) -> tuple[float, float, float]:
    """The factor by which a prediction fits the measured values best (least squares), the mean relative error that
    remains, as a fraction of what was measured, and Pearson's correlation; nan where a prediction does not vary.

    Both have shape (matrices,).
    """
    scale = float(predicted @ measured / (predicted @ predicted))
    error = float(np.mean(np.abs(scale * predicted - measured) / measured))
    constant = np.ptp(predicted) == 0 or np.ptp(measured) == 0
    return scale, error, float("nan") if constant else float(np.corrcoef(predicted, measured)[0, 1])


def compute(seeds: int, aimd_seeds: int, run: Runner = in_turn) -> tuple[list[Row], list[Row]]:
    """Predict every matrix with every routing, engine and seed, and fit a scale to each routing and engine: a row for
    each fit of the mean over seeds, and one for each of its predictions."""
    names = tuple(FIGURE_9)
    measured = np.array([FIGURE_9[name]["ecmp"] for name in names])
    tasks = [
        (routing, engine, seed, names)
        for engine, count in (("maxmin", seeds), ("aimd", aimd_seeds))
        for routing in ROUTINGS
        for seed in range(1, (1 if routing == "spanning tree" and engine == "maxmin" else count) + 1)
    ]
    predicted: dict[tuple[str, str], list[Float64]] = {}
    for (routing, engine, *_), values in zip(tasks, run(predict, tasks), strict=True):
        predicted.setdefault((routing, engine), []).append(values)
    fits, predictions = [], []
    for (routing, engine), runs in predicted.items():
        mean = np.mean(runs, axis=0)
        scale, error, correlation = fit(mean, measured)
        which: Row = {"routing": routing, "engine": engine}
        errors = {
            "mean_relative_error_percent": 100 * error,
            "correlation": correlation,
            "best_single_seed_error_percent": 100 * min(fit(one, measured)[1] for one in runs),
        }
        fits.append({**which, "seeds": len(runs), "scale": scale, **errors})
        for name, paper, ours in zip(names, measured.tolist(), mean.tolist(), strict=True):
            rates = {"published_mbps": paper, "predicted_mbps": ours, "scaled_mbps": scale * ours}
            predictions.append({"matrix": name, **which, **rates})
    return fits, predictions


def draw(fits: Sequence[Row], predictions: Sequence[Row], path: Path) -> Path:
    """Published bars against every routing's scaled prediction, one panel per routing and engine."""
    routings, engines = list(grouped(fits, "routing")), list(grouped(fits, "engine"))
    title = 'Which routing do the published "ECMP" bars look like?'
    with picture(path, 11, 2.9 * len(engines) + 0.5, title) as figure:
        grid = figure.subplots(len(engines), len(routings), sharex=True, sharey=True, squeeze=False)
        for one, ours in zip(fits, grouped(predictions, "routing", "engine").values(), strict=True):
            axes = grid[engines.index(one["engine"])][routings.index(one["routing"])]
            axes.plot([0, 14], [0, 14], color=MUTED, lw=0.8)
            shade = "#d55e00" if one["routing"] == "spanning tree" else "#0072b2"
            x, y = column(ours, "scaled_mbps") / 1000, column(ours, "published_mbps") / 1000
            axes.plot(x, y, "o", ms=4.5, color=shade, alpha=0.8, mew=0)
            axes.set_title(f"{one['routing']}, {'max-min' if one['engine'] == 'maxmin' else 'AIMD'}")
            note = "error {mean_relative_error_percent:.1f} %\ncorrelation {correlation:.3f}\nscale {scale:.2f}"
            axes.text(0.05, 0.95, note.format(**one), transform=axes.transAxes, va="top", fontsize=8.5)
            axes.set(xticks=(0, 4, 8, 12), yticks=(0, 4, 8, 12), xlim=(0, 14), ylim=(0, 14), aspect="equal")
            axes.grid(axis="x")
        figure.supxlabel("predicted, scaled by one factor [Gb/s]", fontsize=9)
        figure.supylabel('published testbed "ECMP" [Gb/s]', fontsize=9)
    return path


def _seeds(option: str, default: int, engine: str) -> Command:
    text = f"Hash functions to try with the engine {engine}."
    return click.option(option, default=default, type=click.IntRange(1), show_default=True, help=text)


@click.command("explain-ecmp")
@_seeds("--seeds", 200, "maxmin")
@_seeds("--aimd-seeds", 20, "aimd")
@computed
def command(asked: Computing, seeds: int, aimd_seeds: int) -> None:
    """Find the static routing that the published testbed "ECMP" bars fit best."""
    fits, predictions = compute(seeds, aimd_seeds, asked.runner("Predicting"))
    best = min(fits, key=lambda one: float(one["mean_relative_error_percent"]))
    closest = grouped(predictions, "routing", "engine")[best["routing"], best["engine"]]
    told = [
        table("Published testbed ECMP bars against static routings", fits),
        table("The closest: predictions, and scaled by one factor", closest),
    ]
    files = [asked.csv("explain_ecmp", predictions), asked.csv("explain_ecmp_fits", fits)]
    asked.conclude(fits, told, [*files, draw(fits, predictions, asked.png("explain_ecmp"))])
