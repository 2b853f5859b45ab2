"""Figure 10: the suite of patterns on 8,192 hosts, with the paper's model of TCP and with fair shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedera.schemes import label
from plots.style import INK, colour, scheme_order
from record.published import GAIN_OVER_STATIC, SHARE_OF_OPTIMAL
from record.tasks import Computing, Runner, computed, in_turn
from simulator.config import ENGINES, Config
from studies.study import (
    ENGINE_LABELS,
    SCHEMES,
    Row,
    at_scale,
    column,
    compared,
    engines_option,
    grouped,
    means,
    over_seeds,
    picture,
    suite,
    table,
    told_seeds,
)
from topos.fattree import FatTree


def compute(
    base: Config,
    run: Runner = in_turn,
    schemes: Sequence[str] = SCHEMES,
    engines: Sequence[str] = ENGINES,
    seeds: int = 1,
) -> list[Row]:
    """Simulate ``base`` with every pattern of the suite under every scheme and engine: a row for each seed."""
    from simulator.driver import bisection_mbps

    cases = [
        replace(base, engine=engine, scheme=scheme, traffic=traffic)
        for engine in engines
        for traffic in suite(base.tree)
        for scheme in schemes
    ]
    found = over_seeds(run, bisection_mbps, cases, seeds, cost=lambda config: config.traffic)
    return [
        {
            "engine": case.engine, "traffic": case.traffic, "scheme": case.scheme, "seed": seed,
            "bisection_mbps": value, "percent_of_full": 100 * value / case.capacity_mbps,
        }
        for case, values in zip(cases, found, strict=True)
        for seed, value in enumerate(values, start=1)
    ]  # fmt: skip


def summary(rows: Sequence[Row]) -> list[Row]:
    """The numbers in the paper's text on this figure, beside ours, which are paired by seed; empty unless all of its
    schemes are there."""
    from pandas import DataFrame

    if not set(SCHEMES) <= {row["scheme"] for row in rows}:
        return []
    shares = DataFrame(rows).pivot(index="seed", columns=["scheme", "traffic"], values="percent_of_full")
    told, gained = [], []
    for scheme in ("hedera-sa", "hedera-gff"):
        optimal, gain = 100 * shares[scheme] / shares["nonblocking"], 100 * (shares[scheme] / shares["ecmp"] - 1)
        low, top = optimal.mean().idxmin(), gain.mean().idxmax()
        case = f"{scheme} over optimal, mean of patterns, lowest on {low} ({optimal[low].mean():.1f} %)"
        told.append(compared(case, SHARE_OF_OPTIMAL, optimal.mean(axis=1).to_numpy()))
        gained.append(
            compared(f"{scheme} over static hashing, at most, at {top}", GAIN_OVER_STATIC, gain[top].to_numpy())
        )
    return told + gained


def draw(rows: Sequence[Row], tree: FatTree, path: Path) -> Path:
    """Bars of the means over seeds grouped by pattern, a panel per engine; lines from the lowest to the highest."""
    engines = grouped(rows, "engine")
    patterns = list(dict.fromkeys(row["traffic"] for row in rows))
    schemes = sorted(scheme_order({row["scheme"] for row in rows}), key=lambda scheme: scheme == "nonblocking")
    x, width = np.arange(len(patterns)), 0.82 / len(schemes)
    title = f"Figure 10: the suite of patterns, {tree.num_hosts:,} hosts (k = {tree.k})"
    with picture(path, 11, 1.4 + 3.2 * len(engines), title) as figure:
        grid = figure.subplots(len(engines), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (engine, own) in zip(grid, engines.items(), strict=True):
            shares = {cell: column(same, "percent_of_full") for cell, same in grouped(own, "traffic", "scheme").items()}
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
        grid[-1].set_xticks(x, [p.replace(":", "\n") for p in patterns])
        grid[0].legend(ncols=len(schemes), loc="lower right", bbox_to_anchor=(1, 1.0))
    return path


@click.command()
@at_scale(k=32)
@engines_option
@computed
def command(asked: Computing, schemes: tuple[str, ...], engines: tuple[str, ...], seeds: int, **fields: Any) -> None:
    """Simulate the suite of patterns on 8,192 hosts, with the paper's model of TCP and with fair shares."""
    base = Config("ecmp", "stride:1", **fields)
    rows = compute(base, asked.runner(f"Figure 10, k={base.k}"), schemes, engines, seeds)
    told = []
    for engine, own in grouped(rows, "engine").items():
        title = f"Figure 10 under {engine}: {base.tree.num_hosts:,} hosts, {told_seeds(seeds)}"
        told.append(
            table(f"{title}: share of full bisection bandwidth", means(own, "percent_of_full", "traffic", "scheme"))
        )
        if text := summary(own):
            told.append(table("The paper's text, %", text))
    name = f"figure10_k{base.k}"
    asked.conclude(rows, told, [asked.csv(name, rows), draw(rows, base.tree, asked.png(name))])
