"""Figure 10: the suite of patterns and four schemes on 8,192 hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from commands.output import Compared, comparison, conclude, write_csv
from commands.shared import Run, in_turn, in_words, json_option, output, parallel, runner
from paper.scale import at_scale
from paper.style import LABELS, clean, heading, new_figure, saved
from paper.suite import SCHEMES, suite
from plots.style import colour, house_style, scheme_order
from results.published import GAIN_OVER_STATIC, SHARE_OF_OPTIMAL
from simulator.config import Config
from topos.fattree import FatTree


@dataclass(frozen=True)
class Share:
    """One pattern under one scheme: the bisection bandwidth, and as a share of all hosts' links."""

    traffic: str
    scheme: str
    bisection_mbps: float
    percent_of_full: float


def compute(base: Config, run: Run = in_turn, schemes: Sequence[str] = SCHEMES) -> list[Share]:
    """Simulate ``base`` with every pattern of the suite under every scheme."""
    from simulator.driver import bisection_mbps

    configs = [replace(base, scheme=s, traffic=traffic) for traffic in suite(base.tree) for s in schemes]
    # The runs with most flows first, so that no process is left with a long one at the end.
    by_cost = sorted(configs, key=lambda config: config.traffic, reverse=True)
    found = dict(zip(by_cost, run(bisection_mbps, by_cost), strict=True))
    return [Share(c.traffic, c.scheme, found[c], 100 * found[c] / c.capacity_mbps) for c in configs]


def summary(rows: Sequence[Share]) -> list[Compared]:
    """What the paper says about the figure in words, with ours; nothing unless all of its schemes are there."""
    if not {row.scheme for row in rows} >= set(SCHEMES):
        return []
    share = {(row.traffic, row.scheme): row.percent_of_full for row in rows}
    patterns = list(dict.fromkeys(row.traffic for row in rows))
    best = {p: max(share[p, "hedera-gff"], share[p, "hedera-sa"]) for p in patterns}
    of_optimal = {p: 100 * best[p] / share[p, "nonblocking"] for p in patterns}
    gain = {p: 100 * (best[p] / share[p, "ecmp"] - 1) for p in patterns}
    top, low = max(patterns, key=gain.__getitem__), min(patterns, key=of_optimal.__getitem__)
    return [
        Compared(
            "Hedera (better of two) over optimal, mean of patterns",
            SHARE_OF_OPTIMAL,
            sum(of_optimal.values()) / len(patterns),
            f"lowest {of_optimal[low]:.1f} ({low})",
        ),
        Compared("Hedera over static hashing, at most", GAIN_OVER_STATIC, gain[top], f"at {top}"),
    ]


def draw(rows: Sequence[Share], tree: FatTree, path: Path) -> Path:
    """Bars grouped by pattern."""
    share = {(row.traffic, row.scheme): row.percent_of_full for row in rows}
    patterns = list(dict.fromkeys(row.traffic for row in rows))
    schemes = [s for s in scheme_order({row.scheme for row in rows}) if s != "nonblocking"]
    schemes += ["nonblocking"] * any(row.scheme == "nonblocking" for row in rows)
    x = np.arange(len(patterns))
    with house_style():
        figure = new_figure(11, 4.6)
        axes = figure.subplots()
        width = 0.82 / len(schemes)
        for place, scheme in enumerate(schemes):
            heights = [share[pattern, scheme] for pattern in patterns]
            at = x - 0.41 + (place + 0.5) * width
            axes.bar(at, heights, width * 0.94, color=colour(scheme), label=LABELS.get(scheme, scheme))
        axes.set_xticks(x, [p.replace(":", "\n") for p in patterns])
        axes.set_xlim(-0.6, len(patterns) - 0.4)
        axes.set_ylim(0, 100)
        axes.set_ylabel("share of full bisection bandwidth [%]")
        axes.legend(ncols=len(schemes), loc="lower right", bbox_to_anchor=(1, 1.0))
        clean(axes)
        subtitle = f"{tree.num_hosts:,} hosts (k = {tree.k})"
        heading(figure, "Figure 10: the suite of patterns at scale", subtitle)
        return saved(figure, path)


@click.command()
@at_scale(k=32)
@output
@json_option
@parallel
@in_words
def command(
    out: Path, as_json: bool, jobs: int | None, cluster: str | None, schemes: tuple[str, ...], **fields: Any
) -> None:
    """The suite of patterns and four schemes on 8,192 hosts."""
    base = Config("ecmp", "stride:1", **fields)
    rows = compute(base, runner(f"Figure 10, k={base.k}", jobs, cluster), schemes)
    name = out / f"figure10_k{base.k}"
    files = [write_csv(name.with_suffix(".csv"), rows), draw(rows, base.tree, name.with_suffix(".png"))]
    compared = [Compared(f"{row.traffic}  {row.scheme}", None, row.percent_of_full) for row in rows]
    title = f"Figure 10: share of full bisection bandwidth, {base.tree.num_hosts:,} hosts"
    conclude(rows, [comparison(title, compared + summary(rows), "%")], files, as_json)
