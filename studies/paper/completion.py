"""Load against FCT slowdown: completion times by size class under every scheme (`hedera completion`).

The paper has no such figure. This answers a question it leaves open in sections 6.3 and 6.4: how scheduling large
flows affects all others, and how short a scheduling period flows of a given size need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from msgspec import structs

from hedera.options import field_options
from hedera.schemes import CONTROL, label
from hedera.schemes import scheme as scheme_of
from plots.style import colour, logarithmic
from record.completion import CLASSES, by_class
from record.parts import Completion
from record.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config
from simulator.workload import bounded
from studies.study import Row, grouped, numbers, picture, schemes_option, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.driver import Simulation

SCHEMES = (CONTROL, "ecmp", "ecmp-dst", "random", "spanning-tree", "hedera-gff", "hedera-sa", "hedera-clos")
MAX_UPDATES = 1.5e9
"""Flow-updates in which flows only pile up, some minute of processor time: what takes more is not simulated."""


def plan(
    base: Config, sizes: str, loads: Sequence[float], schemes: Sequence[str], intervals_s: Sequence[float]
) -> list[Config]:
    """All simulations, the long ones first; all simulations of a load have the same flows.

    Static schemes need no period. If ``base`` has detection, Global First Fit that re-routes on detection is added.
    """
    tasks = []
    for load in sorted(loads, reverse=True):
        for name in schemes:
            here = replace(base, scheme=name, traffic=f"poisson:{sizes},{load:g}")
            periods = intervals_s if scheme_of(name).scheduler else intervals_s[:1]
            tasks += [replace(here, detect_s=0.0, interval_s=period) for period in periods]
            if name == "hedera-gff" and base.detect_s:
                tasks.append(here)
    return tasks


def measure(config: Config) -> list[Row]:
    """The size classes of one simulation; without times if its flows would only pile up."""
    from simulator.driver import Simulation

    simulation = Simulation(config)
    least, carried = _pile(simulation)
    if least * config.ticks / 2 > MAX_UPDATES:
        return _cells(_not_simulated(simulation), config, carried)
    result = simulation.run()
    return _cells(result.completion(), config, result.bisection_mbps / result.capacity_mbps)


def _pile(simulation: Simulation) -> tuple[float, float]:
    """An estimate from the links of first paths: how many flows would be active at the end, and which share of the
    hosts' links they fill. Where more is sent than fits, every flow gets its share of the link."""
    config, links = simulation.config, simulation.links
    size, real = simulation.work.size_bytes, links >= 0
    of_flow = np.broadcast_to(size[:, None], links.shape)[real]
    fits = config.link_mbps * 1e6 / 8 * config.seconds
    sent = np.bincount(links[real], of_flow) / fits
    worst = np.where(real, sent[links], 0.0).max(axis=1, initial=1.0)
    carried = float((size / worst).sum() / fits / config.tree.num_hosts)
    return float((1 - 1 / worst).sum()), carried


def _not_simulated(simulation: Simulation) -> list[Completion]:
    work, (begin, end) = simulation.work, simulation.config.window_s
    size = work.size_bytes[(work.start_s >= begin) & (work.start_s < end)] / simulation.config.size_scale
    nothing = np.ones(size.size)
    known = by_class(size, nothing, nothing, np.zeros(size.size, dtype=bool))
    return [Completion(size_class=one.size_class, flows=one.flows, cut_off=one.flows, known_share=0.0) for one in known]


def compute(tasks: Sequence[Config], run: Runner = in_turn) -> list[Row]:
    """Carry out a `plan`; rows by load, scheme and period."""
    return sorted((row for rows in run(measure, tasks) for row in rows), key=lambda row: float(row["load"]))


def _cells(classes: Sequence[Completion], config: Config, carried: float) -> list[Row]:
    """A row for each size class of a simulation (`record.parts.Completion`).

    ``interval_s``: None for a scheme that has no period. ``detect_s``: how often large flows were looked for, to be
    re-routed at once. ``carried``: the traffic received in the window, as a share of all hosts' links; if it is far
    below ``load``, flows arrive faster than the network serves them, and queue up without end. A load without any
    times was not simulated, because its flows would pile up.
    """
    schedules = scheme_of(config.scheme).scheduler is not None
    where = {
        "load": float(config.traffic.rpartition(",")[2]), "scheme": config.scheme,
        "interval_s": config.interval_s if schedules and not config.detect_s else None,
        "detect_s": config.detect_s or None, "carried": carried, "k": config.k,
    }  # fmt: skip
    return [{**structs.asdict(one), **where} for one in classes]


HIDDEN = 0.001
"""If at least this share of the flows was cut off, a point is marked as a lower bound."""
_BASELINE = "ecmp"
_LIKE_ECMP = ("ecmp-dst", "random")
_DRAWN = ("small", "medium", "large")
_SHOWN = {"mean_slowdown": "mean slowdown", "p99_slowdown": "99th percentile"}

_CURVE = ("scheme", "interval_s", "detect_s")
"""The columns that tell the lines in the picture apart."""


def overloaded(rows: Sequence[Row]) -> list[str]:
    missing = grouped((row for row in rows if row["flows"] and row["mean_slowdown"] is None), "scheme")
    return [
        f"{label(scheme)}: not simulated from a load of {min(row['load'] for row in own):g} on, as flows would only "
        "pile up"
        for scheme, own in missing.items()
    ]


def draw(rows: Sequence[Row], subtitle: str, path: Path) -> Path:
    """Small, medium and large flows: slowdowns, their mean and 99th percentile, above the mean's ratio to ECMP's.

    Only the longest and shortest of a scheme's periods are drawn, and no variants of ECMP. Hollow marks: many flows
    were cut off at the end of the run.
    """
    found = grouped((row for row in rows if row["mean_slowdown"] is not None), *_CURVE)
    periods = sorted({period for _, period, _ in found if period is not None}, reverse=True)
    ends = (None, *periods[:1], *periods[-1:])
    curves = [curve for curve in found if curve[1] in ends and curve[0] not in _LIKE_ECMP]
    note = f"hollow: at least, as more than {HIDDEN:.1%} of the flows were cut off"
    title = "\n".join([f"Load against slowdown: {subtitle}", note, *overloaded(rows), ""])
    alone = len({row["load"] for row in rows}) == 1  # points side by side, for there are no lines
    with picture(path, 12.6, 10.4, title) as figure:
        grid = figure.subplots(3, 3, sharex=True, sharey="row")
        for column, name in enumerate(_DRAWN):
            members = [row for row in rows if row["size_class"] == name and row["flows"]]
            lines = grouped(members, *_CURVE)
            baseline = {row["load"]: _value(row) for row in lines.get((_BASELINE, None, None), [])}
            for place, curve in enumerate(curves):
                (scheme, period, detects), ours = curve, lines.get(curve, [])
                loads = [place if alone else row["load"] for row in ours]
                line = "-" if period in (None, *periods[:1]) else ":"
                style: dict[str, Any] = {"ls": line, "color": colour(scheme), "lw": 2.6 if detects else 1.5}
                style |= {"marker": "D" if detects else "o", "ms": 6} if alone else {}
                ratios = [_value(row) / baseline.get(row["load"], math.nan) for row in ours]
                when = ", upon detection" if detects else "" if period is None else f", {period:g} s"
                style["label"] = label(scheme) + when
                for axes, statistic in zip(grid[:2, column], _SHOWN, strict=True):
                    _curve(axes, loads, ours, [_value(row, statistic) for row in ours], **style)
                _curve(grid[2, column], loads, ours, ratios, **style)
            grid[0, column].set_title(f"{name} flows, {CLASSES[name]}")
            grid[2, column].set_xlabel(f"load {rows[0]['load']:g}" if alone else "load")
            if alone:
                grid[2, column].set_xticks([])
        for row_of_axes, what in zip(grid, _SHOWN.values(), strict=False):
            row_of_axes[0].set_ylabel(what)
            if any(len(line.get_xdata()) for axes in row_of_axes for line in axes.lines):
                logarithmic(row_of_axes[0])
        grid[2, 0].set_ylim(bottom=0)
        grid[2, 0].set_ylabel("mean over ECMP's")
        by_label: dict[str, Any] = {}
        for axes in grid[0]:
            by_label |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=4, fontsize=8)
    return path


def _value(row: Row, statistic: str = "mean_slowdown") -> float:
    return math.nan if row[statistic] is None else float(row[statistic])


def _curve(axes: Axes, at: Sequence[float], rows: Sequence[Row], values: Sequence[float], **style: Any) -> None:
    axes.plot(at, values, **style)
    bounds = [(x, v) for x, r, v in zip(at, rows, values, strict=True) if r["cut_off"] > HIDDEN * r["flows"]]
    if bounds:
        axes.plot(*zip(*bounds, strict=True), style.get("marker", "o"), mfc="white", color=style["color"], ms=4)


@click.command()
@schemes_option(SCHEMES)
@click.option(
    "--sizes", default="web-search", show_default=True, help="web-search, data-mining, fixed:BYTES, FILE.csv ..."
)
@click.option(
    "--loads", default="0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9", show_default=True,
    help="Loads, as shares of the links' rate that hosts send.",
)  # fmt: skip
@click.option("--intervals", default="5,1,0.1", show_default=True, help="Hedera's scheduling periods, s.")
@field_options(
    Config,
    "k seconds seed tick_s engine iterations large_flows detect_s",
    k=16,
    seconds=7.5,
    tick_s=0.0001,
    detect_s=0.01,
)
@computed
def command(asked: Computing, schemes: tuple[str, ...], sizes: str, loads: str, intervals: str, **options: Any) -> None:
    """Simulate load against FCT slowdown, by size class, for flows that arrive and end."""
    intervals_s = numbers("--intervals", intervals, float)
    options["detect_s"] *= "hedera-gff" in schemes
    base = Config("ecmp", "random", interval_s=max(intervals_s), **options)
    tasks = plan(base, sizes, numbers("--loads", loads, float), schemes, intervals_s)
    for task in tasks:
        bounded(task.workload())  # a mistake in any of them is found before the first run
    name = f"completion_k{base.k}"
    rows = compute(tasks, asked.runner(f"completion, k={base.k}"))
    note = f"{base.tree.num_hosts:,} hosts, {sizes}, {base.seconds:g} s"
    files = [asked.csv(name, rows), draw(rows, note, asked.png(name))]
    names = ("scheme", "size_class", "load", "interval_s", "detect_s", "mean_slowdown", "p99_slowdown")
    brief = [{name: row[name] for name in (*names, "carried", "flows", "cut_off")} for row in rows]
    told = table(f"Slowdown of small, medium and large flows. {note}", brief)
    asked.conclude(rows, [told, *overloaded(rows)], files)
