"""Figure 11: bisection bandwidth over time, with flows that arrive and end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.options import field_options
from hedera.schemes import label
from paper.study import Row, at_scale, column, compared, grouped, over_seeds, picture, table, told_seeds
from plots.style import colour, scheme_order
from results.tasks import Computing, computed
from simulator.config import Config

if TYPE_CHECKING:
    from simulator.result import Result

STEP_S = 0.5


def series(result: Result) -> list[Row]:
    """The curve of one simulation, averaged over STEP_S around each time."""
    config = result.config
    step = max(1, round(STEP_S / config.tick_s))
    whole = config.ticks // step * step
    totals = result.total_mbps[:whole].reshape(-1, step).mean(axis=1) / 1000
    width = step * config.tick_s
    return [
        {"seconds": (n + 0.5) * width, "scheme": config.scheme, "seed": config.seed, "gbps": float(t)}
        for n, t in enumerate(totals)
    ]


def draw(rows: Sequence[Row], subtitle: str, path: Path) -> Path:
    """A line per scheme, the mean over seeds, in a band from the lowest to the highest."""
    by_scheme = grouped(rows, "scheme")
    with picture(path, 8.4, 4.4, "Figure 11: bisection bandwidth over time", subtitle) as figure:
        axes = figure.subplots()
        for scheme in sorted(scheme_order(set(by_scheme)), key=lambda scheme: scheme != "nonblocking"):
            by_time = grouped(by_scheme[scheme], "seconds")
            gbps = np.array([column(own, "gbps") for own in by_time.values()])
            times, shade, heavy = list(by_time), colour(scheme), scheme == "nonblocking"
            axes.fill_between(times, gbps.min(axis=1), gbps.max(axis=1), color=shade, alpha=0.18, lw=0)
            axes.plot(times, gbps.mean(axis=1), color=shade, lw=2.6 if heavy else 1.4, label=label(scheme))
        axes.set_xlim(0, rows[-1]["seconds"] + rows[0]["seconds"])
        axes.set_ylim(0)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("bisection bandwidth [Gb/s]")
        axes.legend(loc="lower right")  # where curves that rise from 0 leave room
    return path


@click.command()
@at_scale(k=16)
@field_options(Config, "arrivals_per_s mean_mbytes", arrivals_per_s=0.1, mean_mbytes=1250.0)
@computed
def command(asked: Computing, schemes: tuple[str, ...], seeds: int, **fields: Any) -> None:
    """Simulate bisection bandwidth over time: 1,024 hosts, random bijection, flows that arrive and end."""
    from simulator.driver import simulate

    base = Config("ecmp", "randbij", **fields)
    cases = [replace(base, scheme=scheme) for scheme in schemes]
    results = over_seeds(asked.runner(f"Figure 11, k={base.k}"), simulate, cases, seeds)
    rows = [row for own in results for result in own for row in series(result)]
    load = (
        f"{base.tree.num_hosts:,} hosts, {base.arrivals_per_s:g} flows per s and host "
        f"of {base.mean_mbytes:g} MB on average"
    )
    told = []
    for scheme, own in zip(schemes, results, strict=True):
        found = compared(scheme, None, np.array([result.bisection_mbps / 1000 for result in own]))
        times, flows = np.concatenate([r.completion_s for r in own]), sum(r.src.size for r in own)
        took = {"completed": times.size, "of_flows": flows, "mean_s": float(times.mean())}
        told.append({**found, **took, "median_s": float(np.median(times))})
    name = f"figure11_k{base.k}"
    title = f"Figure 11: bisection bandwidth, Gb/s, {load}, {told_seeds(seeds)}"
    files = [asked.csv(name, rows), draw(rows, load, asked.png(name))]
    asked.conclude(rows, [table(title, told)], files)
