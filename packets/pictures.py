"""The pictures of the HULL figures: our numbers, and the published ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from packets.metrics import Row
from packets.parameters import SCHEMES
from packets.suites import Suite
from packets.workload import FAN_OUTS
from plots.style import INK, MUTED, house_style, logarithmic, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_US = 0.05
"""Lower latencies are drawn at this value: a logarithmic axis has no 0."""


class Panel(NamedTuple):
    """What one part of a picture shows, against x."""

    metric: str
    statistic: str
    title: str
    logarithmic: bool = True


def _queries(workload: str) -> tuple[tuple[Panel, ...]]:
    wide = workload == "low-latency"  # its times span more than a decade
    deadline = FAN_OUTS[workload].deadline_ms
    return (
        (
            Panel("query_completion_ms", "p99", "query completion, p99 (ms)", wide),
            Panel("mean_response_ms", "p99", "mean server response, p99 (ms)", wide),
            Panel("servers_in_time", "worst 1%", f"servers within {deadline:g} ms, worst 1 %", logarithmic=False),
            Panel("switch_latency_us", "p99", "queueing latency, p99 (us)"),
        ),
    )


_STATIC = (
    Panel("switch_latency_us", "mean", "queueing latency, mean (us)"),
    Panel("switch_latency_us", "p99", "queueing latency, p99 (us)"),
    Panel("goodput_mbps", "mean", "goodput of all flows (Mb/s)", logarithmic=False),
)
_DYNAMIC = tuple(
    (
        Panel("switch_latency_us", statistic, f"queueing latency (us), {statistic}"),
        Panel("fct_900B_us", statistic, f"completion of 900 bytes (us), {statistic}"),
        Panel("fct_10MB_ms", statistic, f"completion of 10 MB (ms), {statistic}"),
    )
    for statistic in ("mean", "p99")
)
PICTURES = {
    "figure1": ("Static flows, links of {delay:g} us", (10.0, 4.6), "flows", (_STATIC,)),
    "table2": ("Dynamic flows: the report's Table II", (10.0, 6.8), "load (%)", _DYNAMIC),
    "figure4": ("Web search: the report's Figure 4", (12.0, 4.4), "background (Mb/s)", _queries("search")),
    "figure5": ("Low-latency search: the report's Figure 5", (12.0, 4.4), "background (Mb/s)", _queries("low-latency")),
}
"""Title, size in inches, x axis and rows of panels, by `packets.suites.STUDIES`."""


def compared(rows: Sequence[Row], key: str, suite: Suite, path: Path) -> Path:
    """Panels of one line per scheme and variant over x; the seeds' range as a band, published numbers as circles."""
    from matplotlib.figure import Figure

    title, size, x_label, panels = PICTURES[key]
    with house_style():
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(panels), len(panels[0]), squeeze=False)
        for axes, panel in zip(grid.flat, [panel for line in panels for panel in line], strict=True):
            _panel(axes, [r for r in rows if (r["metric"], r["statistic"]) == (panel.metric, panel.statistic)], panel)
            axes.set_title(f"\n{panel.title}" if panel in panels[0] else panel.title)
            axes.set_xlabel(x_label)
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        title = title.format(delay=suite.parameters.link_delay_us)
        figure.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
        below_title = 1 - 25 / (72 * size[1])  # points
        figure.text(0.01, below_title, _note(rows), fontsize=8.5, color=MUTED, va="top")
        return save(figure, path)[0]


def _panel(axes: Axes, rows: Sequence[Row], panel: Panel) -> None:
    column, least = next(iter(rows[0])), _MIN_US if panel.logarithmic else -np.inf
    for scheme in SCHEMES.values():
        own = [row for row in rows if row["scheme"] == scheme.name]
        for variant, line in zip(dict.fromkeys(row["variant"] for row in own), ("-o", "--."), strict=False):
            curve = [row for row in own if row["variant"] == variant]
            x, label = [row[column] for row in curve], scheme.label if line == "-o" else None
            y, low, high = (np.maximum([row[end] for row in curve], least) for end in ("ours", "lowest", "highest"))
            axes.plot(x, y, line, color=scheme.colour, markersize=4, label=label)
            axes.fill_between(x, low, high, color=scheme.colour, alpha=0.15, linewidth=0)
        known = {row[column]: max(row["published"], least) for row in own if row["published"] is not None}
        axes.plot(list(known), list(known.values()), "o", color=scheme.colour, mfc="none", markersize=8)
    if panel.logarithmic:
        logarithmic(axes)
    else:
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    axes.grid(axis="y")
    axes.tick_params(length=0, which="both")
    axes.set_xticks(sorted({row[column] for row in rows}))


def _note(rows: Sequence[Row]) -> str:
    known = any(row["published"] is not None for row in rows)
    low = any(row["lowest"] < _MIN_US for row in rows if row["metric"] == "switch_latency_us")
    first, *second = dict.fromkeys(row["variant"] for row in rows)
    lines = f"Lines: {first}" + "".join(f", dashed: {each}" for each in second)
    return (
        f"{lines}; band: lowest and highest seed. "
        + ("Open circles: published." if known else "No numbers are published.")
        + (f" Latencies below {_MIN_US:g} us are drawn at {_MIN_US:g}." if low else "")
    )
