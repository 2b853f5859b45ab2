"""The pictures of the simulator's figures and tables, in the house style of plots/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plots.style import INK, MUTED, colour, house_style, save, scheme_order
from topos.fattree import FatTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simulator.explain import Fit

PUBLISHED = "#d4d4d4"
_LABELS = {
    "ecmp": "ECMP (5-tuple hash)",
    "spanning-tree": "spanning tree",
    "hedera-gff": "Global First Fit",
    "hedera-sa": "Simulated Annealing",
    "nonblocking": "non-blocking",
}


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _saved(figure: Figure, path: Path) -> Path:
    return save(figure, path)[0]


def _heading(figure: Figure, title: str, subtitle: str) -> None:
    figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
    figure.axes[0].set_title(subtitle, loc="left", fontsize=9, color=MUTED, pad=10)


def _clean(axes: Axes, grid: str = "y") -> None:
    axes.grid(axis=grid)  # type: ignore[arg-type]
    axes.tick_params(length=0)


def figure_3(
    data: Sequence[tuple[str, int, float, float, float]],
    paper: Mapping[int, float],
    tree: FatTree,
    path: Path,
) -> Path:
    """Loss against flows per host; ``data``: (model, flows per host, mean, lowest, highest), percent."""
    with house_style():
        figure = _figure(6.8, 4.2)
        axes = figure.subplots()
        styles = {"worst link": ("#0072b2", "o"), "max-min": ("#e69f00", "s")}
        for model, (shade, marker) in styles.items():
            rows = [row for row in data if row[0] == model]
            if not rows:
                continue
            _, flows, mean, low, high = (np.array(column) for column in zip(*rows, strict=True))
            axes.fill_between(flows, low, high, color=shade, alpha=0.2, lw=0)
            label = {"worst link": "a flow runs at its worst link's share", "max-min": "max-min fair rates"}[
                model
            ]
            axes.plot(flows, mean, marker=marker, ms=4, color=shade, label=label)
        known = [n for n in paper if n <= max(row[1] for row in data)]
        axes.plot(
            known, [paper[n] for n in known], "x", color=INK, ms=9, mew=2, label="paper's text", zorder=5
        )
        for n in known:
            axes.annotate(
                f"{paper[n]} %", (n, paper[n]), xytext=(9, 7), textcoords="offset points", fontsize=8.5
            )
        axes.set_xscale("log")
        ticks = [n for n in (1, 10, 100, 1000) if n <= max(row[1] for row in data)]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
        axes.set_ylim(0, 70)
        axes.set_xlabel("flows per host, at the same time")
        axes.set_ylabel("bisection bandwidth lost to collisions [%]")
        axes.legend()
        _clean(axes)
        _heading(
            figure,
            "Figure 3: what hash collisions cost",
            f"{tree.num_hosts:,} hosts (k = {tree.k}), random receivers, every flow on a path of its own hash",
        )
        return _saved(figure, path)


def figure_9(
    data: Sequence[tuple[str, str, float, float, float, float, float]], seeds: int, path: Path
) -> Path:
    """Published bars beside ours; ``data``: (matrix, scheme, published, mean, sd, lowest, highest), Mb/s."""
    panels = (("ecmp", "spanning-tree"), ("hedera-gff",), ("hedera-sa",), ("nonblocking",))
    titles = (
        'published testbed "ECMP" against ours: 5-tuple hashing, and a spanning tree',
        "Global First Fit",
        "Simulated Annealing",
        "non-blocking network",
    )
    names = list(dict.fromkeys(row[0] for row in data))
    rows = {(row[0], row[1]): row for row in data}
    x = np.arange(len(names))
    with house_style():
        figure = _figure(11, 9.2)
        all_axes = figure.subplots(
            4, 1, sharex=True, sharey=True, gridspec_kw={"height_ratios": [1.25, 1, 1, 1]}
        )
        for axes, schemes, title in zip(all_axes, panels, titles, strict=True):
            width = 0.8 / (1 + len(schemes))
            left = x - 0.4 + width / 2
            axes.bar(left, [rows[n, schemes[0]][2] / 1000 for n in names], width, color=PUBLISHED)
            for place, scheme in enumerate(schemes, start=1):
                ours = np.array([rows[n, scheme][3:] for n in names]) / 1000
                mean, low, high = ours[:, 0], ours[:, 2], ours[:, 3]
                at = left + place * width
                axes.bar(at, mean, width, color=colour(scheme))
                wide = high - low > 0.1  # the others would be specks
                axes.vlines(at[wide], low[wide], high[wide], color=INK, lw=1)
            axes.set_title(title)
            axes.set_ylim(0, 16)
            axes.set_yticks((0, 4, 8, 12, 16))
            axes.set_ylabel("Gb/s")
            _clean(axes)
        all_axes[-1].set_xticks(x, names, rotation=40, ha="right", rotation_mode="anchor")
        all_axes[-1].set_xlim(-0.6, len(names) - 0.4)
        from matplotlib.patches import Patch

        shown = ["ecmp", "spanning-tree", "hedera-gff", "hedera-sa"]
        handles = [Patch(color=PUBLISHED, label="published, testbed")]
        handles += [Patch(color=colour(s), label=f"simulated, {_LABELS[s]}") for s in shown]
        handles += [Patch(color=colour("nonblocking"), label="simulated, non-blocking")]
        figure.legend(handles=handles, loc="outside upper right", ncols=3, fontsize=8.5)
        figure.suptitle(
            "Figure 9, simulated: 16 hosts, 1 Gb/s links\n",
            x=0.01,
            ha="left",
            fontsize=11.5,
            fontweight="bold",
        )
        note = (
            f"bars: mean of {seeds} seeds; lines: lowest to highest, where they differ by more than 0.1 Gb/s"
        )
        figure.supxlabel(note, fontsize=8.5, color=MUTED)
        return _saved(figure, path)


def figure_10(share: Mapping[tuple[str, str], float], tree: FatTree, path: Path) -> Path:
    """Grouped bars; ``share``: percent of the full bisection bandwidth by (traffic, scheme)."""
    patterns = list(dict.fromkeys(traffic for traffic, _ in share))
    schemes = [s for s in scheme_order({s for _, s in share}) if s != "nonblocking"] + ["nonblocking"]
    x = np.arange(len(patterns))
    with house_style():
        figure = _figure(11, 4.6)
        axes = figure.subplots()
        width = 0.82 / len(schemes)
        for place, scheme in enumerate(schemes):
            heights = [share[pattern, scheme] for pattern in patterns]
            at = x - 0.41 + (place + 0.5) * width
            axes.bar(at, heights, width * 0.94, color=colour(scheme), label=_LABELS[scheme])
        axes.set_xticks(x, [p.replace(":", "\n") for p in patterns])
        axes.set_xlim(-0.6, len(patterns) - 0.4)
        axes.set_ylim(0, 100)
        axes.set_ylabel("share of full bisection bandwidth [%]")
        axes.legend(ncols=len(schemes), loc="lower right", bbox_to_anchor=(1, 1.0))
        _clean(axes)
        _heading(
            figure, "Figure 10: the suite of patterns at scale", f"{tree.num_hosts:,} hosts (k = {tree.k})"
        )
        return _saved(figure, path)


def figure_11(
    times: NDArray[np.float64], series: Mapping[str, NDArray[np.float64]], subtitle: str, path: Path
) -> Path:
    """Lines over time; ``series``: Gb/s (times,) by scheme."""
    order = [s for s in scheme_order(series) if s != "nonblocking"]
    with house_style():
        figure = _figure(8.4, 4.4)
        axes = figure.subplots()
        for scheme in ("nonblocking", *order):
            heavy = scheme == "nonblocking"
            axes.plot(
                times, series[scheme], color=colour(scheme), lw=2.6 if heavy else 1.4, label=_LABELS[scheme]
            )
        axes.set_xlim(0, times[-1] + times[0])
        axes.set_ylim(0, 1.15 * max(float(values.max()) for values in series.values()))
        axes.set_xlabel("time [s]")
        axes.set_ylabel("bisection bandwidth [Gb/s]")
        axes.legend(ncols=4, loc="upper center")
        _clean(axes)
        _heading(figure, "Figure 11: bisection bandwidth over time", subtitle)
        return _saved(figure, path)


def table_3(data: Sequence[Sequence[Any]], subtitle: str, path: Path) -> Path:
    """Share against iterations; ``data``: (hosts, iterations, published or "", percent, lowest, highest)."""
    with house_style():
        figure = _figure(7.6, 4.4)
        axes = figure.subplots()
        shades = ("#009e73", "#0072b2", "#d55e00")
        for shade, hosts in zip(shades, dict.fromkeys(row[0] for row in data), strict=False):
            rows = [row for row in data if row[0] == hosts and row[1] != "nonblocking"]
            ideal = next(row for row in data if row[0] == hosts and row[1] == "nonblocking")
            counts = [row[1] for row in rows]
            axes.plot(counts, [row[3] for row in rows], "o-", ms=4, color=shade, label=f"{hosts:,} hosts")
            axes.axhline(ideal[3], color=shade, lw=0.9, ls=":")
            known = [(row[1], row[2]) for row in rows if row[2] != ""]
            if known:
                axes.plot(*zip(*known, strict=True), "x", color=shade, ms=6, mew=1.4)
        axes.plot([], [], "o-", ms=4, color=MUTED, label="ours")
        axes.plot([], [], "x", color=MUTED, ms=6, mew=1.4, label="paper")
        axes.plot([], [], ":", color=MUTED, label="ours, non-blocking")
        axes.set_xscale("log")
        ticks = [1000, 10_000, 100_000, 1_000_000]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
        axes.set_xlabel("iterations of Simulated Annealing in every round")
        axes.set_ylabel("share of full bisection bandwidth [%]")
        axes.legend(ncols=2)
        _clean(axes)
        _heading(figure, "Table 3: how many iterations are enough", subtitle)
        return _saved(figure, path)


def table_6(data: Sequence[Sequence[Any]], path: Path) -> Path:
    """Bars of messages and computation; ``data`` as in table6.csv."""
    labels = [f"{row[0]:,} hosts,\n{row[1]} flow{'s' * (row[1] > 1)} each" for row in data]
    x = np.arange(len(data))
    with house_style():
        figure = _figure(9.6, 4.4)
        axes = figure.subplots()
        messages = np.array([row[4] for row in data])
        computed = np.array([row[5] for row in data])
        axes.bar(x - 0.2, messages, 0.36, color="#56b4e9", label="messages (model)")
        axes.bar(
            x - 0.2, computed, 0.36, bottom=messages, color="#0072b2", label="computation, measured here"
        )
        axes.bar(x + 0.2, messages, 0.36, color="#56b4e9", alpha=0.6)
        axes.bar(x + 0.2, 100.0, 0.36, bottom=messages, color=PUBLISHED, label="computation, 100 ms assumed")
        axes.plot(x + 0.2, [row[2] for row in data], "_", color=INK, ms=19, mew=1.6, label="paper's Table 6")
        for n, height in enumerate(messages + computed):
            axes.annotate(
                f"{height:.1f}",
                (n - 0.2, height),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        axes.set_xticks(x, labels, fontsize=8)
        axes.set_ylabel("length of a round [ms]")
        axes.set_ylim(0, 175)
        axes.legend(ncols=2, loc="upper left")
        _clean(axes)
        _heading(figure, "Table 6: how long a round of the control loop takes", "")
        return _saved(figure, path)


def explain_ecmp(
    names: Sequence[str], measured: NDArray[np.float64], fits: Mapping[tuple[str, str], Fit], path: Path
) -> Path:
    """Published bars against every routing's scaled prediction, one panel per routing and engine."""
    routings = list(dict.fromkeys(routing for routing, _ in fits))
    engines = list(dict.fromkeys(engine for _, engine in fits))
    with house_style():
        figure = _figure(11, 2.9 * len(engines) + 0.5)
        grid = figure.subplots(len(engines), len(routings), sharex=True, sharey=True, squeeze=False)
        for (routing, engine), one in fits.items():
            axes = grid[engines.index(engine)][routings.index(routing)]
            axes.plot([0, 14], [0, 14], color=MUTED, lw=0.8)
            shade = "#d55e00" if routing == "spanning tree" else "#0072b2"
            axes.plot(one.scaled / 1000, measured / 1000, "o", ms=4.5, color=shade, alpha=0.8, mew=0)
            axes.set_title(f"{routing}, {'max-min' if engine == 'maxmin' else 'AIMD'}")
            note = f"error {100 * one.error:.1f} %\ncorrelation {one.correlation:.3f}\nscale {one.scale:.2f}"
            axes.text(0.05, 0.95, note, transform=axes.transAxes, va="top", fontsize=8.5)
            axes.set_xticks((0, 4, 8, 12))
            axes.set_yticks((0, 4, 8, 12))
            axes.set_xlim(0, 14)
            axes.set_ylim(0, 14)
            axes.set_aspect("equal")
            _clean(axes, "both")
        figure.supxlabel("predicted, scaled by one factor [Gb/s]", fontsize=9)
        figure.supylabel('published testbed "ECMP" [Gb/s]', fontsize=9)
        figure.suptitle(
            'Which routing do the published "ECMP" bars look like?',
            x=0.01,
            ha="left",
            fontsize=11.5,
            fontweight="bold",
        )
        return _saved(figure, path)
