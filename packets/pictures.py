"""The pictures of the HULL figures: our numbers, and the published ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hedera.parameter import option_of
from packets.metrics import Cell
from packets.parameters import Parameters
from packets.quantity import written
from packets.schemes import SCHEMES
from packets.workload import FAN_OUTS
from plots.style import INK, MUTED, house_style, logarithmic, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from packets.sensitivity import Point

COLOURS = {"tcp": "#e69f00", "dctcp-30k": "#56b4e9", "dctcp-6k-pacer": "#009e73", "hull": "#0072b2"}
_MIN_US = 0.05
"""Lower latencies are drawn at this value: a logarithmic axis has no 0."""


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _heading(figure: Figure, title: str, note: str) -> None:
    figure.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
    below_title = 1 - 25 / (72 * figure.get_figheight())  # points
    figure.text(0.01, below_title, note, fontsize=8.5, color=MUTED, va="top")


def _curves(axes: Axes, cells: Sequence[Cell], metric: str, statistic: str, log: bool) -> None:
    """One line per scheme and variant over x; the seeds' range as a band, published numbers as open circles."""
    least = _MIN_US if log else -np.inf
    of_panel = [c for c in cells if (c.metric, c.statistic) == (metric, statistic)]
    for scheme, colour in COLOURS.items():
        own = [c for c in of_panel if c.scheme == scheme]
        for variant, line in zip(dict.fromkeys(c.variant for c in own), ("-o", "--."), strict=False):
            curve = [c for c in own if c.variant == variant]
            x, label = [c.x for c in curve], SCHEMES[scheme].label if line == "-o" else None
            y = np.maximum([c.ours for c in curve], least)
            axes.plot(x, y, line, color=colour, markersize=4, label=label)
            low, high = (np.maximum([getattr(c, end) for c in curve], least) for end in ("lowest", "highest"))
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        known = [c for c in own if c.published is not None]
        axes.plot(
            [c.x for c in known],
            np.maximum([c.published for c in known], least) if known else [],  # type: ignore[arg-type]
            "o",
            color=colour,
            markerfacecolor="none",
            markersize=8,
        )
    if log:
        logarithmic(axes)
    axes.grid(axis="y")
    axes.tick_params(length=0, which="both")
    axes.set_xticks(sorted({c.x for c in cells}))


def _note(cells: Sequence[Cell]) -> str:
    known = any(each.published is not None for each in cells)
    low = any(each.lowest < _MIN_US for each in cells if each.metric == "switch_latency_us")
    first, *second = dict.fromkeys(each.variant for each in cells)
    lines = f"Lines: {first}" + "".join(f", dashed: {each}" for each in second)
    return (
        f"{lines}; band: lowest and highest seed. "
        + ("Open circles: published." if known else "No numbers are published.")
        + (f" Latencies below {_MIN_US:g} us are drawn at {_MIN_US:g}." if low else "")
    )


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)


def figure_1(cells: Sequence[Cell], link_delay_us: float, path: Path) -> Path:
    """Queueing latency (logarithmic) and goodput against the number of flows."""
    with house_style():
        figure = _figure(10, 4.6)
        left, middle, right = figure.subplots(1, 3)
        _curves(left, cells, "switch_latency_us", "mean", log=True)
        left.set_title("\nqueueing latency, mean (us)")
        _curves(middle, cells, "switch_latency_us", "p99", log=True)
        middle.set_title("\nqueueing latency, p99 (us)")
        _curves(right, cells, "goodput_mbps", "mean", log=False)
        right.set_title("\ngoodput of all flows (Mb/s)")
        right.set_ylim(0, 1.05 * right.get_ylim()[1])
        for axes in (left, middle, right):
            axes.set_xlabel("flows")
        _legend(figure, left)
        _heading(figure, f"Static flows, links of {link_delay_us:g} us", _note(cells))
        return save(figure, path)[0]


def table_2(cells: Sequence[Cell], path: Path) -> Path:
    """Latency and completion times against load, means above and 99th percentiles below."""
    titles = {
        "switch_latency_us": "queueing latency (us)",
        "fct_900B_us": "completion of 900 bytes (us)",
        "fct_10MB_ms": "completion of 10 MB (ms)",
    }
    with house_style():
        figure = _figure(10, 6.8)
        grid = figure.subplots(2, 3)
        for row, statistic, name in zip(grid, ("mean", "p99"), ("mean", "p99"), strict=True):
            for axes, (metric, title) in zip(row, titles.items(), strict=True):
                _curves(axes, cells, metric, statistic, log=True)
                axes.set_title(f"\n{title}, {name}" if statistic == "mean" else f"{title}, {name}")
                axes.set_xlabel("load (%)")
        _legend(figure, grid[0][0])
        _heading(figure, "Dynamic flows: the report's Table II", _note(cells))
        return save(figure, path)[0]


def fan_out(cells: Sequence[Cell], workload: str, path: Path) -> Path:
    """Queries against background load."""
    deadline = FAN_OUTS[workload].deadline_ms
    wide = workload == "low-latency"  # its times span more than a decade
    panels = (
        ("query_completion_ms", "p99", "query completion, p99 (ms)", wide),
        ("mean_response_ms", "p99", "mean server response, p99 (ms)", wide),
        ("servers_in_time", "worst 1%", f"servers within {deadline:g} ms, worst 1 %", False),
        ("switch_latency_us", "p99", "queueing latency, p99 (us)", True),
    )
    title = "Web search: the report's Figure 4" if workload == "search" else "Low-latency search: the report's Figure 5"
    with house_style():
        figure = _figure(12, 4.4)
        row = figure.subplots(1, 4)
        for axes, (metric, statistic, name, log) in zip(row, panels, strict=True):
            _curves(axes, cells, metric, statistic, log)
            axes.set_title(f"\n{name}")
            axes.set_xlabel("background (Mb/s)")
            if not log:
                axes.set_ylim(bottom=0)
        row[2].set_ylim(0, 10.5)
        _legend(figure, row[0])
        _heading(figure, title, _note(cells))
        return save(figure, path)[0]


_SENSITIVITY = {
    "drain": "drain rate\n(share of the link)",
    "phantom_kb": "marking\nthreshold",
    "beta": "pacer: beta\n(1/s)",
    "associate": "pacer: p_a\n(probability)",
    "bucket_kb": "pacer:\ntoken bucket",
    "idle_ms": "idle time until a\nwindow starts anew",
}


def sensitivity(points: Sequence[Point], load: float, path: Path) -> Path:
    """A column for each parameter: latency at the port above, completion of large files below, by its value."""
    names = list(dict.fromkeys(point.parameter for point in points))
    with house_style():
        figure = _figure(11, 5.6)
        rows = figure.subplots(2, len(names), sharex="col", sharey="row")
        for above, below, name in zip(*rows, names, strict=True):
            varied = [point for point in points if point.parameter == name]
            _trade(above, [point.cell("switch_latency_us", "p99") for point in varied])
            _trade(below, [point.cell("fct_10MB_ms", "mean") for point in varied])
            logarithmic(above)
            above.set_title(f"\n{_SENSITIVITY[name]}", fontsize=9)
            below.set_xlabel(option_of(name), fontsize=8.5)
            values = [written(point.value, name) for point in varied]
            default = written(getattr(Parameters(), name), name)
            below.set_xticks(range(len(values)), ["never" if each == "0ms" else each for each in values])
            below.get_xticklabels()[values.index(default)].set_fontweight("bold")
        for axes in rows.flat:
            axes.grid(axis="y")
            axes.tick_params(length=0, which="both", labelsize=8)
            axes.margins(x=0.2)
        rows[0][0].set_ylabel("queueing latency, p99 (us)")
        rows[1][0].set_ylim(0, 1.05 * rows[1][0].get_ylim()[1])
        rows[1][0].set_ylabel("completion of 10 MB,\nmean (ms)")
        note = "Whiskers: lowest and highest seed. Open circles: published. Bold: the default."
        _heading(figure, f"HULL at {load:.0%} load, one parameter changed at a time", note)
        return save(figure, path)[0]


def _trade(axes: Axes, cells: Sequence[Cell]) -> None:
    """The numbers of one parameter's values, side by side, each with its range over the seeds."""
    x = range(len(cells))
    low, high = (np.maximum([getattr(c, end) for c in cells], _MIN_US) for end in ("lowest", "highest"))
    axes.vlines(x, low, high, COLOURS["hull"], lw=1, alpha=0.5)
    axes.plot(x, np.maximum([c.ours for c in cells], _MIN_US), "-o", color=COLOURS["hull"], markersize=4)
    known = [(n, c.published) for n, c in enumerate(cells) if c.published is not None]
    for n, published in known:
        axes.plot(n, published, "o", color=COLOURS["hull"], markerfacecolor="none", markersize=8)
