"""The paper's Figure 9 from our runs, as two pictures: by family of patterns, and pattern by pattern.

A bar is the median of the valid trials, with a whisker (`plots.summary.compute_whiskers`). A published bar stands
beside ours as an outline.

By family, which is drawn where all patterns are published ones and some families have several: shares of the control.
A bar is the mean over patterns of medians over trials, and its whisker is of the trials' means over those patterns that
all trials have. The last group is the mean over all patterns. The published ECMP is held against `spanning-tree`, which
it behaves like (docs/ecmp.md), where that was run: then `ecmp` has a gap after it. Further static schemes are in the
other picture alone.

Pattern by pattern: above shares of the control, below Mb/s, which is payload at the receivers' sockets, as in the paper
(section 6.2); published bars are scaled by the ratio of our links' payload capacity to the testbed's. The published
ECMP stands beside the first and the last of our static schemes, because it might be any of them. A bar without a valid
trial has no number. In its place is a hatched, crossed outline up to the dashed line, or only a cross if nothing was
run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedera.schemes import CONTROL
from plots.pictures import create_figure, save
from plots.published import MAYBE_PUBLISHED_ECMP, find_published_bars, list_families, make_overall_family, name_family
from plots.stored_sweep import Sweep
from plots.style import (
    DASHES,
    EXPECTED_ORDER,
    INK,
    INVALID,
    MUTED,
    colour,
    format_number,
    house_style,
    label,
    shorten_name,
)
from plots.summary import (
    Summary,
    compute_whiskers,
    describe_whiskers,
    make_frame,
    select_patterns_of_all_trials,
    summarise,
)
from record.published import CAPACITY_MBPS
from record.run import Run
from topos.wire import compute_payload_share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from plots.printable_figure import PrintableFigure

GROUPS_PER_ROW = 5
_GROUP_WIDTH = 0.86  # of the distance between two groups
_FEWEST_SLOTS = 6  # bars of a group with fewer schemes are no wider than with this many
_HATCH = "/////"
_CROSS: dict[str, Any] = {"marker": "x", "linestyle": "", "markersize": 5, "markeredgewidth": 1.5}
_RED_CROSS = {**_CROSS, "color": INVALID}
_SMALL_CROSS = {**_CROSS, "color": MUTED, "markersize": 3.5, "markeredgewidth": 0.9}
_LEGEND: dict[str, Any] = {"fontsize": 8.5, "handlelength": 1.5, "handleheight": 1.0, "columnspacing": 1.5}
_GROUP, _ROW, _HEAD, _SIDE = 2.2, 1.6, 1.4, 1.1  # inches
_PUBLISHED_PAYLOAD_MBPS = CAPACITY_MBPS * compute_payload_share(cable=True)
"""Section 6.2 counts what the sinks' sockets received. Full segments carry 1448 of every 1514 bytes that an emulated
link counts, and 1448 of every 1538 byte times of the testbed's cables."""
_HELD_AGAINST = ("spanning-tree", "ecmp")
"""Of the static schemes those shown by family, the one that the published ECMP is held against first."""


class Spread(NamedTuple):
    """The height of a bar, and the ends of its whisker, which are equal where there is none."""

    height: float
    low: float
    high: float


class Series(NamedTuple):
    """The bars of one colour, ours of a scheme or the published ones that it is held against, by pattern or family."""

    scheme: str
    published: bool
    bars: Mapping[str, Spread]


def draw(sweep: Sweep, path: Path) -> list[Path]:
    """Write the pictures as PNG and SVG, and return the files: ``path``, and if that is by family ``path-patterns``.
    Raises ValueError when there is no run."""
    with house_style():
        paths = (path, path.with_name(f"{path.name}-patterns"))
        figures = zip(draw_figures(sweep), paths, strict=False)
        return [file for figure, place in figures for file in save(figure, place, ("png", "svg"))]


def draw_figures(sweep: Sweep) -> list[PrintableFigure]:
    """The pictures, in the house's style: by family where that is drawn, and pattern by pattern."""
    return (
        [draw_by_family(sweep), draw_by_pattern(sweep)] if has_families(summarise(sweep)) else [draw_by_pattern(sweep)]
    )


def describe_conditions(runs: Sequence[Run]) -> str:
    """What the runs of a picture were, and what its bars and whiskers are."""
    trials: dict[tuple[str, str], set[int]] = {}
    for run in runs:
        trials.setdefault((run.pattern, run.scheme), set()).add(run.trial)
    # A sweep may have more seeds of some schemes than of others, or may not be done.
    fewest, most = (choose(map(len, trials.values()), default=0) for choose in (min, max))
    span = f"{most}" if fewest == most else f"{fewest} to {most}"
    bars = "one trial" if most == 1 else f"bar: median of {span} trials"
    bars += f", whisker: {meaning}" if (meaning := describe_whiskers(most)) else ""
    return f"{describe_network_and_time(runs)}; {bars}"


def describe_network_and_time(runs: Sequence[Run]) -> str:
    """The network of these runs, their links' rate, and how long each lasts."""
    spec = runs[0].spec
    time = " of virtual time" if spec.time == "virtual" else ""
    network = f"k={spec.k}" if spec.topology is None else spec.topology.rpartition("/")[2]
    network += f", {spec.oversubscribe:g}:1 oversubscribed" if spec.oversubscribe else ""
    return f"{network}, links of {spec.link_mbps:g} Mb/s, {spec.seconds:g} s{time} per run"


def _draw_bars(ax: Axes, series: Series, places: Mapping[str, float], width: float) -> None:
    """The bars of those patterns or families that have a place: ours filled, with whiskers; published ones outlined."""
    drawn_bars = [(x, series.bars[name]) for name, x in places.items() if name in series.bars]
    style: dict[str, Any] = {"color": colour(series.scheme), "linewidth": 0}
    if series.published:
        edge = INK if series.scheme in MAYBE_PUBLISHED_ECMP else colour(series.scheme)
        style = {"facecolor": "white", "edgecolor": edge, "linewidth": 1.1}
    ax.bar([x for x, _ in drawn_bars], [spread.height for _, spread in drawn_bars], width, zorder=2, **style)
    # The median of few trials may be outside of the interval of their mean.
    if ends := [(x, low, high) for x, (_, low, high) in drawn_bars if high > low]:
        x, low, high = np.array(ends).T
        ax.errorbar(x, (low + high) / 2, (high - low) / 2, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2, zorder=4)


# --- by family ----------------------------------------------------------------------------------------------


def has_families(summary: Summary) -> bool:
    """Whether all patterns are published ones, some families have several, and there are shares of the control."""
    published = all(pattern.startswith("published:") for pattern in summary.patterns)
    shares = summary.frame[summary.frame.scheme != CONTROL].median_ratio
    return (
        published
        and len(set(map(name_family, summary.patterns))) < len(summary.patterns)
        and bool(shares.notna().any())
    )


def draw_by_family(sweep: Sweep) -> PrintableFigure:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    summary = summarise(sweep)
    groups = [group for group in list_families(summary) if group.means] + [make_overall_family(summary)]
    # The published picture has one static scheme, ECMP. Which of ours it is like is open (docs/ecmp.md), so the two
    # candidates are shown, and the other static schemes are in the picture by pattern alone.
    left_out = {scheme for scheme in EXPECTED_ORDER if not scheme.startswith("hedera-")}.difference(_HELD_AGAINST)
    static = [scheme for scheme in _HELD_AGAINST if scheme in summary.schemes]
    schemes = [*static, *(scheme for scheme in summary.schemes if scheme not in left_out.union(static))]
    figure = create_figure(1.2 * len(groups) + 0.8, 3.8)
    ax = figure.subplots()
    top = max(
        mean[source] or 0.0 for group in groups for mean in group.means.values() for source in ("ours", "published")
    )
    ax.set(xlim=(-0.5, len(groups) - 0.5), ylim=(0, 1.06 * max(top, 1.0)), ylabel="share of the control")
    names = [shorten_name(group.name).replace("(", "\n(") for group in groups[:-1]]
    ax.set_xticks(range(len(groups)), [*names, "mean of all"])
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y")
    ax.axhline(1, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)
    ax.axvspan(len(groups) - 1.5, len(groups) - 0.5, color="#f2f2f2", linewidth=0, zorder=0)
    # Each scheme has two slots, ours and the published one, so that the same colour stands side by side. Where nothing
    # is published the second slot stays empty, and groups stay aligned.
    width, ends = 0.84 / (2 * len(schemes)), _compute_family_whiskers(sweep)
    for number, scheme in enumerate(schemes):
        means = {group.name: group.means[scheme] for group in groups if scheme in group.means}
        ours = {name: Spread(mean["ours"], *ends.get((name, scheme), (0.0, 0.0))) for name, mean in means.items()}
        theirs = {name: Spread(share, share, share) for name, mean in means.items() if (share := mean["published"])}
        beside = scheme not in MAYBE_PUBLISHED_ECMP or scheme == static[0]
        for series in (Series(scheme, False, ours), Series(scheme, True, theirs if beside else {})):
            aside = width * (2 * number + 0.5 + series.published) - 0.42
            places = {group.name: place + aside for place, group in enumerate(groups)}
            _draw_bars(ax, series, places, width * 0.88)
            if mean := series.bars.get("all"):
                ax.text(places["all"], 0.02, f"{mean.height:.0%}", ha="center", rotation=90, fontsize=8, zorder=5)
    ax.set_title(f"{describe_conditions(sweep.runs)}; means over patterns", fontsize=8.5, color=MUTED)
    figure.suptitle("Bisection bandwidth", x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    entries: list[tuple[Any, str]] = [(Patch(facecolor=colour(scheme)), shorten_name(scheme)) for scheme in schemes]
    ecmp = f", its ECMP after {static[0]}" if static else ""
    entries.append((Patch(facecolor="white", edgecolor=INK), f"published (NSDI '10){ecmp}"))
    entries.append((Line2D([], [], color=INK, lw=0.9, ls=DASHES), "control"))
    figure.legend(*zip(*entries, strict=True), loc="outside lower center", ncols=len(entries), fontsize=8.5)
    return figure


def _compute_family_whiskers(sweep: Sweep) -> dict[tuple[str, str], tuple[float, float]]:
    """The ends of whiskers by family (and of all) and scheme, where there are enough trials."""
    from pandas import concat

    tries = make_frame(sweep)
    rows = tries[tries.counts]
    rows = concat([rows.assign(family=rows.pattern.map(name_family)), rows.assign(family="all")])
    groups = rows.set_index(["pattern", "trial"]).groupby(["family", "scheme"]).ratio
    # The whisker is of the mean over patterns, so the mean is taken within each trial before trials are compared:
    # patterns of one trial share its seed.
    shares = groups.apply(lambda ratio: select_patterns_of_all_trials(ratio).mean())
    ends = compute_whiskers(shares.groupby(["family", "scheme"])).dropna()
    return {group: (low, high) for group, low, high in ends.itertuples(name=None)}


# --- pattern by pattern -------------------------------------------------------------------------------------


class Chart(NamedTuple):
    """A half of the picture: what its bars are, ``ratio`` to the control or ``payload_mbps``; where ``whole`` is: the
    control, or the payload that all links can carry; and the bars, in the order within a group."""

    measure: str
    whole: float
    series: Sequence[Series]


def draw_by_pattern(sweep: Sweep) -> PrintableFigure:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    summary = summarise(sweep)
    charts = [_make_chart(summary, "payload_mbps", summary.payload_capacity_mbps)]
    if summary.frame.median_ratio.notna().any():
        charts.insert(0, _make_chart(summary, "ratio", 1.0))
    rows = math.ceil(len(summary.patterns) / GROUPS_PER_ROW)
    per_row = math.ceil(len(summary.patterns) / rows)
    size = (max(_SIDE + _GROUP * per_row, 6.4), _HEAD + _ROW * rows * len(charts) * (1.2 if rows == 1 else 1))
    figure = create_figure(*size, ConstrainedLayoutEngine(h_pad=0.06, hspace=0.03))
    fields = figure.subplots(rows * len(charts), 1, squeeze=False)[:, 0]
    for number, chart in enumerate(charts):
        _draw_half(list(fields[number * rows : (number + 1) * rows]), summary, chart, per_row)
    fields[0].set_title(fill(describe_conditions(sweep.runs), round(14 * size[0])), fontsize=9, color=MUTED)
    figure.suptitle("Bisection bandwidth", x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    _draw_legend(figure, summary, charts)
    return figure


def _make_chart(summary: Summary, measure: str, whole: float) -> Chart:
    """The control has no bars among shares of itself; the published ECMP stands after the first and the last of our
    static schemes."""
    schemes = [scheme for scheme in summary.schemes if not (measure == "ratio" and scheme == CONTROL)]
    static = [scheme for scheme in schemes if scheme in MAYBE_PUBLISHED_ECMP]
    series = []
    for scheme in schemes:
        ours, theirs = {}, {}
        for pattern in summary.patterns:
            bar = summary.bars.get((pattern, scheme))
            if bar and (median := getattr(bar, f"median_{measure}")) is not None:
                low, high = (getattr(bar, f"{end}_{measure}") for end in ("low", "high"))
                ours[pattern] = Spread(median, median if low is None else low, median if high is None else high)
            numbers = find_published_bars(pattern, summary.k)
            if scheme in numbers:
                base = numbers[CONTROL] if measure == "ratio" else _PUBLISHED_PAYLOAD_MBPS
                # In Mb/s the published bar is scaled to our links, by what full links carry in payload: the height of
                # the dashed line is the same fact in both networks.
                height = whole * numbers[scheme] / base
                theirs[pattern] = Spread(height, height, height)
        series.append(Series(scheme, False, ours))
        if theirs and (scheme not in MAYBE_PUBLISHED_ECMP or scheme in (static[0], static[-1])):
            series.append(Series(scheme, True, theirs))
    return Chart(measure, whole, series)


def _draw_half(fields: Sequence[Axes], summary: Summary, chart: Chart, per_row: int) -> None:
    # A published bar is never cut off. A whisker of few trials may be very long: it is cut at 1.2 of the line, or all
    # bars would be flat.
    highest = chart.whole
    for series in chart.series:
        ceiling = math.inf if series.published else 1.2 * chart.whole
        highest = max([highest, *(min(spread.high, ceiling) for spread in series.bars.values())])
    width = _GROUP_WIDTH / max(len(chart.series), _FEWEST_SLOTS)
    for row, ax in enumerate(fields):
        patterns = summary.patterns[row * per_row : (row + 1) * per_row]
        ax.set_xlim(-0.5, per_row - 0.5)
        ax.set_ylim(0, highest * 1.08)
        ax.set_xticks(range(len(patterns)), [label(pattern) for pattern in patterns], fontsize=9.5)
        ax.tick_params(axis="x", length=0, pad=5)
        ax.tick_params(axis="y", length=3, labelsize=8.5)
        ax.grid(axis="y")
        ax.axhline(chart.whole, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)
        for group in range(0, len(patterns), 2):
            ax.axvspan(group - 0.5, group + 0.5, color="#f6f6f6", linewidth=0, zorder=0)
        for i, series in enumerate(chart.series):
            places = {
                pattern: group + width * (i + 0.5 - len(chart.series) / 2) for group, pattern in enumerate(patterns)
            }
            if not series.published:
                _mark_missing(ax, summary, chart.whole, series, places, width)
            _draw_bars(ax, series, places, width * (0.74 if series.published else 0.9))
    fields[len(fields) // 2].set_ylabel(
        "share of the control" if chart.measure == "ratio" else "payload received (Mb/s)"
    )


def _mark_missing(
    ax: Axes, summary: Summary, whole: float, series: Series, places: Mapping[str, float], width: float
) -> None:
    """In the place of a scheme's bars: what is drawn where there is no valid trial, or nothing was run; and a cross
    above bars of which some trials do not count."""
    # A bar without a valid trial must not look like a low rate, nor like one that was not run: both would be read as a
    # result. So an outline up to the dashed line says that there was a run and that its height is unknown.
    top, scheme = ax.get_ylim()[1], series.scheme
    bars = {pattern: bar for pattern in places if (bar := summary.bars.get((pattern, scheme)))}
    not_run = [x for pattern, x in places.items() if pattern not in bars]
    void = [places[pattern] for pattern in bars if pattern not in series.bars]
    partly_valid = [p for p, bar in bars.items() if p in series.bars and bar.valid_trials < bar.trials]
    ax.plot(not_run, [0.05 * top] * len(not_run), color=MUTED, zorder=7, **_CROSS)
    style: dict[str, Any] = {"facecolor": "white", "edgecolor": colour(scheme), "hatch": _HATCH, "alpha": 0.7}
    ax.bar(void, [whole] * len(void), width * 0.86, linewidth=0.9, linestyle=(0, (2, 1.5)), zorder=2, **style)
    ax.plot(void, [0.46 * top] * len(void), zorder=7, **_RED_CROSS)
    heights = [min(series.bars[p].high + 0.045 * top, 0.97 * top) for p in partly_valid]
    ax.plot([places[p] for p in partly_valid], heights, **_SMALL_CROSS, zorder=7)


def _draw_legend(figure: PrintableFigure, summary: Summary, charts: Sequence[Chart]) -> None:
    handles, labels = zip(*_list_legend_entries(summary, charts), strict=True)
    for rows in range(1, len(handles) + 1):  # as few as the figure's width allows, filled evenly
        columns = -(-len(handles) // rows)
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, **_LEGEND)
        if legend.get_window_extent().width < 0.97 * figure.bbox.width:
            break
        legend.remove()


def _list_legend_entries(summary: Summary, charts: Sequence[Chart]) -> Iterator[tuple[Any, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    for scheme in summary.schemes:
        yield Patch(facecolor=colour(scheme)), "nonblocking (control)" if scheme == CONTROL else scheme
    levels = f"payload capacity {format_number(charts[-1].whole)} Mb/s"
    yield Line2D([], [], color=INK, lw=0.9, ls=DASHES), ("control; " if len(charts) > 1 else "") + levels
    published = [series.scheme for series in charts[-1].series if series.published]
    if published:
        yield Patch(facecolor="white", edgecolor=MUTED), "outline: published (NSDI '10), in Mb/s scaled"
    if any(scheme in MAYBE_PUBLISHED_ECMP for scheme in published):
        yield Patch(facecolor="white", edgecolor=INK), "published ECMP"
    control = ", or none of the control" if len(charts) > 1 else ""
    void = summary.frame[[f"median_{chart.measure}" for chart in charts]].isna().any(axis=1)
    if void.any():
        box = Patch(facecolor="white", edgecolor=MUTED, hatch=_HATCH)
        yield (box, Line2D([], [], **_RED_CROSS)), f"no valid trial{control}"
    if (~void & (summary.frame.valid_trials < summary.frame.trials)).any():
        yield Line2D([], [], **_SMALL_CROSS), "some trials do not count, left out"
    if len(summary.bars) < len(summary.patterns) * len(summary.schemes):
        yield Line2D([], [], color=MUTED, **_CROSS), "not run"
