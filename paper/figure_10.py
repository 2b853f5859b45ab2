"""Figure 10: the suite of patterns on 8,192 hosts, with the paper's model of TCP and with fair shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from commands.computing import Computing, Runner, computed, in_turn
from commands.output import Compared, comparison
from hedera.schemes import label
from paper.scale import at_scale, engines_option
from paper.style import ENGINE_LABELS, clean, heading, new_figure, saved
from paper.suite import SCHEMES, suite
from plots.style import colour, house_style, scheme_order
from results.published import GAIN_OVER_STATIC, SHARE_OF_OPTIMAL
from simulator.config import ENGINES, Config
from topos.fattree import FatTree

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Share:
    """One pattern under one scheme: the bisection bandwidth, and as a share of all hosts' links."""

    engine: str
    traffic: str
    scheme: str
    bisection_mbps: float
    percent_of_full: float


def compute(
    base: Config, run: Runner = in_turn, schemes: Sequence[str] = SCHEMES, engines: Sequence[str] = ENGINES
) -> list[Share]:
    """Simulate ``base`` with every pattern of the suite under every scheme and engine."""
    from simulator.driver import bisection_mbps

    configs = [
        replace(base, engine=engine, scheme=scheme, traffic=traffic)
        for engine in engines
        for traffic in suite(base.tree)
        for scheme in schemes
    ]
    # The runs with most flows first, so that no process is left with a long one at the end.
    by_cost = sorted(configs, key=lambda config: config.traffic, reverse=True)
    found = dict(zip(by_cost, run(bisection_mbps, by_cost), strict=True))
    return [Share(c.engine, c.traffic, c.scheme, found[c], 100 * found[c] / c.capacity_mbps) for c in configs]


def summary(rows: Sequence[Share]) -> list[Compared]:
    """What the paper says about the figure in words, with ours; nothing unless all of its schemes are there."""
    if not {row.scheme for row in rows} >= set(SCHEMES):
        return []
    share = {(row.traffic, row.scheme): row.percent_of_full for row in rows}
    patterns = list(dict.fromkeys(row.traffic for row in rows))
    told = []
    for scheme in ("hedera-sa", "hedera-gff"):
        of_optimal = {p: 100 * share[p, scheme] / share[p, "nonblocking"] for p in patterns}
        low = min(patterns, key=of_optimal.__getitem__)
        mean = sum(of_optimal.values()) / len(patterns)
        case = f"{label(scheme)} over optimal, mean of patterns"
        told.append(Compared(case, SHARE_OF_OPTIMAL, mean, f"lowest {of_optimal[low]:.1f} ({low})"))
    for scheme in ("hedera-sa", "hedera-gff"):
        gain = {p: 100 * (share[p, scheme] / share[p, "ecmp"] - 1) for p in patterns}
        top = max(patterns, key=gain.__getitem__)
        case = f"{label(scheme)} over static hashing, at most"
        told.append(Compared(case, GAIN_OVER_STATIC, gain[top], f"at {top}"))
    return told


def better(rows: Sequence[Share], margin: float = 0.1) -> str:
    """In a sentence, where Global First Fit beats Simulated Annealing, by ``margin`` points at least."""
    share = {(row.traffic, row.scheme): row.percent_of_full for row in rows}
    ahead = [
        f"{traffic} ({share[traffic, 'hedera-gff']:.1f} against {share[traffic, 'hedera-sa']:.1f} %)"
        for traffic in dict.fromkeys(row.traffic for row in rows)
        if {(traffic, "hedera-gff"), (traffic, "hedera-sa")} <= share.keys()
        and share[traffic, "hedera-gff"] - share[traffic, "hedera-sa"] >= margin
    ]
    where = ", ".join(ahead) if ahead else "no pattern"
    return f"Global First Fit is ahead of Simulated Annealing on {where}."


def draw(rows: Sequence[Share], tree: FatTree, path: Path) -> Path:
    """Bars grouped by pattern, a panel per engine."""
    share = {(row.engine, row.traffic, row.scheme): row.percent_of_full for row in rows}
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
            for place, scheme in enumerate(schemes):
                heights = [share[engine, pattern, scheme] for pattern in patterns]
                at = x - 0.41 + (place + 0.5) * width
                axes.bar(at, heights, width * 0.94, color=colour(scheme), label=label(scheme))
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
def command(asked: Computing, schemes: tuple[str, ...], engines: tuple[str, ...], **fields: Any) -> None:
    """The suite of patterns on 8,192 hosts, with the paper's model of TCP and with fair shares."""
    base = Config("ecmp", "stride:1", **fields)
    rows = compute(base, asked.runner(f"Figure 10, k={base.k}"), schemes, engines)
    name = f"figure10_k{base.k}"
    files = [asked.csv(name, rows), draw(rows, base.tree, asked.png(name))]
    told: list[Table | str] = []
    for engine in engines:
        own = [row for row in rows if row.engine == engine]
        compared = [Compared(f"{row.traffic}  {row.scheme}", None, row.percent_of_full) for row in own]
        title = f"Figure 10 under {engine}: share of full bisection bandwidth, {base.tree.num_hosts:,} hosts"
        told += [comparison(title, compared + summary(own), "%"), better(own)]
    asked.conclude(rows, told, files)
