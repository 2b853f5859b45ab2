"""DCTCP and TCP in one queue: two endless senders, one receiver (CoNEXT '12, section 5.1).

The published percentiles are of a hardware switch and of Mininet-HiFi, with links of 100 Mb/s, a queue of 425 packets,
a delay of 75 us and marks from K = 20 packets on. At 1 Gb/s K is 65, as in DCTCP's own paper (section 4).
Mininet-HiFi's delay varies by 50 us. Netem then reorders packets of a burst, which no switch does, so here it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plots.style import INK, house_style, save
from record.output import plain_table, write_csv
from studies.hifi.scene import Flow, Row, Scene, Seen, packets_for
from studies.hifi.stage import played

if TYPE_CHECKING:
    from rich.table import Table

FRAMES = 425
"""Full packets that fit in the queue."""
RAMP = (35_000 - 30_000) / 1500
"""Packets from the first mark until all are marked, as in the original's RED (min 30000, max 35000)."""
MARKS = {100.0: 20, 1000.0: 65}
LENGTH_S = {100.0: 60.0, 1000.0: 6.0}
QUICK_SHARE = 0.25
SETTLED_S = 5.0
"""When the original starts to sample; shorter runs start after a third."""
CONTROLS = {"dctcp": "DCTCP", "reno": "TCP (Reno)"}
COLOURS = {"dctcp": "#0072b2", "reno": "#d55e00", "cubic": "#009e73"}
PUBLISHED: dict[str, dict[str, tuple[float, float, float]]] = {
    "hardware": {"dctcp": (17.1, 19.0, 20.7), "reno": (226, 337, 418)},
    "Mininet-HiFi": {"dctcp": (18, 21, 22), "reno": (235, 353, 418)},
}
"""The queue in packets, 5th percentile, median and 95th, at 100 Mb/s; from the data of `mininet/mininet-tests`, dctcp/
(commit d8cb876)."""


def scene(mbps: float, control: str, seed: int, quick: bool = False) -> Scene:
    """The seed draws the flows' start times."""
    seconds = LENGTH_S[mbps] * (QUICK_SHARE if quick else 1)
    starts = np.random.default_rng(seed).uniform(0, 0.05 * seconds, 2)
    return Scene(
        name=f"dctcp-{mbps:g}-{control}-{seconds:g}s-{seed}",
        mbps=mbps,
        flows=tuple(Flow(n, float(start)) for n, start in enumerate(starts, start=1)),
        seconds=seconds,
        window=(min(SETTLED_S, seconds / 3), seconds),
        seed=seed,
        queue_packets=packets_for(FRAMES),
        congestion_control=control,
        mark_packets=MARKS[mbps],
        ramp_packets=RAMP,
        every_s=1e-3 * 100 / mbps if control == "dctcp" else 5e-3 * 100 / mbps,
        delay_ms=0.075,
        round_trips=False,
        wake=10 / mbps,  # seldom enough to cost little, often enough for the receive window to grow as with any program
    )


def row(seen: Seen) -> Row:
    """The result of a scene: the queue in full frames over its samples, the port's utilisation as a share of its rate,
    both flows' rates, drops and timeouts."""
    scene, queue, rates = seen.scene, seen.queue_packets, seen.goodput
    names = ("least", "p5", "p25", "median", "p75", "p95", "most")
    return {
        "mbps": scene.mbps, "congestion_control": scene.congestion_control,
        "marks": scene.mark_packets if scene.congestion_control == "dctcp" else 0,
        "seed": scene.seed, "seconds": scene.seconds, "looks": queue.size,
        **dict(zip(names, np.percentile(queue, (0, 5, 25, 50, 75, 95, 100)).tolist(), strict=True)),
        "mean": float(queue.mean()), "utilisation": seen.utilisation, "least_flow_mbps": float(rates.min()),
        "most_flow_mbps": float(rates.max()), "drops": seen.drops, "timeouts": seen.tcp.get("timeouts", 0),
        "out_of_order": seen.tcp.get("segments_out_of_order", 0),
    }  # fmt: skip


def quantiles(seen: Seen) -> list[Row]:
    """Each percentile of a scene's queue, packets; the picture is drawn from these."""
    which = {"mbps": seen.scene.mbps, "congestion_control": seen.scene.congestion_control, "seed": seen.scene.seed}
    found = np.percentile(seen.queue_packets, range(101)).tolist()
    return [{**which, "percent": percent, "packets": packets} for percent, packets in enumerate(found)]


def make(mbps: float, seeds: int | None, quick: bool, folder: Path) -> tuple[list[Row], list[Table], list[Path]]:
    """Play it all, a run of each control for every seed; its rows, the table, and the files that are written."""
    many = range(1, 1 + (seeds or (1 if quick else 5)))
    seen = played([scene(mbps, control, seed, quick) for control in CONTROLS for seed in many])
    rows, percentiles = [row(one) for one in seen], [quantile for one in seen for quantile in quantiles(one)]
    table = plain_table("The queue in packets: ours, the hardware's, Mininet-HiFi's", "", "5 %", "median", "95 %")
    for control in CONTROLS:
        own = [one for one in rows if one["congestion_control"] == control]
        told = {f"seed {one['seed']}": (one["p5"], one["median"], one["p95"]) for one in own}
        told |= {who: theirs[control] for who, theirs in PUBLISHED.items() if mbps == 100}
        for who, values in told.items():
            table.add_row(f"{control}, {who}", *(f"{value:.1f}" for value in values))
    name = "dctcp" if mbps == 100 else "dctcp-1g"
    files = [write_csv(folder / f"{name}.csv", rows), write_csv(folder / f"{name}-queue.csv", percentiles)]
    return rows, [table], [*files, draw(percentiles, folder / f"{name}.png")]


def draw(rows: Sequence[Row], path: Path) -> Path:
    """A panel for DCTCP and one for TCP: the distribution of the queue over samples, a line for every run; the
    published 5th percentiles, medians and 95th percentiles as marks."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        for axes, (control, name) in zip(figure.subplots(1, 2), CONTROLS.items(), strict=True):
            own = [row for row in rows if row["congestion_control"] == control]
            for seed in dict.fromkeys(row["seed"] for row in own):
                run = [row for row in own if row["seed"] == seed]
                line = axes.plot([row["packets"] for row in run], [row["percent"] for row in run], lw=1.2)[0]
                line.set(color=COLOURS[control], alpha=0.7, label="ours" if seed == own[0]["seed"] else None)
            for (who, theirs), mark in zip(PUBLISHED.items() if own[0]["mbps"] == 100 else (), "os", strict=False):
                axes.plot(theirs[control], (5, 50, 95), mark, ms=6, mfc="white", mec=INK, label=who)
            axes.set(xlabel="packets in the queue", ylabel="looks with at most so many, %", ylim=(0, 100))
            axes.set_xlim(left=0)
            axes.set_title(f"{name}, links of {own[0]['mbps']:g} Mb/s")
            axes.legend(fontsize=8)
        return save(figure, path)[0]
