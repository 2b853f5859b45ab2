"""Figure 9, simulated: all published traffic matrices, beside the published results of testbed and simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.options import seeds_option
from hedera.schemes import SCHEMES as BY_NAME
from hedera.schemes import label
from paper.scale import schemes_option
from paper.style import PUBLISHED, clean, heading, new_figure, saved
from plots.style import INK, MUTED, colour, house_style
from results.output import Compared, comparison
from results.published import FIGURE_9, FIGURE_9_SIMULATED
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config

if TYPE_CHECKING:
    from rich.table import Table

SCHEMES = ("ecmp", "spanning-tree", "hedera-gff", "hedera-sa", "nonblocking")
_TESTBED_ALONE = [name for name, scheme in BY_NAME.items() if not scheme.simulated]
_PUBLISHED: dict[str, dict[str, Any]] = {
    "published_testbed_mbps": {"color": PUBLISHED},
    "published_simulator_mbps": {"facecolor": "white", "edgecolor": MUTED, "hatch": "////", "linewidth": 0.5},
}
_PANELS = {
    'published "ECMP" against ours: 5-tuple hashing, and a spanning tree': ("ecmp", "spanning-tree"),
    "Global First Fit": ("hedera-gff",),
    "Simulated Annealing": ("hedera-sa",),
    "non-blocking network": ("nonblocking",),
}


@dataclass(frozen=True)
class Bar:
    """One matrix under one scheme: the bisection bandwidth as published, and ours over seeds.

    ``published_testbed_mbps``, ``published_simulator_mbps``: None if there is none. The testbed's "ECMP" is shown
    beside every static scheme, the simulator's only beside ``ecmp``.
    """

    matrix: str
    scheme: str
    published_testbed_mbps: float | None
    published_simulator_mbps: float | None
    mean_mbps: float
    sd_mbps: float
    lowest_mbps: float
    highest_mbps: float


def compute(
    seeds: int,
    engine: str = "aimd",
    tick_s: float = 0.001,
    run: Runner = in_turn,
    schemes: Sequence[str] = SCHEMES,
) -> list[Bar]:
    """Simulate every matrix under every scheme, with seeds 1, 2 and so on."""
    from simulator.driver import bisection_mbps

    configs = [
        Config(scheme, f"published:{name}", seed=seed, engine=engine, tick_s=tick_s)
        for name in FIGURE_9
        for scheme in schemes
        for seed in range(1, seeds + 1)
    ]
    found: dict[tuple[str, str], list[float]] = {}
    for config, value in zip(configs, run(bisection_mbps, configs), strict=True):
        found.setdefault((config.traffic.removeprefix("published:"), config.scheme), []).append(value)
    return [
        Bar(
            name,
            scheme,
            FIGURE_9[name].get(scheme),
            None if scheme in _TESTBED_ALONE else FIGURE_9_SIMULATED.get(name, {}).get(scheme),
            float(np.mean(v)),
            float(np.std(v)),
            min(v),
            max(v),
        )
        for (name, scheme), v in found.items()
    ]


def draw(rows: Sequence[Bar], seeds: int, path: Path) -> Path:
    """Published bars beside ours, a panel per scheme."""
    names, wanted = (list(dict.fromkeys(getattr(row, what) for row in rows)) for what in ("matrix", "scheme"))
    bars = {(row.matrix, row.scheme): row for row in rows}
    panels = {title: [s for s in schemes if s in wanted] for title, schemes in _PANELS.items()}
    known = [scheme for schemes in _PANELS.values() for scheme in schemes]
    panels |= {label(s): [s] for s in wanted if s not in known}
    panels = {title: schemes for title, schemes in panels.items() if schemes}
    x = np.arange(len(names))
    with house_style():
        from matplotlib.patches import Patch

        figure = new_figure(11, 1.2 + 2.0 * len(panels))
        all_axes = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (title, schemes) in zip(all_axes, panels.items(), strict=True):
            width = 0.84 / (2 + len(schemes))
            left = x - 0.42 + width / 2
            for place, (field, style) in enumerate(_PUBLISHED.items()):
                published = np.array([getattr(bars[n, schemes[0]], field) or 0 for n in names])
                axes.bar(left + place * width, published / 1000, width, **style)
            for place, scheme in enumerate(schemes, start=2):
                ours = [bars[n, scheme] for n in names]
                at = left + place * width
                axes.bar(at, [bar.mean_mbps / 1000 for bar in ours], width, color=colour(scheme))
                low, high = (
                    np.array([getattr(bar, end) for bar in ours]) / 1000 for end in ("lowest_mbps", "highest_mbps")
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
        handles = [Patch(**style, label=f"published, {field.split('_')[1]}") for field, style in _PUBLISHED.items()]
        handles += [Patch(color=colour(s), label=f"simulated, {label(s)}") for s in wanted]
        figure.legend(handles=handles, loc="outside upper right", ncols=3, fontsize=8.5)
        heading(figure, "Figure 9, simulated: 16 hosts, 1 Gb/s links\n")
        note = f"bars: mean of {seeds} seeds; lines: lowest to highest, where they differ by more than 0.1 Gb/s"
        figure.supxlabel(note, fontsize=8.5, color=MUTED)
        return saved(figure, path)


@click.command()
@click.option(
    "--simulated",
    is_flag=True,
    help="Use the simulator (for the figure of emulated runs: hedera report DIR).",
)
@schemes_option(SCHEMES)
@seeds_option(10)
@click.option("--engine", default="aimd", show_default=True, help="aimd or maxmin.")
@click.option("--tick", "tick_s", default=0.001, show_default=True, help="Length of a tick, s.")
@computed
def command(
    asked: Computing, simulated: bool, schemes: tuple[str, ...], seeds: int, engine: str, tick_s: float
) -> None:
    """Simulate all published traffic matrices, beside the published results of testbed and simulator."""
    if not simulated:
        raise click.UsageError("`hedera report DIR` draws Figure 9 of emulated runs; to simulate it, add --simulated")
    rows = compute(seeds, engine, tick_s, asked.runner("Figure 9"), schemes)
    name = "figure9_simulated"
    files = [asked.csv(name, rows), draw(rows, seeds, asked.png(name))]
    tables = [
        _compared(f"Figure 9: the paper's {what} against our simulation ({seeds} seeds)", pairs)
        for what, pairs in (
            ("testbed", [(row, row.published_testbed_mbps) for row in rows]),
            ("simulator", [(row, row.published_simulator_mbps) for row in rows]),
        )
    ]
    asked.conclude(rows, tables, files)


def _compared(title: str, pairs: Sequence[tuple[Bar, float | None]]) -> Table:
    compared = [
        Compared(
            f"{row.matrix}  {row.scheme}",
            published,
            row.mean_mbps,
            f"{row.lowest_mbps:,.0f} to {row.highest_mbps:,.0f}",
        )
        for row, published in pairs
    ]
    return comparison(title, compared, "Mb/s", digits=0)
