"""The command `hedera explain-ecmp`: which static routing the published testbed "ECMP" bars fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from paper.style import clean, heading, new_figure, saved
from plots.style import MUTED, house_style
from results.output import Compared, comparison, plain_table
from results.published import FIGURE_9
from results.tasks import Computing, Runner, computed, in_turn

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class RoutingFit:
    """How well one routing under one engine matches the 20 bars: the mean of its seeds, times ``scale``."""

    routing: str
    engine: str
    seeds: int
    scale: float
    mean_relative_error_percent: float
    correlation: float
    best_single_seed_error_percent: float


@dataclass(frozen=True)
class Prediction:
    """One matrix under one routing and engine: the mean of its seeds, and the same scaled."""

    matrix: str
    routing: str
    engine: str
    published_mbps: float
    predicted_mbps: float
    scaled_mbps: float


def compute(seeds: int, aimd_seeds: int, run: Runner = in_turn) -> tuple[list[RoutingFit], list[Prediction]]:
    """Predict every matrix with every routing, engine and seed, and fit a scale to each routing and engine."""
    from paper import explain

    names = tuple(FIGURE_9)
    measured = np.array([FIGURE_9[name]["ecmp"] for name in names])
    tasks = [
        explain.Task(routing, engine, seed, names)
        for engine, count in (("maxmin", seeds), ("aimd", aimd_seeds))
        for routing in explain.ROUTINGS
        for seed in range(1, (1 if routing == "spanning tree" and engine == "maxmin" else count) + 1)
    ]
    predicted: dict[tuple[str, str], list[NDArray[Any]]] = {}
    for task, values in zip(tasks, run(explain.predict, tasks), strict=True):
        predicted.setdefault((task.routing, task.engine), []).append(values)
    fits, predictions = [], []
    for (routing, engine), runs in predicted.items():
        mean = np.mean(runs, axis=0)
        fit, alone = explain.fit(mean, measured), [explain.fit(one, measured) for one in runs]
        best = 100 * min(one.error for one in alone)
        fits.append(RoutingFit(routing, engine, len(runs), fit.scale, 100 * fit.error, fit.correlation, best))
        predictions += [
            Prediction(name, routing, engine, paper, float(ours), float(scaled))
            for name, paper, ours, scaled in zip(names, measured.tolist(), mean, fit.scaled, strict=True)
        ]
    return fits, predictions


def draw(fits: Sequence[RoutingFit], predictions: Sequence[Prediction], path: Path) -> Path:
    """Published bars against every routing's scaled prediction, one panel per routing and engine."""
    routings = list(dict.fromkeys(fit.routing for fit in fits))
    engines = list(dict.fromkeys(fit.engine for fit in fits))
    with house_style():
        figure = new_figure(11, 2.9 * len(engines) + 0.5)
        grid = figure.subplots(len(engines), len(routings), sharex=True, sharey=True, squeeze=False)
        for fit in fits:
            axes = grid[engines.index(fit.engine)][routings.index(fit.routing)]
            axes.plot([0, 14], [0, 14], color=MUTED, lw=0.8)
            shade = "#d55e00" if fit.routing == "spanning tree" else "#0072b2"
            ours = [p for p in predictions if (p.routing, p.engine) == (fit.routing, fit.engine)]
            x, y = [p.scaled_mbps / 1000 for p in ours], [p.published_mbps / 1000 for p in ours]
            axes.plot(x, y, "o", ms=4.5, color=shade, alpha=0.8, mew=0)
            axes.set_title(f"{fit.routing}, {'max-min' if fit.engine == 'maxmin' else 'AIMD'}")
            note = (
                f"error {fit.mean_relative_error_percent:.1f} %\ncorrelation {fit.correlation:.3f}\n"
                f"scale {fit.scale:.2f}"
            )
            axes.text(0.05, 0.95, note, transform=axes.transAxes, va="top", fontsize=8.5)
            axes.set_xticks((0, 4, 8, 12))
            axes.set_yticks((0, 4, 8, 12))
            axes.set_xlim(0, 14)
            axes.set_ylim(0, 14)
            axes.set_aspect("equal")
            clean(axes, "both")
        figure.supxlabel("predicted, scaled by one factor [Gb/s]", fontsize=9)
        figure.supylabel('published testbed "ECMP" [Gb/s]', fontsize=9)
        heading(figure, 'Which routing do the published "ECMP" bars look like?')
        return saved(figure, path)


def _fits_table(fits: Sequence[RoutingFit]) -> Table:
    columns = (
        "routing",
        "engine",
        "seeds",
        "scale factor",
        "mean relative error",
        "correlation",
        "best seed",
    )
    made = plain_table("Published testbed ECMP bars against static routings", *columns, left=2)
    for fit in fits:
        made.add_row(
            fit.routing,
            fit.engine,
            str(fit.seeds),
            f"{fit.scale:.3f}",
            f"{fit.mean_relative_error_percent:.1f} %",
            f"{fit.correlation:.3f}",
            f"{fit.best_single_seed_error_percent:.1f} %",
        )
    return made


@click.command("explain-ecmp")
@click.option(
    "--seeds",
    default=200,
    type=click.IntRange(1),
    show_default=True,
    help="Hash functions to try with the engine maxmin.",
)
@click.option(
    "--aimd-seeds",
    default=20,
    type=click.IntRange(1),
    show_default=True,
    help="Hash functions to try with the engine aimd.",
)
@computed
def command(asked: Computing, seeds: int, aimd_seeds: int) -> None:
    """Find the static routing that the published testbed "ECMP" bars fit best."""
    fits, predictions = compute(seeds, aimd_seeds, asked.runner("Predicting"))
    files = [
        asked.csv("explain_ecmp", predictions),
        asked.csv("explain_ecmp_fits", fits),
        draw(fits, predictions, asked.png("explain_ecmp")),
    ]
    best = min(fits, key=lambda fit: fit.mean_relative_error_percent)
    compared = [
        Compared(p.matrix, p.published_mbps, p.scaled_mbps)
        for p in predictions
        if (p.routing, p.engine) == (best.routing, best.engine)
    ]
    title = (
        f"Closest: {best.routing} ({best.engine}), predictions scaled by {best.scale:.3f}, "
        f"{best.mean_relative_error_percent:.1f} % mean relative error, correlation {best.correlation:.3f}"
    )
    asked.conclude(fits, [_fits_table(fits), comparison(title, compared, "Mb/s", digits=0)], files)
