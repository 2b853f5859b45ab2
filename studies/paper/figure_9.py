"""Figure 9, simulated: all published traffic matrices, beside the published results of testbed and simulator.

The paper's simulator agrees with ours for the control, Simulated Annealing and ECMP, but not for Global First Fit
(`hedera explain-gff`). By section 4.3 it should lose nothing where theirs does (stride4: 12,533 Mb/s for any order of
the flows, but theirs has 11,064).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedera.options import seeds_option
from hedera.schemes import SCHEMES as BY_NAME
from hedera.schemes import label
from plots.style import INK, MUTED, colour
from record.published import FIGURE_9, FIGURE_9_SIMULATED
from record.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config
from studies.study import PUBLISHED, Row, column, over_seeds, picture, schemes_option, table

SCHEMES = ("ecmp", "spanning-tree", "hedera-gff", "hedera-sa", "nonblocking")
_TESTBED_ALONE = [name for name, scheme in BY_NAME.items() if not scheme.simulated]
_PUBLISHED: dict[str, dict[str, Any]] = {
    "testbed": {"color": PUBLISHED},
    "simulator": {"facecolor": "white", "edgecolor": MUTED, "hatch": "////", "linewidth": 0.5},
}
_PANELS = {
    'published "ECMP" against ours: 5-tuple hashing, and a spanning tree': ("ecmp", "spanning-tree"),
    "Global First Fit": ("hedera-gff",),
    "Simulated Annealing": ("hedera-sa",),
    "non-blocking network": ("nonblocking",),
}


def compute(
    seeds: int, engine: str = "aimd", tick_s: float = 0.001, run: Runner = in_turn, schemes: Sequence[str] = SCHEMES
) -> list[Row]:
    """Every matrix under every scheme: the bisection bandwidth as published, and ours over seeds.

    The testbed's "ECMP" is shown beside every static scheme, the simulator's only beside ``ecmp``.
    """
    from simulator.driver import bisection_mbps

    cells = [(name, scheme) for name in FIGURE_9 for scheme in schemes]
    cases = [Config(scheme, f"published:{name}", engine=engine, tick_s=tick_s) for name, scheme in cells]
    rows = []
    for (name, scheme), found in zip(cells, over_seeds(run, bisection_mbps, cases, seeds), strict=True):
        simulated = None if scheme in _TESTBED_ALONE else FIGURE_9_SIMULATED.get(name, {}).get(scheme)
        rows.append(
            {
                "matrix": name, "scheme": scheme, "published_testbed_mbps": FIGURE_9[name].get(scheme),
                "published_simulator_mbps": simulated, "mean_mbps": float(np.mean(found)),
                "sd_mbps": float(np.std(found)), "lowest_mbps": min(found), "highest_mbps": max(found),
            }
        )  # fmt: skip
    return rows


def draw(rows: Sequence[Row], seeds: int, path: Path) -> Path:
    names, wanted = (list(dict.fromkeys(row[what] for row in rows)) for what in ("matrix", "scheme"))
    bars = {(row["matrix"], row["scheme"]): row for row in rows}
    panels = {title: [s for s in schemes if s in wanted] for title, schemes in _PANELS.items()}
    known = [scheme for schemes in _PANELS.values() for scheme in schemes]
    panels |= {label(s): [s] for s in wanted if s not in known}
    panels = {title: schemes for title, schemes in panels.items() if schemes}
    x = np.arange(len(names))
    with picture(path, 11, 1.2 + 2.0 * len(panels), "Figure 9, simulated: 16 hosts, 1 Gb/s links\n") as figure:
        from matplotlib.patches import Patch

        all_axes = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (title, schemes) in zip(all_axes, panels.items(), strict=True):
            width = 0.84 / (2 + len(schemes))
            left = x - 0.42 + width / 2
            for number, (whose, style) in enumerate(_PUBLISHED.items()):
                published = [bars[n, schemes[0]][f"published_{whose}_mbps"] or 0 for n in names]
                axes.bar(left + number * width, np.array(published) / 1000, width, **style)
            for number, scheme in enumerate(schemes, start=2):
                ours, place = [bars[n, scheme] for n in names], left + number * width
                mean, low, high = (column(ours, f"{what}_mbps") / 1000 for what in ("mean", "lowest", "highest"))
                axes.bar(place, mean, width, color=colour(scheme))
                wide = high - low > 0.1  # the others would be specks
                axes.vlines(place[wide], low[wide], high[wide], color=INK, lw=1)
            axes.set_title(title)
            axes.set_ylim(0, 16)
            axes.set_yticks((0, 4, 8, 12, 16))
            axes.set_ylabel("Gb/s")
        all_axes[-1].set_xticks(x, names, rotation=40, ha="right", rotation_mode="anchor")
        all_axes[-1].set_xlim(-0.6, len(names) - 0.4)
        handles = [Patch(**style, label=f"published, {whose}") for whose, style in _PUBLISHED.items()]
        handles += [Patch(color=colour(s), label=f"simulated, {label(s)}") for s in wanted]
        figure.legend(handles=handles, loc="outside upper right", ncols=3, fontsize=8.5)
        note = f"bars: mean of {seeds} seeds; lines: lowest to highest, where they differ by more than 0.1 Gb/s"
        figure.supxlabel(note, fontsize=8.5, color=MUTED)
    return path


@click.command()
@click.option(
    "--simulated", is_flag=True, help="Use the simulator (for the figure of emulated runs: hedera report DIR)."
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
    asked.conclude(rows, [table(f"Figure 9: the paper's and our simulation ({seeds} seeds)", rows)], files)


READING = "as read"
"""Flows are placed by estimated demands (section 4.2), in the order of a table, from the first core on."""


def compute_gff(seeds: int, tick_s: float = 0.001, run: Runner = in_turn) -> list[Row]:
    """Simulate every matrix. ``deviations``: (published - mean) / sd, None where sd is below 1 Mb/s."""
    from simulator.driver import bisection_mbps

    cases = [Config("hedera-gff", f"published:{matrix}", tick_s=tick_s) for matrix in FIGURE_9_SIMULATED]
    rows = []
    for matrix, values in zip(FIGURE_9_SIMULATED, over_seeds(run, bisection_mbps, cases, seeds), strict=True):
        published = FIGURE_9_SIMULATED[matrix]["hedera-gff"]
        mean, sd = float(np.mean(values)), float(np.std(values, ddof=1)) if seeds > 1 else 0.0
        ours = {"mean_mbps": mean, "sd_mbps": sd, "lowest_mbps": min(values), "highest_mbps": max(values)}
        deviations = (published - mean) / sd if sd >= 1 else None
        rows.append(
            {"reading": READING, "matrix": matrix, "published_mbps": published, **ours, "deviations": deviations}
        )
    return rows


def summary_gff(rows: Sequence[Row], seeds: int) -> Row:
    """Our means relative to the published numbers, with sign (bias) and without; in how many matrices the published
    number is between our lowest and highest, rounded to whole Mb/s; and the largest absolute deviation, if any."""
    gaps = 100 * (column(rows, "mean_mbps") / column(rows, "published_mbps") - 1)
    inside = [round(row["lowest_mbps"]) <= row["published_mbps"] <= round(row["highest_mbps"]) for row in rows]
    spread = {row["matrix"]: abs(row["deviations"]) for row in rows if row["deviations"] is not None}
    worst = max(spread, key=spread.__getitem__) if spread else ""
    return {
        "reading": READING, "seeds": seeds, "matrices": len(rows), "bias_percent": float(np.mean(gaps)),
        "error_percent": float(np.mean(np.abs(gaps))), "inside": sum(inside), "worst_deviations": spread.get(worst),
        "worst_matrix": worst,
    }  # fmt: skip


@click.command("explain-gff")
@seeds_option(30)
@click.option("--tick", "tick_s", default=0.001, show_default=True, help="Length of a tick, s.")
@computed
def explain_gff(asked: Computing, seeds: int, tick_s: float) -> None:
    """Set Global First Fit beside the results of the paper's own simulator, for the traffic of Figure 9."""
    rows = compute_gff(seeds, tick_s, asked.runner("Predicting"))
    told = summary_gff(rows, seeds)
    files = [asked.csv("explain_gff", rows), asked.csv("explain_gff_readings", [told])]
    tables = [table("Global First Fit, the paper's simulator and ours", rows), table("All together", [told])]
    asked.conclude([told], tables, files)
