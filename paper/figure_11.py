"""Figure 11: bisection bandwidth over time, with flows that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from commands.computing import Computing, Runner, computed, in_turn
from commands.output import Compared, comparison
from commands.parameters import field_options
from hedera.schemes import label
from paper.scale import at_scale
from paper.style import clean, heading, new_figure, saved
from paper.suite import SCHEMES
from plots.style import colour, house_style, scheme_order
from simulator.config import Config

if TYPE_CHECKING:
    from simulator.result import Result

STEP_S = 0.5


@dataclass(frozen=True)
class Point:
    """The bisection bandwidth under a scheme, averaged over STEP_S around a time."""

    seconds: float
    scheme: str
    gbps: float


def compute(base: Config, run: Runner = in_turn, schemes: Sequence[str] = SCHEMES) -> list[Result]:
    """Simulate ``base`` under every scheme."""
    from simulator.driver import simulate

    return run(simulate, [replace(base, scheme=scheme) for scheme in schemes])


def series(result: Result) -> list[Point]:
    """The curve of one simulation."""
    config = result.config
    step = max(1, round(STEP_S / config.tick_s))
    whole = config.ticks // step * step
    totals = result.total_mbps[:whole].reshape(-1, step).mean(axis=1) / 1000
    return [Point((n + 0.5) * (step * config.tick_s), config.scheme, float(t)) for n, t in enumerate(totals)]


def draw(points: Sequence[Point], subtitle: str, path: Path) -> Path:
    """A line per scheme."""
    schemes = scheme_order({point.scheme for point in points})
    with house_style():
        figure = new_figure(8.4, 4.4)
        axes = figure.subplots()
        for scheme in sorted(schemes, key=lambda s: s != "nonblocking"):
            heavy = scheme == "nonblocking"
            ours = [point for point in points if point.scheme == scheme]
            times, gbps = [point.seconds for point in ours], [point.gbps for point in ours]
            axes.plot(times, gbps, color=colour(scheme), lw=2.6 if heavy else 1.4, label=label(scheme))
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
def command(asked: Computing, schemes: tuple[str, ...], **fields: Any) -> None:
    """Bisection bandwidth over time: 1,024 hosts, random bijection, flows that come and go."""
    base = Config("ecmp", "randbij", **fields)
    results = compute(base, asked.runner(f"Figure 11, k={base.k}"), schemes)
    points = [point for result in results for point in series(result)]
    load = (
        f"{base.tree.num_hosts:,} hosts, {base.arrivals_per_s:g} flows per s and host "
        f"of {base.mean_mbytes:g} MB on average"
    )
    name = f"figure11_k{base.k}"
    files = [asked.csv(name, points), draw(points, load, asked.png(name))]
    compared = [
        Compared(
            r.config.scheme,
            None,
            r.bisection_mbps / 1000,
            f"{r.completion_s.size:,} of {r.src.size:,} flows completed, "
            f"{np.mean(r.completion_s):.2f} s mean, {np.median(r.completion_s):.2f} s median",
        )
        for r in results
    ]
    asked.conclude(points, [comparison(f"Figure 11: bisection bandwidth, {load}", compared, "Gb/s")], files)
