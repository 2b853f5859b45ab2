"""Hedera's gain over ECMP when hosts have several flows (`hedera flows-per-host`).

The paper has no such figure: its patterns have one flow per host. The replication report expects the advantage to
vanish with several flows. This finds how many flows that takes, and how much of it comes from flows that are no
longer large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import click

from hedera.options import field_options, seeds_option
from hedera.schemes import CONTROL, label
from hedera.schemes import scheme as scheme_of
from paper.scale import engines_option, numbers, schemes_option
from paper.style import ENGINE_LABELS, clean, heading, new_figure, saved
from plots.style import colour, house_style, scheme_order
from results.output import plain_table
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.table import Table

    from topos.fattree import FatTree

SCHEMES = ("ecmp", "hedera-gff", "hedera-sa", "nonblocking")
COUNTS = "1,2,3,4,6,8,12,16"
DROPPED = (6, 0.5)
"""The replication report's second case: 6 flows per host, half of them dropped."""
_BASELINE = "ecmp"


@dataclass(frozen=True)
class Row:
    """A scheme on a pattern with a number of flows per host, means over the seeds; ratios are to runs of the same
    seed.

    ``keep``: the share of the flows that are kept. ``threshold``: the share of a link above which a flow is large;
    None for a scheme that does not use it. ``percent``: of the capacity, the mean, lowest and highest.
    ``large_share``: the share of flows that were large, over all rounds.
    """

    k: int
    engine: str
    traffic: str
    flows_per_host: int
    keep: float
    scheme: str
    threshold: float | None
    seeds: int
    percent: float
    lowest_percent: float
    highest_percent: float
    over_ecmp: float
    over_control: float
    large_share: float | None


def patterns(tree: FatTree) -> tuple[str, ...]:
    """A stride over half of the network, random bijections, random receivers."""
    return (f"stride:{tree.num_hosts // 2}", "randbij", "random")


def plan(
    base: Config, counts: Sequence[int], schemes: Sequence[str], thresholds: Sequence[float], seeds: int
) -> list[Config]:
    """All simulations. They always include ECMP and the control, with the same flows as the others."""
    tasks = []
    for traffic in patterns(base.tree):
        for count, keep in (*((count, 1.0) for count in counts), DROPPED):
            for name in dict.fromkeys((_BASELINE, CONTROL, *schemes)):
                here = replace(base, traffic=traffic, flows_per_host=count, keep=keep, scheme=name)
                for threshold in thresholds if scheme_of(name).scheduler else thresholds[:1]:
                    tasks += [replace(here, threshold=threshold, seed=n) for n in range(1, seeds + 1)]
    return tasks


def measure(config: Config) -> tuple[float, float]:
    """The share of the capacity that one simulation carried, and the share of its flows that were large."""
    from simulator.driver import Simulation

    simulation = Simulation(config)
    carried = float(simulation.window().mean()) / config.capacity_mbps
    rounds = simulation.rounds
    return carried, mean(one.large for one in rounds) / len(simulation.work) if rounds else 0.0


def compute(tasks: Sequence[Config], run: Runner = in_turn) -> list[Row]:
    """Carry out a `plan`."""
    found = dict(zip(tasks, run(measure, tasks), strict=True))
    static = max(task.threshold for task in tasks)  # schemes that do not use it were run with this one
    cases: dict[Config, list[Config]] = {}
    for task in tasks:
        cases.setdefault(replace(task, seed=1), []).append(task)
    rows = []
    for first, ours in cases.items():
        schedules = scheme_of(first.scheme).scheduler is not None
        shares = [found[task][0] for task in ours]
        over_ecmp, over_control = (
            mean(found[task][0] / found[replace(task, scheme=other, threshold=static)][0] for task in ours)
            for other in (_BASELINE, CONTROL)
        )
        rows.append(
            Row(
                first.k,
                first.engine,
                first.traffic,
                first.flows_per_host,
                first.keep,
                first.scheme,
                first.threshold if schedules else None,
                len(ours),
                100 * mean(shares),
                100 * min(shares),
                100 * max(shares),
                over_ecmp,
                over_control,
                mean(found[task][1] for task in ours) if schedules else None,
            )
        )
    return rows


def draw(rows: Sequence[Row], subtitle: str, path: Path) -> Path:
    """A column per pattern, a row per engine: shares of the control against flows per host.

    Thin and dashed: with lower thresholds, so that more flows are large.
    """
    lines = list(dict.fromkeys(row.engine for row in rows))
    with house_style():
        figure = new_figure(9.6, 1.4 + 2.4 * len(lines))
        grid = figure.subplots(len(lines), 3, sharex=True, sharey=True, squeeze=False)
        for line, engine in zip(grid, lines, strict=True):
            ours = [row for row in rows if (row.engine, row.keep) == (engine, 1)]
            shown = dict.fromkeys(row.traffic for row in ours)
            for axes, traffic in zip(line, shown, strict=True):
                _panel(axes, [row for row in ours if row.traffic == traffic])
                axes.set_title(f"{traffic}, {ENGINE_LABELS[engine]}")
            line[0].set_ylabel("share of the control")
        for axes in grid[-1]:
            axes.set_xticks(sorted({row.flows_per_host for row in rows if row.keep == 1}))
            axes.set_xlabel("flows per host")
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
        heading(figure, f"Hedera and ECMP with several flows per host. {subtitle}")
        return saved(figure, path)


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    usual = max((row.threshold for row in rows if row.threshold is not None), default=None)
    for scheme in scheme_order({row.scheme for row in rows} - {CONTROL}):
        for threshold in dict.fromkeys(row.threshold for row in rows if row.scheme == scheme):
            ours = [row for row in rows if (row.scheme, row.threshold) == (scheme, threshold)]
            other = threshold != usual and threshold is not None
            x, y = [row.flows_per_host for row in ours], [row.over_control for row in ours]
            named = label(scheme) + (f", large from {threshold:.0%}" if other else "")
            axes.plot(x, y, "--" if other else ".-", color=colour(scheme), lw=0.9 if other else 1.5, label=named)
    axes.set_ylim(0, 1.05)
    clean(axes)


@click.command()
@schemes_option(SCHEMES)
@click.option(
    "--flows-per-host", "counts", default=COUNTS, show_default=True, help="Numbers of flows, comma-separated."
)
@click.option(
    "--thresholds",
    default="0.1,0.01",
    show_default=True,
    help="Thresholds of large flows, as shares of a link; the largest is the usual one.",
)
@engines_option
@field_options(Config, "k seconds interval_s tick_s iterations", seconds=12.0, interval_s=2.0, tick_s=0.01)
@seeds_option(3)
@computed
def command(
    asked: Computing,
    schemes: tuple[str, ...],
    engines: tuple[str, ...],
    k: int,
    counts: str,
    thresholds: str,
    seeds: int,
    **options: Any,
) -> None:
    """Simulate Hedera's gain over ECMP by number of flows per host."""
    large_from = sorted(numbers("--thresholds", thresholds, float), reverse=True)
    many = numbers("--flows-per-host", counts, int)
    tasks = []
    for engine in engines:
        tasks += plan(Config("ecmp", "random", k, engine=engine, **options), many, schemes, large_from, seeds)
    for task in tasks:
        task.matrix()  # a mistake in any of them is found before the first run
    rows = compute(tasks, asked.runner(f"flows per host, k={k}"))
    note = f"{tasks[0].tree.num_hosts:,} hosts, {seeds} seed{'s' * (seeds > 1)}"
    name = f"flows_per_host_k{k}"
    files = [asked.csv(name, rows), draw(rows, note, asked.png(name))]
    asked.conclude(rows, [_told(rows, note)], files)


def _told(rows: Sequence[Row], note: str) -> Table:
    """Means over the patterns."""
    columns = (
        "scheme",
        "engine",
        "flows per host",
        "large from",
        "over ECMP",
        "over the control",
        "large flows",
    )
    made = plain_table(f"Means over three patterns. {note}", *columns)
    for case in dict.fromkeys(map(_case, rows)):
        engine, flows, keep, scheme, threshold = case
        if scheme == CONTROL:
            continue
        ours = [row for row in rows if _case(row) == case]
        large = [row.large_share for row in ours if row.large_share is not None]
        many = f"{flows}" + (f", {keep:.0%} kept" if keep < 1 else "")
        means = [f"{mean(r.over_ecmp for r in ours):.3f}", f"{mean(r.over_control for r in ours):.3f}"]
        share = f"{mean(large):.0%}" if large else ""
        made.add_row(scheme, engine, many, "" if threshold is None else f"{threshold:g}", *means, share)
    return made


def _case(row: Row) -> tuple[str, int, float, str, float | None]:
    """The key that rows of several patterns share."""
    return row.engine, row.flows_per_host, row.keep, row.scheme, row.threshold
