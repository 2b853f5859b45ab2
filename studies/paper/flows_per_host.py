"""Hedera's gain over ECMP when hosts have several flows (`hedera flows-per-host`).

The paper has no such figure: its patterns have one flow per host. The replication report expects the advantage to
vanish with several flows. This finds how many flows that takes, and how much of it comes from flows that are no
longer large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import click

from hedera.options import field_options, seeds_option
from hedera.schemes import CONTROL, label
from hedera.schemes import scheme as scheme_of
from plots.style import colour, scheme_order
from plots.trials import difference
from record.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config
from studies.study import (
    ENGINE_LABELS,
    SCHEMES,
    Row,
    engines_option,
    grouped,
    numbers,
    over_seeds,
    picture,
    schemes_option,
    table,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from topos.fattree import FatTree

COUNTS = "1,2,3,4,6,8,12,16"
DROPPED = (6, 0.5)
"""The replication report's second case: 6 flows per host, half of them dropped."""
_BASELINE = "ecmp"
_RATIOS = ("over_ecmp", "over_control")


def patterns(tree: FatTree) -> tuple[str, ...]:
    """A stride over half of the network, random bijections, random receivers."""
    return (f"stride:{tree.num_hosts // 2}", "randbij", "random")


def plan(base: Config, counts: Sequence[int], schemes: Sequence[str], thresholds: Sequence[float]) -> Iterator[Config]:
    """All cases. They always include ECMP and the control, with the same flows as the others."""
    for traffic in patterns(base.tree):
        for count, keep in (*((count, 1.0) for count in counts), DROPPED):
            for name in dict.fromkeys((_BASELINE, CONTROL, *schemes)):
                for threshold in thresholds if scheme_of(name).scheduler else thresholds[:1]:
                    flows: dict[str, Any] = {"traffic": traffic, "flows_per_host": count, "keep": keep}
                    yield replace(base, scheme=name, threshold=threshold, **flows)


def measure(config: Config) -> tuple[float, float]:
    """The share of the capacity that one simulation carried, and the share of its flows that were large."""
    from simulator.driver import Simulation

    simulation = Simulation(config)
    carried = float(simulation.window().mean()) / config.capacity_mbps
    rounds = simulation.rounds
    return carried, mean(one.large for one in rounds) / len(simulation.work) if rounds else 0.0


def compute(cases: Sequence[Config], seeds: int, run: Runner = in_turn) -> list[Row]:
    """Carry out a `plan`: a row for each scheme on a pattern with a number of flows per host, means over the seeds;
    ratios are to runs of the same seed.

    ``keep``: the share of the flows that are kept. ``threshold``: the share of a link above which a flow is large;
    None for a scheme that does not use it. ``large_share``: the share of flows that were large, over all rounds.
    ``low``, ``high``: Student's interval of 95 % of ``over_control``; None with fewer than three seeds.
    ``over_ecmp_by_seed``: every seed's, in their order, with spaces between.
    """
    found = dict(zip(cases, over_seeds(run, measure, cases, seeds), strict=True))
    static = max(case.threshold for case in cases)  # schemes that do not use it were run with this one
    rows = []
    for case, ours in found.items():
        schedules = scheme_of(case.scheme).scheduler is not None
        shares, large = zip(*ours, strict=True)
        over_ecmp, over_control = (
            [share / other for share, (other, _) in zip(shares, found[beside], strict=True)]
            for beside in (replace(case, scheme=name, threshold=static) for name in (_BASELINE, CONTROL))
        )
        of = difference(None, over_control)
        rows.append(
            {
                "k": case.k, "engine": case.engine, "traffic": case.traffic, "flows_per_host": case.flows_per_host,
                "keep": case.keep, "scheme": case.scheme, "threshold": case.threshold if schedules else None,
                "seeds": seeds, "percent": 100 * mean(shares), "lowest_percent": 100 * min(shares),
                "highest_percent": 100 * max(shares), "over_ecmp": mean(over_ecmp), "over_control": of.mean,
                "large_share": mean(large) if schedules else None, "low": of.low, "high": of.high,
                "over_ecmp_by_seed": " ".join(f"{ratio:.6g}" for ratio in over_ecmp),
            }
        )  # fmt: skip
    return rows


def draw(rows: Sequence[Row], subtitle: str, path: Path) -> Path:
    """A column per pattern, a row per engine: shares of the control against flows per host.

    Thin and dashed: with lower thresholds, so that more flows are large. Bands: intervals over seeds.
    """
    kept = [row for row in rows if row["keep"] == 1]
    engines = grouped(kept, "engine")
    title = f"Hedera and ECMP with several flows per host. {subtitle}"
    with picture(path, 9.6, 1.4 + 2.4 * len(engines), title) as figure:
        grid = figure.subplots(len(engines), 3, sharex=True, sharey=True, squeeze=False)
        for line, (engine, ours) in zip(grid, engines.items(), strict=True):
            for axes, (traffic, own) in zip(line, grouped(ours, "traffic").items(), strict=True):
                _panel(axes, own)
                axes.set_title(f"{traffic}, {ENGINE_LABELS[engine]}")
            line[0].set_ylabel("share of the control")
        for axes in grid[-1]:
            axes.set_xticks(sorted(grouped(kept, "flows_per_host")))
            axes.set_xlabel("flows per host")
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return path


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    usual = max((row["threshold"] for row in rows if row["threshold"] is not None), default=None)
    by_scheme = grouped(rows, "scheme")
    for scheme in scheme_order(set(by_scheme) - {CONTROL}):
        for threshold, ours in grouped(by_scheme[scheme], "threshold").items():
            other = threshold != usual and threshold is not None
            x, y = [row["flows_per_host"] for row in ours], [row["over_control"] for row in ours]
            named = label(scheme) + (f", large from {threshold:.0%}" if other else "")
            axes.plot(x, y, "--" if other else ".-", color=colour(scheme), lw=0.9 if other else 1.5, label=named)
            if ours[0]["low"] is not None:
                low, high = ([row[end] for row in ours] for end in ("low", "high"))
                axes.fill_between(x, low, high, color=colour(scheme), alpha=0.15, lw=0)
    axes.set_ylim(0, 1.05)


@click.command()
@schemes_option(SCHEMES)
@click.option(
    "--flows-per-host", "counts", default=COUNTS, show_default=True, help="Numbers of flows, comma-separated."
)
@click.option(
    "--thresholds", default="0.1,0.01", show_default=True,
    help="Thresholds of large flows, as shares of a link; the largest is the usual one.",
)  # fmt: skip
@engines_option
@field_options(Config, "k seconds interval_s tick_s iterations", seconds=12.0, interval_s=2.0, tick_s=0.01)
@seeds_option(5)
@computed
def command(
    asked: Computing, schemes: tuple[str, ...], engines: tuple[str, ...], counts: str, thresholds: str, seeds: int,
    **options: Any,
) -> None:  # fmt: skip
    """Simulate Hedera's gain over ECMP by number of flows per host."""
    large_from = sorted(numbers("--thresholds", thresholds, float), reverse=True)
    many = numbers("--flows-per-host", counts, int)
    bases = [Config("ecmp", "random", engine=engine, **options) for engine in engines]
    cases = [case for base in bases for case in plan(base, many, schemes, large_from)]
    for case in cases:
        case.matrix()  # a mistake in any of them is found before the first run
    k, hosts = cases[0].k, cases[0].tree.num_hosts
    rows = compute(cases, seeds, asked.runner(f"flows per host, k={k}"))
    note = f"{hosts:,} hosts, {seeds} seed{'s' * (seeds > 1)}"
    name, which = f"flows_per_host_k{k}", ("engine", "scheme", "flows_per_host", "keep", "threshold")
    told = [
        dict(zip(which, case, strict=True)) | {over: mean(row[over] for row in own) for over in _RATIOS}
        for case, own in grouped(rows, *which).items()
    ]
    files = [asked.csv(name, rows), draw(rows, note, asked.png(name))]
    asked.conclude(rows, [table(f"Means over three patterns. {note}", told)], files)
