"""The paper's Figure 9 from our runs: one group of bars per pattern, one bar per scheme, the control among
them.

A bar is the median of the valid trials, its whisker the 5th to 95th percentile; in Mb/s it is payload at the
receivers' sockets, as in the paper (section 6.2). A bar without a valid trial has no number. In its place is a
hatched, crossed outline up to the dashed line, with a question mark if runs were not judged, or only a cross if
nothing was run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedera.schemes import CONTROL
from plots.shares import Shares
from plots.style import DASHES, INK, INVALID, MUTED, colour, house_style, label, save
from plots.summary import Spread, summarise
from results.record import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUPS_PER_ROW = 5
_GROUP_WIDTH = 0.84  # of the distance between two patterns
_FEWEST_SLOTS = 5  # bars of a group with fewer schemes are no wider than with this many
_HATCH = "/////"
_CROSS: dict[str, Any] = {"marker": "x", "linestyle": "", "markersize": 6, "markeredgewidth": 1.7}
_RED_CROSS = {**_CROSS, "color": INVALID}
_SMALL_CROSS = {**_CROSS, "color": MUTED, "markersize": 3.5, "markeredgewidth": 0.9}
_LEGEND: dict[str, Any] = {"fontsize": 8.5, "handlelength": 1.5, "handleheight": 1.0, "columnspacing": 1.5}
_GROUP, _ROW, _HEAD, _SIDE = 2.05, 1.75, 1.3, 1.1  # inches


def draw(runs: Sequence[Run], path: Path, *, normalised: bool = False) -> list[Path]:
    """Write the chart as PNG and SVG, and return the files.

    ``normalised``: every bar as a share of the control, instead of Mb/s. The published numbers are marked beside
    ours; in Mb/s they are scaled by the ratio of our links' payload capacity to the testbed's. Raises ValueError when
    there is no run.
    """
    summary = summarise(runs)
    chart = Shares(summary, normalised, 1.0 if normalised else summary.payload_capacity_mbps)
    with house_style():
        return save(_figure(chart, _conditions(runs)), path, ("png", "svg"))


def _conditions(runs: Sequence[Run]) -> str:
    """One line on the settings of all runs."""
    spec = runs[0].spec
    trials = len({run.trial for run in runs})
    bars = "one trial" if trials == 1 else f"median, 5th and 95th percentile of {trials} trials"
    time = " of virtual time" if spec.time == "virtual" else ""
    return f"k={spec.k}, links of {spec.link_mbps:g} Mb/s, {spec.seconds:g} s{time} per run; {bars}"


def _figure(chart: Shares, conditions: str) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    patterns = chart.summary.patterns
    rows = math.ceil(len(patterns) / GROUPS_PER_ROW)
    per_row = math.ceil(len(patterns) / rows)
    width = max(_SIDE + _GROUP * per_row, 6.4)
    height = _HEAD + _ROW * rows * (1.25 if rows == 1 else 1)
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=0.06, hspace=0.03))
    highest = [spread.high for pair in _pairs(chart) if (spread := chart.ours(*pair))]
    ceiling = max([chart.whole, *highest, *(_mark(chart, *pair) or 0.0 for pair in _pairs(chart))]) * 1.08
    for row, ax in enumerate(figure.subplots(rows, 1, squeeze=False)[:, 0]):
        own = patterns[row * per_row : (row + 1) * per_row]
        _frame(ax, own, per_row, chart.whole, ceiling)
        for group, pattern in enumerate(own):
            _group(ax, group, pattern, chart)
    figure.axes[0].set_title(conditions, fontsize=9, color=MUTED)
    title = "Bisection bandwidth" + (" as a share of the control" if chart.of_control else "")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    axis = "share of the control" if chart.of_control else "payload received (Mb/s)"
    figure.supylabel(axis, fontsize=9.5)
    _legend(figure, chart)
    return figure


def _pairs(chart: Shares) -> Iterable[tuple[str, str]]:
    return product(chart.summary.patterns, chart.summary.schemes)


def _mark(chart: Shares, pattern: str, scheme: str) -> float | None:
    """Where to mark a published number; None for the control's share of itself, which is the dashed line."""
    return None if chart.of_control and scheme == CONTROL else chart.published(pattern, scheme)


def _frame(ax: Axes, patterns: Sequence[str], per_row: int, level: float, ceiling: float) -> None:
    """Axes, grid, pattern names, and the dashed line of the most that is possible."""
    ax.set_xlim(-0.5, per_row - 0.5)
    ax.set_ylim(0, ceiling)
    ax.set_xticks(range(len(patterns)), [label(pattern) for pattern in patterns], fontsize=9.5)
    ax.tick_params(axis="x", length=0, pad=5)
    ax.tick_params(axis="y", length=3, labelsize=8.5)
    ax.grid(axis="y")
    for group in range(0, len(patterns), 2):
        ax.axvspan(group - 0.5, group + 0.5, color="#f6f6f6", linewidth=0, zorder=0)
    ax.axhline(level, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)


def _group(ax: Axes, group: int, pattern: str, chart: Shares) -> None:
    schemes = chart.summary.schemes
    width = _GROUP_WIDTH / max(len(schemes), _FEWEST_SLOTS)
    left = group - width * len(schemes) / 2
    for i, scheme in enumerate(schemes):
        x = left + (i + 0.5) * width
        bar, spread = chart.summary.bars.get((pattern, scheme)), chart.ours(pattern, scheme)
        if bar is None:
            _cross(ax, x, 0.05, MUTED)
        elif spread is None:
            _void(ax, x, width, scheme, chart.whole, _mark_of(bar.void))
        else:
            _valid_bar(ax, x, width, scheme, spread, some_left_out=bar.valid < bar.trials)
        if (y := _mark(chart, pattern, scheme)) is not None:
            ends = (x - width / 2, x + width / 2)
            ax.hlines(y, *ends, color="white", linewidth=3.2, zorder=5)
            ax.hlines(y, *ends, color="black", linewidth=1.7, zorder=6)


def _valid_bar(ax: Axes, x: float, width: float, scheme: str, spread: Spread, *, some_left_out: bool) -> None:
    ax.bar(x, spread.median, width * 0.9, color=colour(scheme), linewidth=0, zorder=2)
    if spread.high > spread.low:
        ends = [[spread.median - spread.low], [spread.high - spread.median]]
        ax.errorbar(x, spread.median, yerr=ends, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2, zorder=4)
    if some_left_out:
        top = ax.get_ylim()[1]
        ax.plot(x, min(spread.high + 0.045 * top, 0.97 * top), **_SMALL_CROSS, zorder=7)


def _void(ax: Axes, x: float, width: float, scheme: str, level: float, mark: dict[str, Any]) -> None:
    """The outline for a bar without a valid trial (or, as a share, without a valid control)."""
    style: dict[str, Any] = {"facecolor": "white", "edgecolor": colour(scheme), "hatch": _HATCH, "alpha": 0.7}
    ax.bar(x, level, width * 0.86, linewidth=0.9, linestyle=(0, (2, 1.5)), zorder=2, **style)
    ax.plot(x, 0.46 * ax.get_ylim()[1], zorder=7, **mark)


def _mark_of(void: str) -> dict[str, Any]:
    """A cross, or a question mark if runs were not judged: as a path, because mathematical text is not parsed."""
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    if void != "NOT JUDGED":
        return _RED_CROSS
    path = TextPath((0, 0), "?", size=1)
    box = path.get_extents()
    middle = Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2)
    return {**_RED_CROSS, "marker": middle.transform_path(path), "markersize": 9, "markeredgewidth": 0.4}


def _cross(ax: Axes, x: float, height: float, color: str) -> None:
    """A cross at a fraction of the height of the axes."""
    ax.plot(x, height * ax.get_ylim()[1], color=color, zorder=7, **_CROSS)


def _legend(figure: Figure, chart: Shares) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=colour(scheme), label="nonblocking (control)" if scheme == CONTROL else scheme)
        for scheme in chart.summary.schemes
    ]
    level = "control" if chart.of_control else f"payload capacity {chart.whole:.4g} Mb/s"
    handles.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=DASHES, label=level))
    if any(_mark(chart, *pair) is not None for pair in _pairs(chart)):
        name = "published (NSDI '10)" if chart.of_control else "published, scaled (NSDI '10)"
        handles.append(Line2D([], [], color="black", linewidth=1.8, label=name))
    bars = {pair: (bar, chart.ours(*pair)) for pair, bar in chart.summary.bars.items()}
    control = ", or none of the control" if chart.of_control else ""
    named = {"INVALID": f"invalid: no valid trial{control}", "NOT JUDGED": "not judged"}
    voids: dict[int, str] = {}
    for void, name in named.items():
        if any(spread is None and bar.void == void for bar, spread in bars.values()):
            voids[len(handles)] = name
            box = Patch(facecolor="white", edgecolor=MUTED, hatch=_HATCH)
            handles.append((box, Line2D([], [], **_mark_of(void))))
    if any(spread and bar.valid < bar.trials for bar, spread in bars.values()):
        handles.append(Line2D([], [], **_SMALL_CROSS, label="some trials do not count, left out"))
    if any(pair not in bars for pair in _pairs(chart)):
        handles.append(Line2D([], [], color=MUTED, **_CROSS, label="not run"))
    labels = [voids[i] if i in voids else handle.get_label() for i, handle in enumerate(handles)]
    for rows in range(1, len(handles) + 1):  # as few as the figure's width allows, filled evenly
        columns = -(-len(handles) // rows)
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, **_LEGEND)
        if legend.get_window_extent().width < 0.97 * figure.bbox.width:
            break
        legend.remove()
