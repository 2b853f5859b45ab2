"""Sweeps beside each other as pictures and on one page: bars side by side, and differences with their intervals.

A bar is a scheme's mean share of the control over the seeds that all folders have; its whisker, and an interval of
differences, is Student's 95 % over seeds, from three on (`plots.compare_sweeps`). The page begins with the settings
that differ; it contains its style and pictures (SVG), and loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from plots.compare_sweeps import Comparison
from plots.paired_tests import estimate_mean
from plots.pictures import create_figure, save
from plots.report import load_page_templates
from plots.style import DASHES, INK, MUTED, embed_image, format_setting, house_style, label, shorten_name
from plots.summary import order_patterns
from record.files import write_whole
from record.options import Pictures, drawing

if TYPE_CHECKING:
    from plots.printable_figure import PrintableFigure

NAME, PAGE = "compare", "compare.html"
_COLOURS = ("#8a8a8a", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442")
"""The colours of folders. The first folder, with which the others are compared, is grey."""
_PATTERN_IN, _PANEL_IN = 0.62, 1.7
_MOST_IN = 13.0


def write(comparison: Comparison, out: Path, page: bool) -> list[Path]:
    """Write the pictures, in the formats that were asked for, and the page, into a folder; return the files."""
    with house_style():
        figures = {NAME: draw_bars(comparison), f"{NAME}-differences": draw_differences(comparison)}
        files = [file for name, figure in figures.items() for file in save(figure, out / name)]
    if page:
        files.append(out / PAGE)
        write_whole(out / PAGE, comparison.remove_local_paths(render_html(comparison)))  # a page is sent to others
    return files


def render_html(comparison: Comparison) -> str:
    """The page, with pictures of its own, whatever was asked for."""
    with house_style(), drawing(Pictures()):
        charts = draw_bars(comparison).content("svg"), draw_differences(comparison).content("svg")
    rows = comparison.rows()
    settings: dict[str, dict[str, str]] = {}
    for folder, differing in comparison.conditions.items():
        for option, value in differing.items():
            settings.setdefault(option, {})[folder] = format_setting(value)
    folders = list(comparison.conditions)
    alike = [(option, format_setting(value)) for option, value in comparison.alike.items() if value not in (None, ())]
    return (
        load_page_templates()
        .get_template("comparison.html")
        .render(
            name=", ".join(folders),
            folders=folders,
            differing=settings,
            rows=rows,
            by_pattern=_average_by_pattern(comparison),
            alike=alike,
            notes=comparison.notes,
            bars=embed_image(
                charts[0], "Shares of the control by pattern, scheme and folder; the table below has the numbers"
            ),
            differences=embed_image(
                charts[1], "Differences to the first folder by scheme, with intervals; the table has them"
            ),
            palette=[],
            reload_s=None,
        )
    )


def _average_by_pattern(comparison: Comparison) -> list[dict[str, Any]]:
    """A row for each scheme and pattern: the mean share in each folder, in the order of folders."""
    means = comparison.paired.groupby(["scheme", "pattern", "folder"], sort=False).ratio.mean()
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for (scheme, pattern, folder), share in means.items():
        rows.setdefault((scheme, pattern), {})[folder] = share
    return [{"scheme": scheme, "pattern": pattern, "shares": shares} for (scheme, pattern), shares in rows.items()]


def draw_bars(comparison: Comparison) -> PrintableFigure:
    """A panel for each scheme; in it a group of bars for each pattern, one for each folder."""
    folders = list(comparison.conditions)
    paired = comparison.paired
    schemes = list(dict.fromkeys(paired.scheme))
    patterns = order_patterns(paired.pattern)
    # As wide as its bars need: with many patterns a page's width, beyond which bars become thin instead.
    width_in = min(_MOST_IN, max(5.0, 1.2 + _PATTERN_IN * len(patterns) * max(1.0, len(folders) / 2)))
    figure = create_figure(width_in, 0.9 + _PANEL_IN * len(schemes))
    fields = figure.subplots(len(schemes), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    width, has_intervals = 0.8 / len(folders), False
    for axes, scheme in zip(fields, schemes, strict=True):
        axes.axhline(1, color=INK, linewidth=0.9, linestyle=DASHES, zorder=1.5)
        for number, folder in enumerate(folders):
            runs = paired[(paired.scheme == scheme) & (paired.folder == folder)]
            by_pattern = {pattern: list(group.ratio) for pattern, group in runs.groupby("pattern")}
            estimates = [
                (place, estimate_mean(None, by_pattern[p])) for place, p in enumerate(patterns) if p in by_pattern
            ]
            positions = [place - 0.4 + (number + 0.5) * width for place, _ in estimates]
            shade = _COLOURS[number % len(_COLOURS)]
            axes.bar(positions, [mean.mean or 0.0 for _, mean in estimates], 0.92 * width, color=shade, label=folder)
            with_interval = [
                (x, mean) for x, (_, mean) in zip(positions, estimates, strict=True) if mean.low is not None
            ]
            has_intervals |= bool(with_interval)
            if with_interval:
                axes.vlines(
                    [x for x, _ in with_interval],
                    [m.low for _, m in with_interval],
                    [m.high for _, m in with_interval],
                    INK,
                    lw=0.9,
                )
        axes.set_title(shorten_name(scheme))
        axes.grid(axis="y")
        axes.set_ylabel("share of the control")
    fields[-1].set_xticks(range(len(patterns)), [label(p) for p in patterns], rotation=40, ha="right")
    figure.legend(*fields[0].get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(folders)))
    whisker = "; whisker: 95 % interval of the mean over seeds" if has_intervals else ""
    heading = fill(f"Mean shares of the control: {', '.join(folders)}{whisker}", round(13 * width_in))
    figure.suptitle(heading, x=0.01, ha="left", fontsize=9, color=MUTED)
    return figure


def draw_differences(comparison: Comparison) -> PrintableFigure:
    """A row for each scheme: the mean difference of each folder to the first, in points, and its interval."""
    first, *other_folders = comparison.conditions
    rows = [row for row in comparison.rows() if row["folder"] != first]
    schemes = list(dict.fromkeys(row["scheme"] for row in rows))
    figure = create_figure(6.4, 1.2 + 0.22 * len(schemes) * (1 + len(other_folders)))
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=0.9, linestyle=DASHES)
    for number, folder in enumerate(other_folders, start=1):
        own = [row for row in rows if row["folder"] == folder]
        positions = [
            schemes.index(row["scheme"]) + (number - (len(other_folders) + 1) / 2) * 0.7 / len(other_folders)
            for row in own
        ]
        ends = _measure_intervals(own)
        axes.errorbar(
            [row["difference_points"] for row in own], positions, xerr=ends, fmt="o", markersize=4, elinewidth=1,
            capsize=2, color=_COLOURS[number % len(_COLOURS)], label=folder,
        )  # fmt: skip
    axes.set_yticks(range(len(schemes)), [shorten_name(scheme) for scheme in schemes])
    axes.set_ylim(len(schemes) - 0.4, -0.6)
    axes.set_xlabel(f"points of the control more than {first}")
    axes.grid(axis="x")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(other_folders)))
    figure.suptitle("Differences, 95 % intervals over seeds", x=0.01, ha="left", fontsize=9, color=MUTED)
    return figure


def _measure_intervals(rows: Sequence[dict[str, Any]]) -> list[list[float]]:
    """The lengths of intervals to the left and to the right; 0 where there is none."""
    intervals = [(row["low_points"], row["difference_points"], row["high_points"]) for row in rows]
    return [
        [0.0 if low is None else mean - low for low, mean, _ in intervals],
        [0.0 if high is None else high - mean for _, mean, high in intervals],
    ]
