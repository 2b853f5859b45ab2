"""Table 6: how long a round of the control loop takes (the model and the measuring are `paper.control_loop`)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from hedera.options import in_words, json_option, output, seeds_option
from paper.style import PUBLISHED, clean, heading, new_figure, saved
from paper.suite import ports_for
from plots.style import INK, house_style
from results.output import Compared, comparison, conclude, write_csv
from results.published import TABLE_6
from results.tasks import Computing, Runner, in_turn
from topos.fattree import FatTree


@dataclass(frozen=True)
class Loop:
    """One case: the paper's length of a round, the model with the paper's 100 ms, and with computing time measured
    here."""

    hosts: int
    flows_per_host: int
    published_ms: float
    model_with_100_ms: float
    messages_ms: float
    computed_ms: float
    loop_ms: float


def compute(seeds: int, run: Runner = in_turn, cases: Mapping[tuple[int, int], float] = TABLE_6) -> list[Loop]:
    """Measure every case; ``run`` must not run two at once, as they would slow each other down."""
    from paper import control_loop

    tasks = [(FatTree(ports_for(size)), flows, seed) for size, flows in cases for seed in range(1, seeds + 1)]
    spent_ms: dict[tuple[int, int], list[float]] = {}
    for (tree, flows, _), rounds in zip(tasks, run(control_loop.measure, tasks), strict=True):
        spent_ms.setdefault((tree.num_hosts, flows), []).extend(1000 * s for s in rounds)
    rows = []
    for (size, flows), rounds in spent_ms.items():
        messages = 1000 * control_loop.message_s(FatTree(ports_for(size)), flows)
        assumed, computed = 1000 * control_loop.ASSUMED_COMPUTATION_S, statistics.median(rounds)
        published = cases[size, flows]
        rows.append(Loop(size, flows, published, messages + assumed, messages, computed, messages + computed))
    return rows


def draw(rows: Sequence[Loop], path: Path) -> Path:
    """Bars of messages and computation."""
    labels = [f"{row.hosts:,} hosts,\n{row.flows_per_host} flow{'s' * (row.flows_per_host > 1)} each" for row in rows]
    x = np.arange(len(rows))
    messages = np.array([row.messages_ms for row in rows])
    computed = np.array([row.computed_ms for row in rows])
    with house_style():
        figure = new_figure(9.6, 4.4)
        axes = figure.subplots()
        axes.bar(x - 0.2, messages, 0.36, color="#56b4e9", label="messages (model)")
        axes.bar(x - 0.2, computed, 0.36, bottom=messages, color="#0072b2", label="computation, measured here")
        axes.bar(x + 0.2, messages, 0.36, color="#56b4e9", alpha=0.6)
        axes.bar(x + 0.2, 100.0, 0.36, bottom=messages, color=PUBLISHED, label="computation, 100 ms assumed")
        published = [row.published_ms for row in rows]
        axes.plot(x + 0.2, published, "_", color=INK, ms=19, mew=1.6, label="paper's Table 6")
        for n, height in enumerate(messages + computed):
            at = (n - 0.2, height)
            axes.annotate(f"{height:.1f}", at, xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8)
        axes.set_xticks(x, labels, fontsize=8)
        axes.set_ylabel("length of a round [ms]")
        axes.set_ylim(0, 175)
        axes.legend(ncols=2, loc="upper left")
        clean(axes)
        heading(figure, "Table 6: how long a round of the control loop takes")
        return saved(figure, path)


@click.command()
@seeds_option(1)
@output
@json_option
@in_words
def command(seeds: int, out: Path, as_json: bool) -> None:
    """Measure how long a round of the control loop takes."""
    rows = compute(seeds, Computing(jobs=1).runner("Table 6: measuring"))
    files = [write_csv(out / "table6.csv", rows), draw(rows, out / "table6.png")]
    compared = []
    for row in rows:
        case = f"{row.hosts:,} hosts, {row.flows_per_host} flows per host"
        parts = f"{row.messages_ms:.2f} messages + {row.computed_ms:.2f}"
        compared += [
            Compared(f"{case}: model, 100 ms assumed", row.published_ms, row.model_with_100_ms),
            Compared(f"{case}: computation measured", row.published_ms, row.loop_ms, parts),
        ]
    conclude(rows, [comparison("Table 6: length of the control loop", compared, "ms")], files, as_json)
