"""The command `hedera explain-gff`: Global First Fit as we read it, beside the paper's own simulator.

For the matrices of Figure 9, the paper's simulator agrees with ours for the control, Simulated Annealing and ECMP,
but not for Global First Fit. By section 4.3 it should lose nothing where theirs does (stride4: 12,533 Mb/s for any
order of the flows, but theirs has 11,064).
"""

from __future__ import annotations

from collections.abc import Sequence

import click
import numpy as np

from hedera.options import seeds_option
from paper.study import Row, column, over_seeds, table
from results.published import FIGURE_9_SIMULATED
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config

READING = "as read"
"""Flows are placed by estimated demands (section 4.2), in the order of a table, from the first core on."""


def compute(seeds: int, tick_s: float = 0.001, run: Runner = in_turn) -> list[Row]:
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


def summary(rows: Sequence[Row], seeds: int) -> Row:
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
def command(asked: Computing, seeds: int, tick_s: float) -> None:
    """Set Global First Fit beside the results of the paper's own simulator, for the traffic of Figure 9."""
    rows = compute(seeds, tick_s, asked.runner("Predicting"))
    told = summary(rows, seeds)
    files = [asked.csv("explain_gff", rows), asked.csv("explain_gff_readings", [told])]
    tables = [table("Global First Fit, the paper's simulator and ours", rows), table("All together", [told])]
    asked.conclude([told], tables, files)
