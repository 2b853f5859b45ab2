"""The paper's Figure 9 from our runs: one group of bars per pattern, above as shares of the control, below in Mb/s.

A bar is the median of the valid trials; its whisker is the 5th to 95th percentile of ten trials or more, of fewer the
95 % interval of their mean (`plots.summary`); in Mb/s it is payload at the receivers' sockets, as in the paper
(section 6.2). A published bar stands beside ours as an outline; the published ECMP stands beside the first and
the last of our static schemes, because it might be any of them. In Mb/s published bars are scaled by the ratio of our
links' payload capacity to the testbed's. A bar without a valid trial has no number. In its place is a hatched, crossed
outline up to the dashed line, or only a cross if nothing was run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hedera.schemes import CONTROL
from plots.shares import STATIC, Shares, Spread
from plots.style import DASHES, INK, INVALID, MUTED, colour, house_style, label, rounded, save
from plots.summary import ENOUGH, FEWEST, Summary, summarise
from record.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUPS_PER_ROW = 5
_GROUP_WIDTH = 0.86  # of the distance between two patterns
_FEWEST_SLOTS = 6  # bars of a group with fewer schemes are no wider than with this many
_HATCH = "/////"
_CROSS: dict[str, Any] = {"marker": "x", "linestyle": "", "markersize": 5, "markeredgewidth": 1.5}
_RED_CROSS = {**_CROSS, "color": INVALID}
_SMALL_CROSS = {**_CROSS, "color": MUTED, "markersize": 3.5, "markeredgewidth": 0.9}
_LEGEND: dict[str, Any] = {"fontsize": 8.5, "handlelength": 1.5, "handleheight": 1.0, "columnspacing": 1.5}
_GROUP, _ROW, _HEAD, _SIDE = 2.2, 1.6, 1.4, 1.1  # inches


class Slot(NamedTuple):
    """A place in every group: of a scheme's bar, or of the published one that it is held against."""

    scheme: str
    published: bool


def draw(runs: Sequence[Run], path: Path) -> list[Path]:
    """Write the chart as PNG and SVG, and return the files. Raises ValueError when there is no run."""
    with house_style():
        return save(figure(runs, summarise(runs)), path, ("svg", "png"))[::-1]


def figure(runs: Sequence[Run], summary: Summary) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    charts = [Shares(summary, False, summary.payload_capacity_mbps)]
    if any(bar.median_ratio is not None for bar in summary.bars.values()):
        charts.insert(0, Shares(summary, True))
    rows = math.ceil(len(summary.patterns) / GROUPS_PER_ROW)
    per_row = math.ceil(len(summary.patterns) / rows)
    size = (max(_SIDE + _GROUP * per_row, 6.4), _HEAD + _ROW * rows * len(charts) * (1.2 if rows == 1 else 1))
    made = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.06, hspace=0.03))
    fields = made.subplots(rows * len(charts), 1, squeeze=False)[:, 0]
    for number, chart in enumerate(charts):
        _chart(list(fields[number * rows : (number + 1) * rows]), chart, per_row)
    fields[0].set_title(conditions(runs), fontsize=9, color=MUTED)
    made.suptitle("Bisection bandwidth", x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    _legend(made, charts)
    return made


def slots(chart: Shares) -> list[Slot]:
    """The places of a group, in order. The control has none among shares of itself."""
    schemes = [s for s in chart.summary.schemes if not (chart.of_control and s == CONTROL)]
    published = {s for s in schemes if any(chart.published(p, s) is not None for p in chart.summary.patterns)}
    static = [s for s in schemes if s in STATIC]
    found = []
    for scheme in schemes:
        found.append(Slot(scheme, False))
        if scheme in published and (scheme not in STATIC or scheme in (static[0], static[-1])):
            found.append(Slot(scheme, True))
    return found


def conditions(runs: Sequence[Run]) -> str:
    """What the runs of a picture were, and what its bars and whiskers are."""
    spec = runs[0].spec
    trials = len({run.trial for run in runs})
    whisker = "5th to 95th percentile" if trials >= ENOUGH else "95 % interval of the mean"
    bars = "one trial" if trials == 1 else f"bar: median of {trials} trials"
    bars += f", whisker: {whisker}" if trials >= FEWEST else ""
    time = " of virtual time" if spec.time == "virtual" else ""
    return f"k={spec.k}, links of {spec.link_mbps:g} Mb/s, {spec.seconds:g} s{time} per run; {bars}"


def _chart(fields: Sequence[Axes], chart: Shares, per_row: int) -> None:
    patterns, places = chart.summary.patterns, slots(chart)
    highest = [chart.whole]
    for pattern in patterns:
        ours = [chart.ours(pattern, slot.scheme) for slot in places]
        highest += [min(spread.high, 1.2 * chart.whole) for spread in ours if spread]
        highest += [chart.published(pattern, slot.scheme) or 0.0 for slot in places if slot.published]
    for row, ax in enumerate(fields):
        own = patterns[row * per_row : (row + 1) * per_row]
        ax.set_xlim(-0.5, per_row - 0.5)
        ax.set_ylim(0, max(highest) * 1.08)
        ax.set_xticks(range(len(own)), [label(pattern) for pattern in own], fontsize=9.5)
        ax.tick_params(axis="x", length=0, pad=5)
        ax.tick_params(axis="y", length=3, labelsize=8.5)
        ax.grid(axis="y")
        ax.axhline(chart.whole, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)
        for group, pattern in enumerate(own):
            if group % 2 == 0:
                ax.axvspan(group - 0.5, group + 0.5, color="#f6f6f6", linewidth=0, zorder=0)
            _group(ax, group, pattern, chart, places)
    fields[len(fields) // 2].set_ylabel("share of the control" if chart.of_control else "payload received (Mb/s)")


def _group(ax: Axes, group: int, pattern: str, chart: Shares, places: Sequence[Slot]) -> None:
    width = _GROUP_WIDTH / max(len(places), _FEWEST_SLOTS)
    for i, (scheme, published) in enumerate(places):
        x = group + width * (i + 0.5 - len(places) / 2)
        bar, spread = chart.summary.bars.get((pattern, scheme)), chart.ours(pattern, scheme)
        if published:
            if (height := chart.published(pattern, scheme)) is not None:
                ax.bar(x, height, width * 0.74, linewidth=1.1, zorder=2, **_outline(scheme))
        elif bar is None:
            ax.plot(x, 0.05 * ax.get_ylim()[1], color=MUTED, zorder=7, **_CROSS)
        elif spread is None:
            style: dict[str, Any] = {"facecolor": "white", "edgecolor": colour(scheme), "hatch": _HATCH, "alpha": 0.7}
            ax.bar(x, chart.whole, width * 0.86, linewidth=0.9, linestyle=(0, (2, 1.5)), zorder=2, **style)
            ax.plot(x, 0.46 * ax.get_ylim()[1], zorder=7, **_RED_CROSS)
        else:
            ax.bar(x, spread.median, width * 0.9, color=colour(scheme), linewidth=0, zorder=2)
            whisker(ax, x, spread)
            if bar.valid_trials < bar.trials:
                top = ax.get_ylim()[1]
                ax.plot(x, min(spread.high + 0.045 * top, 0.97 * top), **_SMALL_CROSS, zorder=7)


def whisker(ax: Axes, x: float, spread: Spread) -> None:
    if spread.high > spread.low:  # the median of few trials may be outside of the interval of their mean
        middle, half = (spread.high + spread.low) / 2, (spread.high - spread.low) / 2
        ax.errorbar(x, middle, yerr=half, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2, zorder=4)


def _outline(scheme: str) -> dict[str, Any]:
    return {"facecolor": "white", "edgecolor": INK if scheme in STATIC else colour(scheme)}


def _legend(figure: Figure, charts: Sequence[Shares]) -> None:
    handles, labels = zip(*_entries(charts), strict=True)
    for rows in range(1, len(handles) + 1):  # as few as the figure's width allows, filled evenly
        columns = -(-len(handles) // rows)
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, **_LEGEND)
        if legend.get_window_extent().width < 0.97 * figure.bbox.width:
            break
        legend.remove()


def _entries(charts: Sequence[Shares]) -> Iterator[tuple[Any, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    summary = charts[-1].summary
    for scheme in summary.schemes:
        yield Patch(facecolor=colour(scheme)), "nonblocking (control)" if scheme == CONTROL else scheme
    levels = f"payload capacity {rounded(charts[-1].whole)} Mb/s"
    yield Line2D([], [], color=INK, lw=0.9, ls=DASHES), ("control; " if len(charts) > 1 else "") + levels
    published = [slot.scheme for slot in slots(charts[-1]) if slot.published]
    if published:
        yield Patch(facecolor="white", edgecolor=MUTED), "outline: published (NSDI '10), in Mb/s scaled"
    if any(scheme in STATIC for scheme in published):
        yield Patch(**_outline("ecmp")), "published ECMP"
    bars = [(bar, [chart.ours(*pair) for chart in charts]) for pair, bar in summary.bars.items()]
    control = ", or none of the control" if len(charts) > 1 else ""
    if any(None in spreads for _, spreads in bars):
        box = Patch(facecolor="white", edgecolor=MUTED, hatch=_HATCH)
        yield (box, Line2D([], [], **_RED_CROSS)), f"no valid trial{control}"
    if any(None not in spreads and bar.valid_trials < bar.trials for bar, spreads in bars):
        yield Line2D([], [], **_SMALL_CROSS), "some trials do not count, left out"
    if len(bars) < len(summary.patterns) * len(summary.schemes):
        yield Line2D([], [], color=MUTED, **_CROSS), "not run"
