"""Does Hedera gain with several flows per host? `hedera flows-per-host`.

The paper's patterns have one flow per host. The replication report expects that Hedera's advantage over ECMP vanishes
with several. This finds how many flows that takes, and how much of it comes from flows that are no longer large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import click

from hedera.schemes import CONTROL, find_scheme
from plots import colour, label_scheme, order_schemes, picture
from record.options import field_options
from simulator.config import Config
from studies.paper import ENGINE_LABELS, KEPT_RULE, SCHEMES, engines_option, schemes_option
from studies.study import (
    Parts,
    Row,
    Rows,
    Study,
    estimate_over_seeds,
    extract_column,
    group_rows,
    make_one_file,
    make_table,
    parse_numbers,
    study,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HALVED = (6, 0.5)
"""The replication report's second case: 6 flows per host, half of them dropped."""
_BASELINE = "ecmp"


def list_cases(
    base: Config, counts: Sequence[int], schemes: Sequence[str], thresholds: Sequence[float]
) -> Iterator[Config]:
    """All cases: a stride over half of the network, random bijections and random receivers, with so many flows per host
    or HALVED. They always include ECMP and the control, with the same flows as the others."""
    for traffic in (f"stride:{base.tree.num_hosts // 2}", "randbij", "random"):
        for count, keep in (*((count, 1.0) for count in counts), HALVED):
            for name in dict.fromkeys((_BASELINE, CONTROL, *schemes)):
                for threshold in thresholds if find_scheme(name).scheduler else thresholds[:1]:
                    flows: dict[str, Any] = {"traffic": traffic, "flows_per_host": count, "keep": keep}
                    yield replace(base, scheme=name, threshold=threshold, **flows)


def simulate_shares(case: Config) -> tuple[float, float]:
    """The share of the capacity that one simulation carried, and the share of its flows that were large."""
    from simulator.driver import Simulation

    simulation = Simulation(case)
    carried = float(simulation.window().mean()) / case.capacity_mbps
    rounds = simulation.rounds
    return carried, mean(round_.large for round_ in rounds) / len(simulation.work) if rounds else 0.0


def _make_rows(answers: dict[Config, list[tuple[float, float]]]) -> Rows:
    """A row for each scheme on a pattern with a number of flows per host, means over the seeds; ratios are to runs of
    the same seed.

    ``keep``: the share of the flows that are kept. ``threshold``: the share of a link above which a flow is large;
    None for a scheme that does not use it. ``large_share``: the share of flows that were large, over all rounds.
    ``low``, ``high``: Student's interval of 95 % of ``over_control``; None with fewer than three seeds.
    ``over_ecmp_by_seed``: every seed's, in their order, with spaces between.
    """
    static = max(case.threshold for case in answers)  # schemes that do not use it were run with this one

    def make_row(case: Config, by_seed: list[tuple[float, float]]) -> Row:
        schedules = find_scheme(case.scheme).scheduler is not None
        shares, large = zip(*by_seed, strict=True)
        over_ecmp, over_control = (
            [share / baseline for share, (baseline, _) in zip(shares, answers[beside], strict=True)]
            for beside in (replace(case, scheme=name, threshold=static) for name in (_BASELINE, CONTROL))
        )
        control = estimate_over_seeds(over_control)
        return {
            "k": case.k, "engine": case.engine, "traffic": case.traffic, "flows_per_host": case.flows_per_host,
            "keep": case.keep, "scheme": case.scheme, "threshold": case.threshold if schedules else None,
            "seeds": len(shares), "percent": 100 * mean(shares), "lowest_percent": 100 * min(shares),
            "highest_percent": 100 * max(shares), "over_ecmp": mean(over_ecmp), "over_control": control.mean,
            "large_share": mean(large) if schedules else None, "low": control.low, "high": control.high,
            "over_ecmp_by_seed": " ".join(f"{ratio:.6g}" for ratio in over_ecmp),
        }  # fmt: skip

    return make_one_file(f"flows_per_host_k{next(iter(answers)).k}", make_row)(answers)


def _tabulate_means(note: str, rows: Rows) -> Parts:
    columns = ("engine", "scheme", "flows_per_host", "keep", "threshold")
    (all_rows,) = rows.values()
    means = [
        dict(zip(columns, key, strict=True))
        | {ratio: mean(row[ratio] for row in cases) for ratio in ("over_ecmp", "over_control")}
        for key, cases in group_rows(all_rows, *columns).items()
    ]
    return [make_table(f"Means over three patterns. {note}", means)]


def _draw_several(note: str, rows: Rows, path: Path) -> None:
    """A column per pattern, a row per engine: shares of the control against flows per host.

    Thin and dashed: with lower thresholds, so that more flows are large. Bands: intervals over seeds.
    """
    (all_rows,) = rows.values()
    unthinned = [row for row in all_rows if row["keep"] == 1]
    engines = group_rows(unthinned, "engine")
    title = f"Hedera and ECMP with several flows per host. {note}; bands: 95 % intervals"
    with picture(path, 9.6, 1.4 + 2.4 * len(engines), title) as figure:
        grid = figure.subplots(len(engines), 3, sharex=True, sharey=True, squeeze=False)
        for line, (engine, rows_of_engine) in zip(grid, engines.items(), strict=True):
            for axes, (traffic, cases) in zip(line, group_rows(rows_of_engine, "traffic").items(), strict=True):
                _draw_panel(axes, cases)
                axes.set_title(f"{traffic}, {ENGINE_LABELS[engine]}")
            line[0].set_ylabel("share of the control")
        for axes in grid[-1]:
            axes.set(xticks=sorted(group_rows(unthinned, "flows_per_host")), xlabel="flows per host")
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)


def _draw_panel(axes: Axes, rows: Sequence[Row]) -> None:
    usual = max((row["threshold"] for row in rows if row["threshold"] is not None), default=None)
    by_scheme = group_rows(rows, "scheme")
    for scheme in order_schemes(set(by_scheme) - {CONTROL}):
        for threshold, curve in group_rows(by_scheme[scheme], "threshold").items():
            is_lower = threshold != usual and threshold is not None
            x, y, low, high = (
                extract_column(curve, name) for name in ("flows_per_host", "over_control", "low", "high")
            )
            text = label_scheme(scheme) + (f", large from {threshold:.0%}" if is_lower else "")
            axes.plot(x, y, "--" if is_lower else ".-", color=colour(scheme), lw=0.9 if is_lower else 1.5, label=text)
            axes.fill_between(x, low, high, color=colour(scheme), alpha=0.15, lw=0)
    axes.set_ylim(0, 1.05)


@study(
    schemes_option(SCHEMES),
    click.option(
        "--flows-per-host", "counts", default="1,2,3,4,6,8,12,16", show_default=True,
        help="Numbers of flows, comma-separated.",
    ),
    click.option(
        "--thresholds", default="0.1,0.01", show_default=True,
        help="Thresholds of large flows, as shares of a link; the largest is the usual one.",
    ),
    engines_option,
    field_options(
        Config, "k seconds interval_s tick_s iterations large_flows",
        seconds=12.0, interval_s=2.0, tick_s=0.01, large_flows=KEPT_RULE,
    ),
    seeds=5,
)  # fmt: skip
def flows_per_host(
    schemes: Sequence[str], engines: Sequence[str], counts: str, thresholds: str, seeds: int, **fields: Any
) -> Study:
    """Simulate Hedera's gain over ECMP by number of flows per host."""
    large_from = sorted(parse_numbers("--thresholds", thresholds, float), reverse=True)
    many = parse_numbers("--flows-per-host", counts, int)
    bases = [Config("ecmp", "random", engine=engine, **fields) for engine in engines]
    cases = [case for base in bases for case in list_cases(base, many, schemes, large_from)]
    for case in cases:
        case.matrix()  # a mistake in any of them is found before the first run
    note = f"{case.tree.num_hosts:,} hosts, {seeds} seed{'s' * (seeds > 1)}"
    return Study(
        cases, simulate_shares, _make_rows, partial(_tabulate_means, note), partial(_draw_several, note),
        label=f"flows per host, k={case.k}", seeds=seeds,
    )  # fmt: skip
