"""The command `hedera explain-gff`: which Global First Fit the paper's simulator may have used.

For the matrices of Figure 9, the paper's simulator agrees with ours for the control, Simulated Annealing and ECMP,
but not for Global First Fit. By section 4.3 it should lose nothing where theirs does (stride4: 12,533 Mb/s for any
order of the flows, but theirs has 11,064). Two readings of the text are tried, alone and together, and nothing is
fitted. First, Figure 5 adds up ``f.rate``, which may be the measured rate instead of the estimated demand, so that
flows that collide look small. Second, the paper gives neither the order of the flows nor the first path of a search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from hedera.options import seeds_option
from paper.style import clean, heading, new_figure, saved
from plots.style import INVALID, MUTED, colour, house_style
from results.output import Compared, comparison, plain_table
from results.published import FIGURE_9_SIMULATED
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config

if TYPE_CHECKING:
    from rich.table import Table

READINGS: Mapping[str, tuple[bool, bool]] = {
    "as read": (False, False),
    "random order": (False, True),
    "measured rates": (True, False),
    "measured rates, random order": (True, True),
}
"""Whether flows are placed by their measured rates, and whether in a random order from random paths."""


@dataclass(frozen=True)
class Prediction:
    """One matrix under one reading, over seeds. ``deviations``: (published - mean) / sd, None where sd is below 1."""

    reading: str
    matrix: str
    published_mbps: float
    mean_mbps: float
    sd_mbps: float
    lowest_mbps: float
    highest_mbps: float
    deviations: float | None


@dataclass(frozen=True)
class Reading:
    """How one reading compares with the published results: means over matrices, and its largest deviation.

    ``bias_percent``, ``error_percent``: our means relative to the published numbers, with and without sign.
    ``inside``: matrices whose published number is between our lowest and highest, rounded to whole Mb/s.
    ``worst_deviations``: the largest absolute deviation, if there is a spread.
    """

    reading: str
    seeds: int
    matrices: int
    bias_percent: float
    error_percent: float
    inside: int
    worst_deviations: float | None
    worst_matrix: str


def compute(seeds: int, tick_s: float = 0.001, run: Runner = in_turn) -> list[Prediction]:
    """Simulate every matrix with every reading and seed."""
    from simulator.driver import bisection_mbps

    cells = [(reading, matrix) for reading in READINGS for matrix in FIGURE_9_SIMULATED]
    configs = [
        Config("hedera-gff", f"published:{matrix}", seed=seed, tick_s=tick_s, by_rate=by_rate, shuffled=shuffled)
        for (by_rate, shuffled), matrix in ((READINGS[reading], matrix) for reading, matrix in cells)
        for seed in range(1, seeds + 1)
    ]
    found = np.array(run(bisection_mbps, configs)).reshape(len(cells), seeds)
    return [_prediction(*cell, values) for cell, values in zip(cells, found, strict=True)]


def _prediction(reading: str, matrix: str, values: Sequence[float] | np.ndarray) -> Prediction:
    published = FIGURE_9_SIMULATED[matrix]["hedera-gff"]
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    deviations = (published - mean) / sd if sd >= 1 else None
    return Prediction(reading, matrix, published, mean, sd, float(np.min(values)), float(np.max(values)), deviations)


def summary(rows: Sequence[Prediction], seeds: int) -> list[Reading]:
    """One row for each reading."""
    told = []
    for reading in dict.fromkeys(row.reading for row in rows):
        own = [row for row in rows if row.reading == reading]
        gaps = [100 * (row.mean_mbps / row.published_mbps - 1) for row in own]
        inside = sum(round(row.lowest_mbps) <= row.published_mbps <= round(row.highest_mbps) for row in own)
        spread = {row.matrix: abs(row.deviations) for row in own if row.deviations is not None}
        worst = max(spread, key=spread.__getitem__) if spread else ""
        bias, error = float(np.mean(gaps)), float(np.mean(np.abs(gaps)))
        told.append(Reading(reading, seeds, len(own), bias, error, inside, spread.get(worst), worst))
    return told


def draw(rows: Sequence[Prediction], readings: Sequence[Reading], path: Path) -> Path:
    """Published crosses over our means and ranges, a panel per reading."""
    names = list(dict.fromkeys(row.matrix for row in rows))
    with house_style():
        figure = new_figure(11, 2.1 * len(readings) + 1.2)
        grid = figure.subplots(len(readings), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, reading in zip(grid, readings, strict=True):
            own = [row for row in rows if row.reading == reading.reading]
            x = np.arange(len(own))
            axes.bar(x, [row.mean_mbps / 1000 for row in own], 0.7, color=colour("hedera-gff"))
            low, high = [row.lowest_mbps / 1000 for row in own], [row.highest_mbps / 1000 for row in own]
            axes.vlines(x, low, high, color=MUTED, lw=1.4)
            axes.plot(x, [row.published_mbps / 1000 for row in own], "x", color=INVALID, ms=7, mew=1.8)
            axes.set_title(
                f"{reading.reading}: {reading.bias_percent:+.1f} % on average, "
                f"{reading.inside} of {reading.matrices} published results within the range"
            )
            axes.set_ylim(0, 14)
            axes.set_ylabel("Gb/s")
            clean(axes)
        grid[-1].set_xticks(x, names, rotation=40, ha="right", rotation_mode="anchor")
        grid[-1].set_xlim(-0.6, len(names) - 0.4)
        note = f"bars: mean of {readings[0].seeds} seeds; lines: lowest to highest; crosses: the paper's simulator"
        figure.supxlabel(note, fontsize=8.5, color=MUTED)
        heading(figure, "What did Global First Fit do in the paper's simulator?")
        return saved(figure, path)


def _readings_table(readings: Sequence[Reading]) -> Table:
    title = "The paper's simulator with Global First Fit, against readings of section 4.3"
    columns = ("reading", "seeds", "bias", "mean error", "inside our range", "furthest off")
    made = plain_table(title, *columns)
    for one in readings:
        far = "" if one.worst_deviations is None else f"{one.worst_deviations:.1f} sd ({one.worst_matrix})"
        bias, error = f"{one.bias_percent:+.1f} %", f"{one.error_percent:.1f} %"
        made.add_row(one.reading, str(one.seeds), bias, error, f"{one.inside} of {one.matrices}", far)
    return made


@click.command("explain-gff")
@seeds_option(30)
@click.option("--tick", "tick_s", default=0.001, show_default=True, help="Length of a tick, s.")
@computed
def command(asked: Computing, seeds: int, tick_s: float) -> None:
    """Find which variant of Global First Fit fits the paper's simulator.

    Compares its results for the traffic of Figure 9 with ours, with flows placed by estimated demands (section 4.2)
    or by measured rates, in table order or in random order. `hedera simulate --by-rate --shuffled` makes one such
    run.
    """
    rows = compute(seeds, tick_s, asked.runner("Predicting"))
    readings = summary(rows, seeds)
    files = [
        asked.csv("explain_gff", rows),
        asked.csv("explain_gff_readings", readings),
        draw(rows, readings, asked.png("explain_gff")),
    ]
    best = min(readings, key=lambda reading: reading.error_percent)
    compared = [
        Compared(
            row.matrix,
            row.published_mbps,
            row.mean_mbps,
            f"{row.lowest_mbps:,.0f} to {row.highest_mbps:,.0f}"
            + ("" if row.deviations is None else f", paper's at {row.deviations:+.1f} sd"),
        )
        for row in rows
        if row.reading == best.reading
    ]
    title = f"Closest: {best.reading}, mean of {seeds} seeds"
    told = [_readings_table(readings), comparison(title, compared, "Mb/s", digits=0)]
    asked.conclude(readings, told, files)
