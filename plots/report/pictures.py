"""The page's pictures: ours against published, static schemes, intervals of differences, scheduling rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plots.report.compare import Match
from plots.report.tallies import PARTS
from plots.shares import our_share, published_share
from plots.style import DASHES, INK, MUTED, colour, label, logarithmic, short
from plots.summary import Summary
from plots.trials import Comparison
from results.record import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINE = 0.22  # inches
_MOST_ROUNDS = 30


def scatters(matches: Sequence[Match]) -> Figure:
    """Ours against published, a point per pattern and a panel per scheme; the pattern furthest from the diagonal is
    named."""
    from matplotlib.figure import Figure

    most = 108 * max([1.0, *(max(pair.ours, pair.published) for match in matches for pair in match.pairs)])
    figure = Figure(figsize=(2.6 * len(matches), 2.9), layout="constrained")
    for axes, match in zip(figure.subplots(1, len(matches), squeeze=False, sharey=True)[0], matches, strict=True):
        x, y = ([100 * getattr(pair, side) for pair in match.pairs] for side in ("published", "ours"))
        axes.plot([0, most], [0, most], color=MUTED, linewidth=0.9, linestyle=DASHES)
        axes.plot(x, y, "o", color=colour(match.scheme), markersize=4, alpha=0.8)
        furthest = max(match.pairs, key=lambda pair: abs(pair.difference))
        at = (100 * furthest.published, 100 * furthest.ours)
        aside = {"textcoords": "offset points", "xytext": (5, -9), "fontsize": 7}
        axes.annotate(label(furthest.pattern), at, **aside, ha="right" if at[0] > most / 2 else "left")
        axes.set(xlim=(0, most), ylim=(0, most), aspect="equal", title=match.scheme)
        axes.set_xlabel(f"published {match.column} (% of control)", fontsize=8)
        axes.grid(True)
    figure.axes[0].set_ylabel("ours (% of control)")
    return figure


def static_shares(summary: Summary, schemes: Sequence[str], patterns: Sequence[str]) -> Figure:
    """Where the published ECMP and our static schemes lie between 0 and the control, a line per pattern."""
    figure, axes = _lines([short(pattern) for pattern in patterns], 1.1)
    theirs = [100 * (published_share(pattern, "ecmp", summary.k) or np.nan) for pattern in patterns]
    axes.plot(theirs, range(len(patterns)), "D", color="white", markeredgecolor=INK, label="published ECMP", zorder=5)
    for scheme in schemes:
        ours = [100 * (our_share(summary, pattern, scheme) or np.nan) for pattern in patterns]
        axes.plot(ours, range(len(patterns)), "o", color=colour(scheme), markersize=5, label=scheme)
    axes.axvline(100, color=INK, linewidth=0.9, linestyle=DASHES)
    axes.set(xlim=(0, 110), xlabel="share of the control (%)")
    figure.legend(loc="outside upper left", ncols=4)
    return figure


def intervals(comparisons: Sequence[Comparison]) -> Figure:
    """The difference of every pair of schemes over all patterns, with its interval; hollow: too few trials for one."""
    figure, axes = _lines([f"{each.first} − {each.second}" for each in comparisons], 0.7)
    for row, one in enumerate(each.overall for each in comparisons):
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [row, row], color=INK, linewidth=1.4)
        if one.mean is not None:
            axes.plot(one.mean, row, "o", color=INK, markersize=5, fillstyle="none" if one.low is None else "full")
    axes.axvline(0, color=INK, linewidth=0.9, linestyle=DASHES)
    axes.set_xlabel("first minus second, Mb/s on the wire")
    return figure


def _lines(labels: Sequence[str], margin: float) -> tuple[Figure, Axes]:
    """An empty picture with a line for each label, the first at the top."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, margin + _LINE * len(labels)), layout="constrained")
    axes = figure.subplots()
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), labels)
    axes.grid(axis="x")
    return figure, axes


def rounds(overheads: Sequence[dict[str, Any]], runs: Sequence[Run]) -> Figure:
    """The time of the parts of a round (dot: median; line: 5th to 95th percentile; tick: longest), where it was
    stored; and the mean number of flows that the first, second, ... round of a run moved."""
    from matplotlib.figure import Figure

    timed = any(part in each["ms"] for each in overheads for part in PARTS)
    figure = Figure(figsize=(7.2, 4.6 if timed else 2.3), layout="constrained")
    *times, moved = figure.subplots(2 if timed else 1, 1, squeeze=False)[:, 0]
    step = 0.8 / len(overheads)
    for number, each in enumerate(overheads):
        tint, aside = colour(each["scheme"]), (number + 0.5) * step - 0.4
        for row, part in enumerate(PARTS if timed else ()):
            if (one := each["ms"].get(part)) is not None:
                times[0].plot([max(one.low, 0.01), one.high], [row + aside] * 2, color=tint, linewidth=1.6)
                times[0].plot(max(one.median, 0.01), row + aside, "o", color=tint, markersize=5)
                times[0].plot(one.maximum, row + aside, "|", color=tint, markersize=7)
        own = [run for run in runs if run.scheme == each["scheme"] and run.rounds]
        longest = min(max(len(run.rounds) for run in own), _MOST_ROUNDS)
        means = [np.mean([run.rounds[i].changed for run in own if i < len(run.rounds)]) for i in range(longest)]
        moved.bar(np.arange(1, longest + 1) + aside, means, 0.9 * step, color=tint, label=each["scheme"])
    if timed:
        logarithmic(times[0], "x")
        times[0].set(ylim=(len(PARTS) - 0.5, -0.5), xlabel="ms")
        times[0].set_yticks(range(len(PARTS)), PARTS)
        times[0].grid(axis="x")
    moved.set(xlabel="round of the run", ylabel="flows moved, mean over runs")
    figure.legend(*moved.get_legend_handles_labels(), loc="outside upper left", ncols=4)
    return figure
