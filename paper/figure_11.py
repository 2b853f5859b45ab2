"""Figure 11: bisection bandwidth over time, with flows that arrive and end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.options import field_options
from hedera.schemes import label
from paper.scale import at_scale, interval, told_seeds
from paper.style import clean, heading, new_figure, saved
from paper.suite import SCHEMES
from plots.style import colour, house_style, scheme_order
from results.output import Compared, comparison
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config

if TYPE_CHECKING:
    from simulator.result import Result

STEP_S = 0.5


@dataclass(frozen=True)
class Point:
    """The bisection bandwidth under a scheme with one seed, averaged over STEP_S around a time."""

    seconds: float
    scheme: str
    seed: int
    gbps: float


def compute(base: Config, run: Runner = in_turn, schemes: Sequence[str] = SCHEMES, seeds: int = 1) -> list[Result]:
    """Simulate ``base`` under every scheme, with seeds 1, 2 and so on."""
    from simulator.driver import simulate

    every = range(1, seeds + 1)
    return run(simulate, [replace(base, scheme=scheme, seed=seed) for scheme in schemes for seed in every])


def series(result: Result) -> list[Point]:
    """The curve of one simulation."""
    config = result.config
    step = max(1, round(STEP_S / config.tick_s))
    whole = config.ticks // step * step
    totals = result.total_mbps[:whole].reshape(-1, step).mean(axis=1) / 1000
    width = step * config.tick_s
    return [Point((n + 0.5) * width, config.scheme, config.seed, float(t)) for n, t in enumerate(totals)]


def draw(points: Sequence[Point], subtitle: str, path: Path) -> Path:
    """A line per scheme, the mean over seeds, in a band from the lowest to the highest."""
    schemes = scheme_order({point.scheme for point in points})
    with house_style():
        figure = new_figure(8.4, 4.4)
        axes = figure.subplots()
        for scheme in sorted(schemes, key=lambda s: s != "nonblocking"):
            heavy = scheme == "nonblocking"
            by_time: dict[float, list[float]] = {}
            for point in points:
                if point.scheme == scheme:
                    by_time.setdefault(point.seconds, []).append(point.gbps)
            times, gbps = list(by_time), np.array(list(by_time.values()))
            shade = colour(scheme)
            axes.fill_between(times, gbps.min(axis=1), gbps.max(axis=1), color=shade, alpha=0.18, lw=0)
            axes.plot(times, gbps.mean(axis=1), color=shade, lw=2.6 if heavy else 1.4, label=label(scheme))
        axes.set_xlim(0, points[-1].seconds + points[0].seconds)
        axes.set_ylim(0)
        axes.set_xlabel("time [s]")
        axes.set_ylabel("bisection bandwidth [Gb/s]")
        axes.legend(loc="lower right")  # where curves that rise from 0 leave room
        clean(axes)
        heading(figure, "Figure 11: bisection bandwidth over time", subtitle)
        return saved(figure, path)


@click.command()
@at_scale(k=16)
@field_options(Config, "arrivals_per_s mean_mbytes", arrivals_per_s=0.1, mean_mbytes=1250.0)
@computed
def command(asked: Computing, schemes: tuple[str, ...], seeds: int, **fields: Any) -> None:
    """Simulate bisection bandwidth over time: 1,024 hosts, random bijection, flows that arrive and end."""
    base = Config("ecmp", "randbij", **fields)
    results = compute(base, asked.runner(f"Figure 11, k={base.k}"), schemes, seeds)
    points = [point for result in results for point in series(result)]
    load = (
        f"{base.tree.num_hosts:,} hosts, {base.arrivals_per_s:g} flows per s and host "
        f"of {base.mean_mbytes:g} MB on average"
    )
    name = f"figure11_k{base.k}"
    files = [asked.csv(name, points), draw(points, load, asked.png(name))]
    compared = []
    for scheme in schemes:
        own = [r for r in results if r.config.scheme == scheme]
        found = interval(np.array([r.bisection_mbps / 1000 for r in own]))
        times, flows = np.concatenate([r.completion_s for r in own]), sum(r.src.size for r in own)
        took = f"{times.mean():.2f} s mean, {np.median(times):.2f} s median"
        told = f"{found.spread}{times.size:,} of {flows:,} flows completed, {took}"
        compared.append(Compared(scheme, None, found.mean, told))
    asked.conclude(
        points,
        [comparison(f"Figure 11: bisection bandwidth, {load}, {told_seeds(seeds)}", compared, "Gb/s")],
        files,
    )
