"""The rows of `hedera completion`, and their picture: load against slowdown by size class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paper.style import LABELS, clean, heading, new_figure, saved
from plots.style import colour, house_style
from traffic.completion import Completion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CLASSES = {"small": "up to 100 kB", "medium": "100 kB to 10 MB", "large": "from 10 MB"}
HIDDEN = 0.001
"""From this share of flows on that were cut off, what is drawn is marked as a lower bound."""
_LINES = ("-", "--", ":", "-.")
_BASELINE = "ecmp"


@dataclass(frozen=True)
class Cell(Completion):
    """A size class under a scheme at a load; see `traffic.completion.Completion`.

    ``interval_s``: None for a scheme that has no period. ``detect_s``: how often large flows were looked for, to be
    re-routed at once. ``carried``: what arrived in the window, as a share of all hosts' links; where that is far
    below ``load``, flows come faster than the network serves them, and queue up without end.
    """

    load: float = 0.0
    scheme: str = ""
    interval_s: float | None = None
    detect_s: float | None = None
    carried: float = 0.0
    k: int = 16
    emulated: bool = False


Curve = tuple[str, float | None, float | None]


def curve_of(cell: Cell) -> Curve:
    """What is one line in the picture: scheme, period, how often large flows are looked for."""
    return cell.scheme, cell.interval_s, cell.detect_s


def when(curve: Curve) -> str:
    """When a scheme re-routes, as words after its name."""
    _, period, detect_s = curve
    if detect_s is not None:
        return ", upon detection"
    return "" if period is None else f", {period:g} s"


def draw(cells: Sequence[Cell], subtitle: str, path: Path) -> Path:
    """A column per size class: mean and 99th percentile of slowdowns, and means over ECMP's.

    Hollow where the end of the run hides many flows; emulated runs are diamonds.
    """
    simulated = [cell for cell in cells if not cell.emulated]
    curves = list(dict.fromkeys(curve_of(cell) for cell in simulated))
    periods = sorted({period for _, period, _ in curves if period is not None}, reverse=True)
    with house_style():
        figure = new_figure(10.4, 8.6)
        grid = figure.subplots(3, 3, sharex=True)
        for column, (name, meaning) in enumerate(_CLASSES.items()):
            members = [cell for cell in cells if cell.size_class == name and cell.flows]
            baseline = {cell.load: _mean(cell) for cell in members if _is_baseline(cell)}
            for curve in curves:
                ours = [cell for cell in members if curve_of(cell) == curve and not cell.emulated]
                line = "-" if curve[1] is None else _LINES[::-1][periods.index(curve[1]) % len(_LINES)]
                style: dict[str, Any] = {
                    "ls": line,
                    "color": colour(curve[0]),
                    "lw": 2.2 if curve[2] else 1.3,
                }
                label = LABELS.get(curve[0], curve[0]) + when(curve)
                ratios = [_mean(cell) / baseline.get(cell.load, math.nan) for cell in ours]
                _curve(grid[0, column], ours, [_mean(cell) for cell in ours], label, style)
                _curve(grid[1, column], ours, [_high(cell) for cell in ours], label, style)
                _curve(grid[2, column], ours, ratios, label, style)
            for cell in (cell for cell in members if cell.emulated):
                text = f"{cell.scheme}{when(curve_of(cell))}, emulated, k={cell.k}"
                for row, value in ((0, _mean(cell)), (1, _high(cell))):
                    grid[row, column].plot(
                        [cell.load], [value], "D", color=colour(cell.scheme), ms=6, label=text
                    )
            grid[0, column].set_title(meaning)
            grid[2, column].set_xlabel("load")
        for axes in grid[:2].flat:
            if any(len(line.get_xdata()) for line in axes.lines):
                axes.set_yscale("log")
                for formatted in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
                    formatted("{x:g}")
        for axes in grid.flat:
            clean(axes)
        for row, text in enumerate(("mean slowdown", "99th percentile of slowdown", "mean over ECMP's")):
            grid[row, 0].set_ylabel(text)
        by_label: dict[str, Any] = {}
        for axes in grid[0]:
            by_label |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=4, fontsize=8)
        note = f"hollow: at least, as more than {HIDDEN:.1%} of the flows were cut off"
        heading(figure, f"Load against slowdown: {subtitle}\n{note}\n")
        return saved(figure, path)


def _is_baseline(cell: Cell) -> bool:
    return cell.scheme == _BASELINE and not cell.emulated


def _mean(cell: Cell) -> float:
    return math.nan if cell.mean_slowdown is None else cell.mean_slowdown


def _high(cell: Cell) -> float:
    return math.nan if cell.p99_slowdown is None else cell.p99_slowdown


def _curve(
    axes: Axes, cells: Sequence[Cell], values: Sequence[float], label: str, style: dict[str, Any]
) -> None:
    axes.plot([cell.load for cell in cells], values, label=label, **style)
    bounds = [(c.load, value) for c, value in zip(cells, values, strict=True) if c.cut_off > HIDDEN * c.flows]
    if bounds:
        axes.plot(*zip(*bounds, strict=True), "o", mfc="white", color=style["color"], ms=4)
