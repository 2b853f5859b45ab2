"""The rows of `hedera completion`, and their picture: load against FCT slowdown by size class."""

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
"""If at least this share of the flows was cut off, a point is marked as a lower bound."""
_BASELINE = "ecmp"
_LIKE_ECMP = ("ecmp-dst", "random")
_DRAWN = ("small", "large")
_STEP = 0.008


@dataclass(frozen=True)
class Cell(Completion):
    """A size class under a scheme at a load; see `traffic.completion.Completion`.

    ``interval_s``: None for a scheme that has no period. ``detect_s``: how often large flows were looked for, to be
    re-routed at once. ``carried``: the traffic received in the window, as a share of all hosts' links; if it is far
    below ``load``, flows arrive faster than the network serves them, and queue up without end. A load without any
    times was not simulated, because its flows would pile up. ``emulated``: real TCP. ``beside``: an emulated run, or
    the simulation of one; not a point of a curve.
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
    """The key of one line in the picture: scheme, period, how often large flows are looked for."""
    return cell.scheme, cell.interval_s, cell.detect_s


def when(curve: Curve) -> str:
    """When a scheme re-routes, as text after its name."""
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
    """Small flows and large flows: mean slowdowns above, the ratio to ECMP's below. The CSV file has more.

    Only the longest and shortest of a scheme's periods are drawn, and no variants of ECMP. Hollow marks: many flows
    were cut off at the end of the run. Diamonds: emulated runs.
    """
    simulated = [cell for cell in cells if not cell.beside]
    found = dict.fromkeys(curve_of(cell) for cell in simulated if cell.mean_slowdown is not None)
    periods = sorted({period for _, period, _ in found if period is not None}, reverse=True)
    ends = (None, *periods[:1], *periods[-1:])
    curves = [curve for curve in found if curve[1] in ends and curve[0] not in _LIKE_ECMP]
    with house_style():
        figure = new_figure(10.4, 7.4)
        grid = figure.subplots(2, 2, sharex=True, sharey="row")
        for column, name in enumerate(_DRAWN):
            members = [cell for cell in cells if cell.size_class == name and cell.flows]
            baseline = {cell.load: _mean(cell) for cell in members if _is_baseline(cell)}
            for curve in curves:
                ours = [cell for cell in members if curve_of(cell) == curve and not cell.beside]
                style: dict[str, Any] = {
                    "ls": "-" if curve[1] in (None, *periods[:1]) else ":",
                    "color": colour(curve[0]),
                    "lw": 2.6 if curve[2] else 1.5,
                }
                ratios = [_mean(cell) / baseline.get(cell.load, math.nan) for cell in ours]
                named = label(curve[0]) + when(curve)
                _curve(grid[0, column], ours, [_mean(cell) for cell in ours], named, style)
                _curve(grid[1, column], ours, ratios, named, style)
            _points(grid[0, column], [cell for cell in members if cell.emulated])
            grid[0, column].set_title(f"{name} flows, {CLASSES[name]}")
            grid[1, column].set_xlabel("load")
        if any(len(line.get_xdata()) for axes in grid[0] for line in axes.lines):
            logarithmic(grid[0, 0])
        grid[1, 0].set_ylim(bottom=0)
        for axes in grid.flat:
            clean(axes)
        for row, text in enumerate(("mean slowdown", "mean over ECMP's")):
            grid[row, 0].set_ylabel(text)
        by_label: dict[str, Any] = {}
        for axes in grid[0]:
            by_label |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=4, fontsize=8)
        note = f"hollow: at least, as more than {HIDDEN:.1%} of the flows were cut off"
        heading(figure, "\n".join([f"Load against slowdown: {subtitle}", note, *overloaded(simulated), ""]))
        return saved(figure, path)


def _points(axes: Axes, cells: Sequence[Cell]) -> None:
    """Emulated runs beside the curves; schemes are shifted sideways so that marks do not overlap."""
    schemes = list(dict.fromkeys(cell.scheme for cell in cells))
    for cell in cells:
        at = cell.load + _STEP * (schemes.index(cell.scheme) - (len(schemes) - 1) / 2)
        axes.plot([at], [_mean(cell)], color=colour(cell.scheme), ls="", marker="D", ms=4.5)
    if cells:
        axes.plot([], [], ls="", marker="D", color=MUTED, ms=5, label=f"emulated, k={cells[0].k}")


def _is_baseline(cell: Cell) -> bool:
    return cell.scheme == _BASELINE and not cell.beside


def _mean(cell: Cell) -> float:
    return math.nan if cell.mean_slowdown is None else cell.mean_slowdown


def _curve(axes: Axes, cells: Sequence[Cell], values: Sequence[float], label: str, style: dict[str, Any]) -> None:
    axes.plot([cell.load for cell in cells], values, label=label, **style)
    bounds = [(c.load, value) for c, value in zip(cells, values, strict=True) if c.cut_off > HIDDEN * c.flows]
    if bounds:
        axes.plot(*zip(*bounds, strict=True), "o", mfc="white", color=style["color"], ms=4)
