"""The rows of `hedera completion`, and their picture: load against slowdown by size class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedera.schemes import label
from paper.style import clean, heading, new_figure, saved
from plots.style import MUTED, colour, house_style, logarithmic
from traffic.completion import CLASSES, Completion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HIDDEN = 0.001
"""From this share of flows on that were cut off, what is drawn is marked as a lower bound."""
_LINES = ("-", "--", ":", "-.")
_BASELINE = "ecmp"
_STEP = 0.008


@dataclass(frozen=True)
class Cell(Completion):
    """A size class under a scheme at a load; see `traffic.completion.Completion`.

    ``interval_s``: None for a scheme that has no period. ``detect_s``: how often large flows were looked for, to be
    re-routed at once. ``carried``: what arrived in the window, as a share of all hosts' links; where that is far
    below ``load``, flows come faster than the network serves them, and queue up without end. Flows without any
    times were not simulated, as too many would have. ``emulated``: real TCP. ``beside``: that, or a simulation of
    just such a run, and no point of a curve.
    """

    load: float = 0.0
    scheme: str = ""
    interval_s: float | None = None
    detect_s: float | None = None
    carried: float = 0.0
    k: int = 16
    emulated: bool = False
    beside: bool = False


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


def overloaded(cells: Sequence[Cell]) -> list[str]:
    """A sentence for each scheme with loads that were not simulated."""
    loads: dict[str, set[float]] = {}
    for cell in cells:
        if cell.flows and cell.mean_slowdown is None:
            loads.setdefault(cell.scheme, set()).add(cell.load)
    return [
        f"{label(scheme)}: not simulated from a load of {min(found):g} on, as flows would only pile up"
        for scheme, found in loads.items()
    ]


def draw(cells: Sequence[Cell], subtitle: str, path: Path) -> Path:
    """A column per size class: mean and 99th percentile of slowdowns, and means over ECMP's.

    Hollow where the end of the run hides many flows. Emulated runs are diamonds, simulations of these crosses, both
    over ECMP's of their own kind.
    """
    simulated = [cell for cell in cells if not cell.beside]
    curves = list(dict.fromkeys(curve_of(cell) for cell in simulated if cell.mean_slowdown is not None))
    periods = sorted({period for _, period, _ in curves if period is not None}, reverse=True)
    with house_style():
        figure = new_figure(10.4, 9.0)
        grid = figure.subplots(3, 3, sharex=True)
        for column, (name, meaning) in enumerate(list(CLASSES.items())[1:]):
            members = [cell for cell in cells if cell.size_class == name and cell.flows]
            baseline = {cell.load: _mean(cell) for cell in members if _is_baseline(cell)}
            for curve in curves:
                ours = [cell for cell in members if curve_of(cell) == curve and not cell.beside]
                line = "-" if curve[1] is None else _LINES[::-1][periods.index(curve[1]) % len(_LINES)]
                style: dict[str, Any] = {
                    "ls": line,
                    "color": colour(curve[0]),
                    "lw": 2.2 if curve[2] else 1.3,
                }
                named = label(curve[0]) + when(curve)
                ratios = [_mean(cell) / baseline.get(cell.load, math.nan) for cell in ours]
                _curve(grid[0, column], ours, [_mean(cell) for cell in ours], named, style)
                _curve(grid[1, column], ours, [_high(cell) for cell in ours], named, style)
                _curve(grid[2, column], ours, ratios, named, style)
            for emulated in (True, False):
                _points(grid[:, column], [c for c in members if c.beside and c.emulated == emulated])
            grid[0, column].set_title(meaning)
            grid[2, column].set_xlabel("load")
        for axes in grid[:2].flat:
            if any(len(line.get_xdata()) for line in axes.lines):
                logarithmic(axes)
        for axes in grid.flat:
            clean(axes)
        for row, text in enumerate(("mean slowdown", "99th percentile of slowdown", "mean over ECMP's")):
            grid[row, 0].set_ylabel(text)
        by_label: dict[str, Any] = {}
        for axes in grid[0]:
            by_label |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=4, fontsize=8)
        note = f"hollow: at least, as more than {HIDDEN:.1%} of the flows were cut off"
        heading(figure, "\n".join([f"Load against slowdown: {subtitle}", note, *overloaded(simulated), ""]))
        return saved(figure, path)


def _points(column: Sequence[Axes], cells: Sequence[Cell]) -> None:
    """Runs that stand beside the curves, each scheme a little to the side of the one before."""
    schemes = list(dict.fromkeys(cell.scheme for cell in cells))
    for cell in cells:
        at = cell.load + _STEP * (schemes.index(cell.scheme) - (len(schemes) - 1) / 2)
        ecmp = next((c for c in cells if (c.scheme, c.load) == (_BASELINE, cell.load)), None)
        ratio = math.nan if ecmp is None else _mean(cell) / _mean(ecmp)
        style: dict[str, Any] = {"color": colour(cell.scheme), "ls": "", "marker": "D", "ms": 4.5}
        if not cell.emulated:
            style |= {"marker": "x", "ms": 5}
        for axes, value in zip(column, (_mean(cell), _high(cell), ratio), strict=True):
            axes.plot([at], [value], **style)
    if cells:
        text = f"emulated, k={cells[0].k}" if cells[0].emulated else "the same runs, simulated"
        column[0].plot([], [], ls="", marker="D" if cells[0].emulated else "x", color=MUTED, ms=5, label=text)


def _is_baseline(cell: Cell) -> bool:
    return cell.scheme == _BASELINE and not cell.beside


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
