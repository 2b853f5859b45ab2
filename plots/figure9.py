"""The paper's Figure 9 from our runs: one group of bars per pattern, one bar per scheme, the control among
them.

A bar is the median of the valid trials, its whisker the 5th to 95th percentile. What could not be measured is
never drawn as if it had been: in its place is a hatched, crossed outline that reaches up to the dashed line
and stands for no number, or a cross alone where nothing was run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plots.load import Run
from plots.style import CONTROL, DASHES, INK, INVALID, MUTED, colour, house_style, label, save, short
from plots.summary import Bar, Spread, Summary, summarise
from results.published import CAPACITY_MBPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUPS_PER_ROW = 5
_GROUP_WIDTH = 0.84  # of the distance between two patterns
_FEWEST_SLOTS = 5  # bars of a group with fewer schemes do not grow wider than this allows
_HATCH = "/////"
_CROSS: dict[str, Any] = {"marker": "x", "linestyle": "", "markersize": 6, "markeredgewidth": 1.7}
_RED_CROSS = {**_CROSS, "color": INVALID}
_SMALL_CROSS = {**_CROSS, "color": MUTED, "markersize": 3.5, "markeredgewidth": 0.9}
_GROUP, _ROW, _HEAD, _SIDE = 2.05, 1.75, 1.3, 1.1  # inches


def draw(
    runs: Sequence[Run],
    path: Path,
    normalised: bool = False,
    published: Mapping[str, Mapping[str, float]] | None = None,
) -> list[Path]:
    """Write the chart as PNG and SVG, and return the files.

    ``normalised``: every bar as a share of the control, instead of Mb/s. ``published``: numbers to mark
    beside ours, by pattern and scheme, in Mb/s of CAPACITY_MBPS (`results.published.FIGURE_9`); in the absolute
    chart they are scaled to our capacity. Raises ValueError when there is no run.
    """
    summary = summarise(runs)
    with house_style():
        figure = _figure(summary, normalised, published, _conditions(runs))
        return save(figure, path, ("png", "svg"))


def _conditions(runs: Sequence[Run]) -> str:
    """What was the same for all runs, in a line."""
    spec = runs[0].spec
    trials = len({run.trial for run in runs})
    bars = "one trial" if trials == 1 else f"median, 5th and 95th percentile of {trials} trials"
    bw, seconds = (
        f"{value:g}" if isinstance(value := spec.get(name), int | float) else "?"
        for name in ("bw", "seconds")
    )
    return f"k={spec.get('k', '?')}, links of {bw} Mb/s, {seconds} s per run; {bars}"


def _figure(
    summary: Summary,
    normalised: bool,
    published: Mapping[str, Mapping[str, float]] | None,
    conditions: str,
) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    rows = math.ceil(len(summary.patterns) / GROUPS_PER_ROW)
    per_row = math.ceil(len(summary.patterns) / rows)
    width = max(_SIDE + _GROUP * per_row, 6.4)
    height = _HEAD + _ROW * rows * (1.25 if rows == 1 else 1)
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(h_pad=0.06, hspace=0.03))
    marks = _marks(summary, normalised, published or {})
    level = 1.0 if normalised else summary.capacity_mbps
    highest = [spread.high for bar in summary.bars.values() if (spread := _spread(bar, normalised))]
    ceiling = max([level, *highest, *marks.values()]) * 1.08
    for row, ax in enumerate(figure.subplots(rows, 1, squeeze=False)[:, 0]):
        patterns = summary.patterns[row * per_row : (row + 1) * per_row]
        _frame(ax, patterns, per_row, level, ceiling)
        for group, pattern in enumerate(patterns):
            _group(ax, group, pattern, summary, normalised, marks)
    figure.axes[0].set_title(conditions, fontsize=9, color=MUTED)
    title = "Bisection bandwidth as a share of the control" if normalised else "Bisection bandwidth"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    figure.supylabel("share of the control" if normalised else "received by all hosts (Mb/s)", fontsize=9.5)
    _legend(figure, summary, normalised, bool(marks))
    return figure


def _spread(bar: Bar, normalised: bool) -> Spread | None:
    return bar.ratio if normalised else bar.mbps


def _marks(
    summary: Summary, normalised: bool, published: Mapping[str, Mapping[str, float]]
) -> dict[tuple[str, str], float]:
    """Where to mark a published number, by pattern and scheme."""
    marks = {}
    for pattern in summary.patterns:
        numbers = published.get(short(pattern), {}) if pattern.startswith("published:") else {}
        for scheme in summary.schemes:
            if scheme in numbers and not (normalised and scheme == CONTROL):
                unit = numbers[CONTROL] if normalised else CAPACITY_MBPS / summary.capacity_mbps
                marks[pattern, scheme] = numbers[scheme] / unit
    return marks


def _frame(ax: Axes, patterns: Sequence[str], per_row: int, level: float, ceiling: float) -> None:
    """Axes, grid, pattern names, and the line of what is possible."""
    ax.set_xlim(-0.5, per_row - 0.5)
    ax.set_ylim(0, ceiling)
    ax.set_xticks(range(len(patterns)), [label(pattern) for pattern in patterns], fontsize=9.5)
    ax.tick_params(axis="x", length=0, pad=5)
    ax.tick_params(axis="y", length=3, labelsize=8.5)
    ax.grid(axis="y")
    for group in range(0, len(patterns), 2):
        ax.axvspan(group - 0.5, group + 0.5, color="#f6f6f6", linewidth=0, zorder=0)
    ax.axhline(level, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)


def _group(
    ax: Axes,
    group: int,
    pattern: str,
    summary: Summary,
    normalised: bool,
    marks: Mapping[tuple[str, str], float],
) -> None:
    width = _GROUP_WIDTH / max(len(summary.schemes), _FEWEST_SLOTS)
    left = group - width * len(summary.schemes) / 2
    for i, scheme in enumerate(summary.schemes):
        x = left + (i + 0.5) * width
        bar = summary.bars.get((pattern, scheme))
        spread = _spread(bar, normalised) if bar else None
        if bar is None:
            _cross(ax, x, 0.05, MUTED)
        elif spread is None:
            _void(ax, x, width, scheme, 1.0 if normalised else summary.capacity_mbps)
        else:
            _valid_bar(ax, x, width, scheme, spread, some_invalid=bar.invalid > 0)
        if (pattern, scheme) in marks:
            y, ends = marks[pattern, scheme], (x - width / 2, x + width / 2)
            ax.hlines(y, *ends, color="white", linewidth=3.2, zorder=5)
            ax.hlines(y, *ends, color="black", linewidth=1.7, zorder=6)


def _valid_bar(ax: Axes, x: float, width: float, scheme: str, spread: Spread, *, some_invalid: bool) -> None:
    ax.bar(x, spread.median, width * 0.9, color=colour(scheme), linewidth=0, zorder=2)
    if spread.high > spread.low:
        ends = [[spread.median - spread.low], [spread.high - spread.median]]
        ax.errorbar(x, spread.median, yerr=ends, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2, zorder=4)
    if some_invalid:
        top = ax.get_ylim()[1]
        ax.plot(x, min(spread.high + 0.045 * top, 0.97 * top), **_SMALL_CROSS, zorder=7)


def _void(ax: Axes, x: float, width: float, scheme: str, level: float) -> None:
    """What stands for a bar without a valid trial (or, as a share, without a valid control)."""
    style: dict[str, Any] = {"facecolor": "white", "edgecolor": colour(scheme), "hatch": _HATCH, "alpha": 0.7}
    ax.bar(x, level, width * 0.86, linewidth=0.9, linestyle=(0, (2, 1.5)), zorder=2, **style)
    _cross(ax, x, 0.46, INVALID)


def _cross(ax: Axes, x: float, height: float, color: str) -> None:
    """A cross at a fraction of the height of the axes."""
    ax.plot(x, height * ax.get_ylim()[1], color=color, zorder=7, **_CROSS)


def _legend(figure: Figure, summary: Summary, normalised: bool, marked: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(facecolor=colour(scheme), label="nonblocking (control)" if scheme == CONTROL else scheme)
        for scheme in summary.schemes
    ]
    level = "control" if normalised else f"capacity {summary.capacity_mbps:g} Mb/s"
    handles.append(Line2D([], [], color=INK, linewidth=0.9, linestyle=DASHES, label=level))
    if marked:
        name = "published (NSDI '10)" if normalised else "published, scaled (NSDI '10)"
        handles.append(Line2D([], [], color="black", linewidth=1.8, label=name))
    bars = list(summary.bars.values())
    if any(_spread(bar, normalised) is None for bar in bars):
        handles.append(
            (Patch(facecolor="white", edgecolor=MUTED, hatch=_HATCH), Line2D([], [], **_RED_CROSS))
        )
    if any(_spread(bar, normalised) and bar.invalid for bar in bars):
        handles.append(Line2D([], [], **_SMALL_CROSS, label="some trials invalid, left out"))
    if len(bars) < len(summary.patterns) * len(summary.schemes):
        handles.append(Line2D([], [], color=MUTED, **_CROSS, label="not run"))
    invalid = "invalid: no valid trial" + (", or none of the control" if normalised else "")
    labels = [invalid if isinstance(handle, tuple) else handle.get_label() for handle in handles]
    for rows in range(1, len(handles) + 1):  # as few as the figure's width allows, filled evenly
        legend = figure.legend(
            handles, labels, loc="outside lower center", ncols=-(-len(handles) // rows), fontsize=8.5,
            handlelength=1.5, handleheight=1.0, columnspacing=1.5,
        )  # fmt: skip
        if legend.get_window_extent().width < 0.97 * figure.bbox.width:
            break
        legend.remove()
