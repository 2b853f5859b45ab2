"""Figure 9, simulated: all published traffic matrices, beside the published testbed bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from commands.output import Compared, comparison, conclude, write_csv
from commands.shared import Run, in_turn, in_words, json_option, output, parallel, runner, seeds_option
from paper.style import LABELS, PUBLISHED, clean, heading, new_figure, saved
from plots.style import INK, MUTED, colour, house_style
from results.published import FIGURE_9
from simulator.config import Config

SCHEMES = ("ecmp", "spanning-tree", "hedera-gff", "hedera-sa", "nonblocking")
_PANELS = {
    'published testbed "ECMP" against ours: 5-tuple hashing, and a spanning tree': ("ecmp", "spanning-tree"),
    "Global First Fit": ("hedera-gff",),
    "Simulated Annealing": ("hedera-sa",),
    "non-blocking network": ("nonblocking",),
}


@dataclass(frozen=True)
class Bar:
    """One matrix under one scheme: the testbed's bisection bandwidth as published, and ours over seeds."""

    matrix: str
    scheme: str
    published_testbed_mbps: float
    mean_mbps: float
    sd_mbps: float
    lowest_mbps: float
    highest_mbps: float


def compute(seeds: int, engine: str = "aimd", tick_s: float = 0.001, run: Run = in_turn) -> list[Bar]:
    """Simulate every matrix under every scheme, with seeds 1, 2 and so on."""
    from simulator.driver import bisection_mbps

    configs = [
        Config(scheme, f"published:{name}", seed=seed, engine=engine, tick_s=tick_s)
        for name in FIGURE_9
        for scheme in SCHEMES
        for seed in range(1, seeds + 1)
    ]
    found: dict[tuple[str, str], list[float]] = {}
    for config, value in zip(configs, run(bisection_mbps, configs), strict=True):
        found.setdefault((config.traffic.removeprefix("published:"), config.scheme), []).append(value)
    return [
        Bar(name, scheme, FIGURE_9[name][scheme], float(np.mean(v)), float(np.std(v)), min(v), max(v))
        for (name, scheme), v in found.items()
    ]


def draw(rows: Sequence[Bar], seeds: int, path: Path) -> Path:
    """Published bars beside ours, a panel per scheme."""
    names = list(dict.fromkeys(row.matrix for row in rows))
    bars = {(row.matrix, row.scheme): row for row in rows}
    x = np.arange(len(names))
    with house_style():
        from matplotlib.patches import Patch

        figure = new_figure(11, 9.2)
        all_axes = figure.subplots(
            4, 1, sharex=True, sharey=True, gridspec_kw={"height_ratios": [1.25, 1, 1, 1]}
        )
        for axes, (title, schemes) in zip(all_axes, _PANELS.items(), strict=True):
            width = 0.8 / (1 + len(schemes))
            left = x - 0.4 + width / 2
            published = [bars[n, schemes[0]].published_testbed_mbps / 1000 for n in names]
            axes.bar(left, published, width, color=PUBLISHED)
            for place, scheme in enumerate(schemes, start=1):
                ours = [bars[n, scheme] for n in names]
                at = left + place * width
                axes.bar(at, [bar.mean_mbps / 1000 for bar in ours], width, color=colour(scheme))
                low, high = (
                    np.array([getattr(bar, end) for bar in ours]) / 1000
                    for end in ("lowest_mbps", "highest_mbps")
                )
                wide = high - low > 0.1  # the others would be specks
                axes.vlines(at[wide], low[wide], high[wide], color=INK, lw=1)
            axes.set_title(title)
            axes.set_ylim(0, 16)
            axes.set_yticks((0, 4, 8, 12, 16))
            axes.set_ylabel("Gb/s")
            clean(axes)
        all_axes[-1].set_xticks(x, names, rotation=40, ha="right", rotation_mode="anchor")
        all_axes[-1].set_xlim(-0.6, len(names) - 0.4)
        handles = [Patch(color=PUBLISHED, label="published, testbed")]
        handles += [Patch(color=colour(s), label=f"simulated, {LABELS[s]}") for s in SCHEMES]
        figure.legend(handles=handles, loc="outside upper right", ncols=3, fontsize=8.5)
        heading(figure, "Figure 9, simulated: 16 hosts, 1 Gb/s links\n")
        note = (
            f"bars: mean of {seeds} seeds; lines: lowest to highest, where they differ by more than 0.1 Gb/s"
        )
        figure.supxlabel(note, fontsize=8.5, color=MUTED)
        return saved(figure, path)


@click.command()
@click.option(
    "--simulated", is_flag=True, help="By the simulator (the figure of real runs: hedera report DIR)."
)
@seeds_option(10)
@click.option("--engine", default="aimd", show_default=True, help="aimd or maxmin.")
@click.option("--tick", "tick_s", default=0.001, show_default=True, help="Length of a tick, seconds.")
@output
@json_option
@parallel
@in_words
def command(
    simulated: bool, seeds: int, engine: str, tick_s: float, out: Path, as_json: bool, jobs: int | None,
    cluster: str | None,
) -> None:  # fmt: skip
    """All published traffic matrices, beside the published testbed bars."""
    if not simulated:
        raise click.UsageError("figure 9 of real runs is drawn by `hedera report DIR`; here, add --simulated")
    rows = compute(seeds, engine, tick_s, runner("Figure 9", jobs, cluster))
    files = [
        write_csv(out / "figure9_simulated.csv", rows),
        draw(rows, seeds, out / "figure9_simulated.png"),
    ]
    compared = [
        Compared(
            f"{row.matrix}  {row.scheme}",
            row.published_testbed_mbps,
            row.mean_mbps,
            f"{row.lowest_mbps:,.0f} to {row.highest_mbps:,.0f}",
        )
        for row in rows
    ]
    title = f"Figure 9: published testbed against simulation ({seeds} seeds)"
    conclude(rows, [comparison(title, compared, "Mb/s", digits=0)], files, as_json)
