"""Figure 10: the suite of patterns on 8,192 hosts, with the paper's model of TCP and with fair shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.schemes import label
from paper.scale import at_scale, engines_option, interval, told_seeds
from paper.style import ENGINE_LABELS, clean, heading, new_figure, saved
from paper.suite import SCHEMES, suite
from plots.style import INK, colour, house_style, scheme_order
from results.output import Compared, comparison
from results.published import GAIN_OVER_STATIC, SHARE_OF_OPTIMAL
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import ENGINES, Config
from topos.arrays import Float64
from topos.fattree import FatTree

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Share:
    """One pattern under one scheme with one seed: the bisection bandwidth, and as a share of all hosts' links."""

    engine: str
    traffic: str
    scheme: str
    seed: int
    bisection_mbps: float
    percent_of_full: float


def compute(
    base: Config,
    run: Runner = in_turn,
    schemes: Sequence[str] = SCHEMES,
    engines: Sequence[str] = ENGINES,
    seeds: int = 1,
) -> list[Share]:
    """Simulate ``base`` with every pattern of the suite under every scheme and engine, with seeds 1, 2 and so on."""
    from simulator.driver import bisection_mbps

    configs = [
        replace(base, engine=engine, scheme=scheme, traffic=traffic, seed=seed)
        for engine in engines
        for traffic in suite(base.tree)
        for scheme in schemes
        for seed in range(1, seeds + 1)
    ]
    # Runs with the most flows first, so that no long one is left at the end.
    by_cost = sorted(configs, key=lambda config: config.traffic, reverse=True)
    found = dict(zip(by_cost, run(bisection_mbps, by_cost), strict=True))
    return [Share(c.engine, c.traffic, c.scheme, c.seed, found[c], 100 * found[c] / c.capacity_mbps) for c in configs]


Shares = Mapping[tuple[str, str], Float64]
"""Percent of all hosts' links by pattern and scheme, (seeds,)."""


def by_pattern(rows: Sequence[Share]) -> Shares:
    """The shares of one engine."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        found.setdefault((row.traffic, row.scheme), []).append(row.percent_of_full)
    return {cell: np.array(values) for cell, values in found.items()}


def of_optimal(shares: Shares, scheme: str) -> dict[str, Float64]:
    """By pattern: percent of the non-blocking network's share with the same seed, (seeds,)."""
    return {p: 100 * shares[p, scheme] / shares[p, "nonblocking"] for p, own in shares if own == scheme}


def over_static(shares: Shares, scheme: str) -> dict[str, Float64]:
    """By pattern: percent more than static hashing with the same seed, (seeds,)."""
    return {p: 100 * (shares[p, scheme] / shares[p, "ecmp"] - 1) for p, own in shares if own == scheme}


def summary(rows: Sequence[Share]) -> list[Compared]:
    """The numbers in the paper's text on this figure, beside ours; empty unless all of its schemes are there."""
    if not {row.scheme for row in rows} >= set(SCHEMES):
        return []
    shares = by_pattern(rows)
    told = []
    for scheme in ("hedera-sa", "hedera-gff"):
        optimal = of_optimal(shares, scheme)
        low = min(optimal, key=lambda pattern: float(optimal[pattern].mean()))
        found = interval(np.mean(list(optimal.values()), axis=0))
        case = f"{scheme} over optimal, mean of patterns"
        lowest = f"{found.spread}lowest {optimal[low].mean():.1f} ({low})"
        told.append(Compared(case, SHARE_OF_OPTIMAL, found.mean, lowest))
    for scheme in ("hedera-sa", "hedera-gff"):
        gain = over_static(shares, scheme)
        top = max(gain, key=lambda pattern: float(gain[pattern].mean()))
        found = interval(gain[top])
        case = f"{scheme} over static hashing, at most"
        told.append(Compared(case, GAIN_OVER_STATIC, found.mean, f"{found.spread}at {top}"))
    return told


def ahead(shares: Shares, margin: float = 0.1) -> list[str]:
    """The patterns where Global First Fit beats Simulated Annealing: by at least ``margin`` points on average, and
    with several seeds by an interval that excludes 0."""
    found = []
    for pattern in dict.fromkeys(traffic for traffic, _ in shares):
        if {(pattern, "hedera-gff"), (pattern, "hedera-sa")} <= shares.keys():
            points = interval(shares[pattern, "hedera-gff"] - shares[pattern, "hedera-sa"])
            if points.mean >= margin and (points.low is None or points.low > 0):
                found.append(pattern)
    return found


def better(rows: Sequence[Share]) -> str:
    """A sentence on where Global First Fit beats Simulated Annealing (`ahead`)."""
    shares = by_pattern(rows)
    means = {cell: float(values.mean()) for cell, values in shares.items()}
    told = [f"{p} ({means[p, 'hedera-gff']:.1f} against {means[p, 'hedera-sa']:.1f} %)" for p in ahead(shares)]
    return f"Global First Fit is ahead of Simulated Annealing on {', '.join(told) or 'no pattern'}."


def draw(rows: Sequence[Share], tree: FatTree, path: Path) -> Path:
    """Bars of the means over seeds grouped by pattern, a panel per engine; lines from the lowest to the highest."""
    patterns = list(dict.fromkeys(row.traffic for row in rows))
    engines = list(dict.fromkeys(row.engine for row in rows))
    schemes = [s for s in scheme_order({row.scheme for row in rows}) if s != "nonblocking"]
    schemes += ["nonblocking"] * any(row.scheme == "nonblocking" for row in rows)
    x = np.arange(len(patterns))
    with house_style():
        figure = new_figure(11, 1.4 + 3.2 * len(engines))
        grid = figure.subplots(len(engines), 1, sharex=True, squeeze=False)[:, 0]
        width = 0.82 / len(schemes)
        for axes, engine in zip(grid, engines, strict=True):
            shares = by_pattern([row for row in rows if row.engine == engine])
            for place, scheme in enumerate(schemes):
                heights = np.array([shares[pattern, scheme] for pattern in patterns])
                at = x - 0.41 + (place + 0.5) * width
                axes.bar(at, heights.mean(axis=1), width * 0.94, color=colour(scheme), label=label(scheme))
                wide = np.ptp(heights, axis=1) > 0.5  # the others would be specks
                low, high = heights[wide].min(axis=1), heights[wide].max(axis=1)
                axes.vlines(at[wide], low, high, color=INK, lw=1)
            axes.set_title(ENGINE_LABELS[engine])
            axes.set_xlim(-0.6, len(patterns) - 0.4)
            axes.set_ylim(0, 100)
            axes.set_ylabel("share of full bisection [%]")
            clean(axes)
        grid[-1].set_xticks(x, [p.replace(":", "\n") for p in patterns])
        grid[0].legend(ncols=len(schemes), loc="lower right", bbox_to_anchor=(1, 1.0))
        heading(figure, f"Figure 10: the suite of patterns, {tree.num_hosts:,} hosts (k = {tree.k})")
        return saved(figure, path)


@click.command()
@at_scale(k=32)
@engines_option
@computed
def command(asked: Computing, schemes: tuple[str, ...], engines: tuple[str, ...], seeds: int, **fields: Any) -> None:
    """Simulate the suite of patterns on 8,192 hosts, with the paper's model of TCP and with fair shares."""
    base = Config("ecmp", "stride:1", **fields)
    rows = compute(base, asked.runner(f"Figure 10, k={base.k}"), schemes, engines, seeds)
    name = f"figure10_k{base.k}"
    files = [asked.csv(name, rows), draw(rows, base.tree, asked.png(name))]
    told: list[Table | str] = []
    for engine in engines:
        own = [row for row in rows if row.engine == engine]
        means = [(cell, interval(values)) for cell, values in by_pattern(own).items()]
        compared = [
            Compared(f"{traffic}  {scheme}", None, found.mean, found.spread) for (traffic, scheme), found in means
        ]
        size = f"{base.tree.num_hosts:,} hosts, {told_seeds(seeds)}"
        title = f"Figure 10 under {engine}: share of full bisection bandwidth, {size}"
        told += [comparison(title, compared + summary(own), "%"), better(own)]
    asked.conclude(rows, told, files)
