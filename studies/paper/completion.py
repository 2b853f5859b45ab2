"""How much longer do flows take under load? `hedera completion`: load against slowdown, by the size of flows.

The paper leaves open how scheduling large flows affects all others, and how short a scheduling period flows of a given
size need (sections 6.3 and 6.4).

Does Hedera's gain grow with the network, for flows that come and go? `hedera completion-growth`: the same simulations
on networks of several sizes. Figure 10 of the paper says so of flows that last: with more hosts, ECMP falls behind
and Hedera does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from msgspec import structs

from hedera.schemes import CONTROL, find_scheme
from plots import assign_colours, colour, label_scheme, picture, set_logarithmic
from plots.completion_times import PERCENTILES, average_over_seeds, make_percentile_table
from record.completion_times import CLASSES, select_members
from record.options import field_options
from record.run import Completion
from simulator.config import Config, check_flows
from studies.paper import schemes_option
from studies.study import (
    Parts,
    Row,
    Rows,
    Study,
    describe_interval_seeds,
    extract_column,
    group_rows,
    make_table,
    parse_numbers,
    study,
)
from topos.arrays import Float64

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simulator.driver import Simulation

_BASELINE = "ecmp"
MAX_UPDATES = 1.5e9
"""A simulation in which flows only pile up is not made if it takes more updates of flows than this, which is about a
minute of processor time."""


def list_cases(
    base: Config, sizes: str, loads: Sequence[float], schemes: Sequence[str], intervals_s: Sequence[float]
) -> list[Config]:
    """All simulations, the long ones first; all simulations of a load have the same flows.

    Static schemes need no period. If ``base`` has detection, Global First Fit that re-routes on detection is added.
    """
    tasks = []
    for load in sorted(loads, reverse=True):
        for name in schemes:
            with_traffic = replace(base, scheme=name, traffic=f"poisson:{sizes},{load:g}")
            periods = intervals_s if find_scheme(name).scheduler else intervals_s[:1]
            tasks += [replace(with_traffic, detect_s=0.0, interval_s=period) for period in periods]
            if name == "hedera-gff" and base.detect_s:
                tasks.append(with_traffic)
    return tasks


def simulate_by_size(config: Config) -> list[Row]:
    """A row for each size class of one simulation (`record.run.Completion`); without times, and not simulated, if in
    every tick a pile of flows would have to be updated.

    ``interval_s``: None for a scheme that has no period. ``detect_s``: how often large flows were looked for, to be
    re-routed at once. ``carried``: the traffic received in the window, as a share of all hosts' links; if it is far
    below ``load``, flows arrive faster than the network serves them, and queue up without end.
    """
    from simulator.driver import Simulation

    simulation = Simulation(config)
    # Beyond what the network carries, more and more flows are there at once, and a tick costs as many updates. That is
    # told beforehand from the links' loads, because such a simulation might take days and say nothing of a steady
    # state.
    piled_up, carried = _estimate_pile(simulation)
    if config.engine == "aimd" and piled_up * config.ticks / 2 > MAX_UPDATES:
        work, (begin, end) = simulation.work, config.window_s
        size = work.size_bytes[(work.start_s >= begin) & (work.start_s < end)] / config.size_scale
        counts = {name: int(mask.sum()) for name, mask in select_members(size).items()}
        classes = [Completion(size_class=name, flows=n, cut_off=n, known_share=0.0) for name, n in counts.items()]
    else:
        result = simulation.run()
        classes, carried = result.completion(), result.bisection_mbps / result.capacity_mbps
    schedules = find_scheme(config.scheme).scheduler is not None
    conditions = {
        "load": float(config.traffic.rpartition(",")[2]), "scheme": config.scheme,
        "interval_s": config.interval_s if schedules and not config.detect_s else None,
        "detect_s": config.detect_s or None, "carried": carried, "k": config.k,
    }  # fmt: skip
    return [{**structs.asdict(completion_of_class), **conditions} for completion_of_class in classes]


def _estimate_pile(simulation: Simulation) -> tuple[float, float]:
    """An estimate from the links of first paths: how many flows would be active at the end, and which share of the
    hosts' links they fill. Where more is sent than fits, every flow gets its share of the link."""
    config, links = simulation.config, simulation.paths.links
    size, real = simulation.work.size_bytes, links >= 0
    of_flow = np.broadcast_to(size[:, None], links.shape)[real]
    fits = config.link_mbps * 1e6 / 8 * config.seconds
    sent = np.bincount(links[real], of_flow) / fits
    fullest = np.where(real, sent[links], 0.0).max(axis=1, initial=1.0)
    carried = float((size / fullest).sum() / fits / config.tree.num_hosts)
    return float((1 - 1 / fullest).sum()), carried


HIDDEN = 0.001
"""If at least this share of the flows was cut off, a point is marked as a lower bound."""
_LIKE_ECMP = ("ecmp-dst", "random")
_DRAWN = ("small", "medium", "large")
_SHOWN = {"mean_slowdown": "mean slowdown", "p99_slowdown": "99th percentile"}

_CURVE = ("scheme", "interval_s", "detect_s")
"""The columns that tell the lines in the picture apart."""


def describe_overloaded(rows: Sequence[Row]) -> list[str]:
    missing = group_rows((row for row in rows if row["flows"] and row["mean_slowdown"] is None), "scheme")
    lowest = {scheme: min(row["load"] for row in rows_of_scheme) for scheme, rows_of_scheme in missing.items()}
    return [
        f"{label_scheme(scheme)}: not simulated from a load of {load:g} on, as flows would only pile up"
        for scheme, load in lowest.items()
    ]


def _draw_slowdown(note: str, rows_by_file: Rows, path: Path) -> None:
    """Small, medium and large flows: slowdowns, their mean and 99th percentile, above the mean's ratio to ECMP's.

    Only the longest and shortest of a scheme's periods are drawn, and no variants of ECMP. Hollow marks: many flows
    were cut off at the end of the run. Of some seeds the means, and 95 % intervals as bars.
    """
    rows: Sequence[Row] = next(iter(rows_by_file.values()))
    if "seed" in rows[0]:
        rows = average_over_seeds(rows, _SHOWN, "load", *_CURVE)
    measured = group_rows((row for row in rows if row["mean_slowdown"] is not None), *_CURVE)
    periods = sorted({period for _, period, _ in measured if period is not None}, reverse=True)
    ends = (None, *periods[:1], *periods[-1:])
    curves = [curve for curve in measured if curve[1] in ends and curve[0] not in _LIKE_ECMP]
    hollow = f"hollow: at least, as more than {HIDDEN:.1%} of the flows were cut off"
    title = "\n".join([f"Load against slowdown: {note}", hollow, *describe_overloaded(rows), ""])
    alone = len({row["load"] for row in rows}) == 1  # points side by side, for there are no lines
    with picture(path, 12.6, 10.4, title) as figure:
        grid = figure.subplots(3, 3, sharex=True, sharey="row")
        for panels, name in zip(grid.T, _DRAWN, strict=True):
            lines = group_rows((row for row in rows if row["size_class"] == name and row["flows"]), *_CURVE)
            baseline = {row["load"]: row["mean_slowdown"] for row in lines.get((_BASELINE, None, None), [])}
            for place, curve in enumerate(curves):
                (scheme, period, detects), curve_rows = curve, lines.get(curve, [])
                loads = [place if alone else row["load"] for row in curve_rows]
                period_text = ", upon detection" if detects else "" if period is None else f", {period:g} s"
                line = "-" if period in (None, *periods[:1]) else ":"
                style: dict[str, Any] = {"ls": line, "color": colour(scheme), "lw": 2.6 if detects else 1.5}
                style |= {"marker": "D" if detects else "o", "ms": 6} if alone else {}
                style["label"] = label_scheme(scheme) + period_text
                for axes, statistic in zip(panels[:2], _SHOWN, strict=True):
                    _draw_curve(axes, loads, curve_rows, extract_column(curve_rows, statistic), **style)
                    if curve_rows and curve_rows[0].get(f"low_{statistic}") is not None:
                        low, high = (extract_column(curve_rows, f"{end}_{statistic}") for end in ("low", "high"))
                        axes.vlines(loads, np.maximum(low, 1.0), high, color=colour(scheme), lw=1)
                of_ecmp = np.array([baseline.get(row["load"]) for row in curve_rows], dtype=np.float64)
                _draw_curve(
                    panels[2], loads, curve_rows, extract_column(curve_rows, "mean_slowdown") / of_ecmp, **style
                )
            panels[0].set_title(f"{name} flows, {CLASSES[name]}")
            panels[2].set_xlabel(f"load {rows[0]['load']:g}" if alone else "load")
            if alone:
                panels[2].set_xticks([])
        for row_of_axes, heading in zip(grid, _SHOWN.values(), strict=False):
            row_of_axes[0].set_ylabel(heading)
            if any(len(line.get_xdata()) for axes in row_of_axes for line in axes.lines):
                set_logarithmic(row_of_axes[0])
        grid[2, 0].set(ylim=(0, None), ylabel="mean over ECMP's")
        by_label: dict[str, Any] = {}
        for axes in grid[0]:
            by_label |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=4, fontsize=8)


def _draw_curve(axes: Axes, loads: Sequence[float], rows: Sequence[Row], values: Float64, **style: Any) -> None:
    axes.plot(loads, values, **style)
    bounds = [(x, v) for x, r, v in zip(loads, rows, values, strict=True) if r["cut_off"] > HIDDEN * r["flows"]]
    if bounds:
        axes.plot(*zip(*bounds, strict=True), style.get("marker", "o"), mfc="white", color=style["color"], ms=4)


@study(
    schemes_option((CONTROL, "ecmp", "ecmp-dst", "random", "spanning-tree", "hedera-gff", "hedera-sa", "hedera-clos")),
    click.option(
        "--sizes", default="web-search", show_default=True, help="web-search, data-mining, fixed:BYTES, FILE.csv ..."
    ),
    click.option(
        "--loads", default="0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9", show_default=True,
        help="Loads, as shares of the links' rate that hosts send.",
    ),
    click.option("--intervals", default="5,1,0.1", show_default=True, help="Hedera's scheduling periods, s."),
    click.option(
        "--seeds", default=1, show_default=True, type=click.IntRange(1), help="Number of seeds, from --seed on."
    ),
    field_options(
        Config, "k seconds seed tick_s engine iterations large_flows detect_s",
        k=16, seconds=7.5, tick_s=0.0001, detect_s=0.01,
    ),
)  # fmt: skip
def completion(schemes: Sequence[str], sizes: str, loads: str, intervals: str, seeds: int, **fields: Any) -> Study:
    """Simulate load against FCT slowdown, by size class, for flows that arrive and end.

    With --seeds the table has percentiles of FCT, and the CSV file a row for each seed.
    """
    intervals_s = parse_numbers("--intervals", intervals, float)
    fields["detect_s"] *= "hedera-gff" in schemes
    base = Config("ecmp", "random", interval_s=max(intervals_s), **fields)
    of_load = parse_numbers("--loads", loads, float)
    bases = [replace(base, seed=base.seed + n) for n in range(seeds)]
    cases = [case for seeded in bases for case in list_cases(seeded, sizes, of_load, schemes, intervals_s)]
    for case in cases:
        check_flows(case.workload())  # a mistake in any of them is found before the first run
    name, note = f"completion_k{base.k}", f"{base.tree.num_hosts:,} hosts, {sizes}, {base.seconds:g} s"
    note += f", {describe_interval_seeds(seeds)}" * (seeds > 1)

    def make_rows(answers: dict[Config, list[list[Row]]]) -> Rows:
        cells = [
            row | ({"seed": case.seed} if seeds > 1 else {}) for case, (classes,) in answers.items() for row in classes
        ]
        return {name: sorted(cells, key=lambda row: float(row["load"]))}

    def make_tables(rows: Rows) -> Parts:
        if seeds > 1:
            of_seeds = average_over_seeds(rows[name], PERCENTILES, "load", *_CURVE)
            return [
                make_percentile_table(f"FCT by size class. {note}", of_seeds, "load", *_CURVE),
                *describe_overloaded(rows[name]),
            ]
        names = ("scheme", "size_class", "load", "interval_s", "detect_s", "mean_slowdown", "p99_slowdown", "carried")
        title = f"Slowdown of small, medium and large flows. {note}"
        return [make_table(title, rows[name], *names, "flows", "cut_off"), *describe_overloaded(rows[name])]

    return Study(
        cases, simulate_by_size, make_rows, make_tables, partial(_draw_slowdown, note), label=f"completion, k={base.k}"
    )


# --- networks of several sizes ---------------------------------------------------------------------------------

_STATISTICS = {"median_slowdown": "median slowdown", "p99_slowdown": "99th percentile of slowdown"}
_OVER = "over_ecmp"
_DRAWN_BY_NETWORK = ("small", "large")


def list_cases_by_network(
    bases: Sequence[Config], sizes: str, loads: Sequence[float], schemes: Sequence[str]
) -> list[Config]:
    """All simulations: networks, loads and schemes; those of a network and a load have the same flows."""
    return [
        replace(base, scheme=name, traffic=f"poisson:{sizes},{load:g}")
        for base in bases
        for load in loads
        for name in schemes
    ]


def _compare_with_ecmp(answers: dict[Config, list[list[Row]]]) -> Rows:
    """A row for each size class of each simulation. ``over_ecmp``: its mean slowdown over that of ECMP with the same
    flows; None without ECMP."""
    rows = [
        row | {"hosts": case.tree.num_hosts, "seed": seed}
        for case, of_seeds in answers.items()
        for seed, classes in enumerate(of_seeds, start=1)
        for row in classes
    ]
    alike = ("hosts", "load", "seed", "size_class")
    # Of the same seed, so that sizes and moments that happened to be drawn cancel out.
    ecmp = group_rows((row for row in rows if row["scheme"] == _BASELINE), *alike)
    for row in rows:
        (beside,) = ecmp.get(tuple(row[name] for name in alike), [{"mean_slowdown": None}])
        are_known = row["mean_slowdown"] and beside["mean_slowdown"]
        row[_OVER] = row["mean_slowdown"] / beside["mean_slowdown"] if are_known else None
    return {"completion_growth": rows}


def _average_by_network(rows: Rows) -> list[Row]:
    (all_rows,) = rows.values()
    measured = [row for row in all_rows if row["median_slowdown"] is not None]
    return average_over_seeds(measured, (*_STATISTICS, _OVER), "hosts", "load", "scheme")


def _tabulate_by_network(note: str, rows: Rows) -> Parts:
    names = ("hosts", "load", "scheme", "size_class", *_STATISTICS, _OVER, f"low_{_OVER}", f"high_{_OVER}")
    averages = _average_by_network(rows)
    return [make_table(f"Slowdown by size of the network. {note}", averages, *names, "flows", "cut_off")]


def _draw_by_network(note: str, rows: Rows, path: Path) -> None:
    """A column for each network. Small and large flows: their median and 99th percentile, and the mean over ECMP's of
    the same seed; bars: 95 % intervals."""
    networks = group_rows(_average_by_network(rows), "hosts")
    colours = assign_colours({str(row["scheme"]) for of_network in networks.values() for row in of_network})
    panels = [
        (size, *statistic)
        for size in _DRAWN_BY_NETWORK
        for statistic in (*_STATISTICS.items(), (_OVER, "mean over ECMP's"))
    ]
    with picture(path, 1.2 + 2.9 * len(networks), 2.2 * len(panels) + 1, f"Load against slowdown\n{note}\n") as sheet:
        grid = sheet.subplots(len(panels), len(networks), sharex=True, sharey="row", squeeze=False)
        for column_of_axes, (hosts, of_network) in zip(grid.T, networks.items(), strict=True):
            column_of_axes[0].set_title(f"{hosts:,} hosts")
            for axes, (size, statistic, _) in zip(column_of_axes, panels, strict=True):
                lines = group_rows((row for row in of_network if row["size_class"] == size), "scheme")
                for scheme, colour_of_scheme in colours.items():
                    curve_rows = sorted(lines.get(scheme, []), key=lambda row: float(row["load"]))
                    loads = extract_column(curve_rows, "load")
                    axes.plot(
                        loads,
                        extract_column(curve_rows, statistic),
                        ".-",
                        color=colour_of_scheme,
                        label=label_scheme(scheme),
                    )
                    low, high = (extract_column(curve_rows, f"{end}_{statistic}") for end in ("low", "high"))
                    axes.vlines(loads, low.clip(0.1), high, color=colour_of_scheme, lw=1)
        for first, (size, statistic, words) in zip(grid[:, 0], panels, strict=True):
            first.set_ylabel(f"{size} flows ({CLASSES[size]}),\n{words}")
            if statistic != _OVER:
                set_logarithmic(first)
        for axes in grid[-1]:
            axes.set_xlabel("load")
        sheet.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)


@study(
    schemes_option((CONTROL, "ecmp", "hedera-gff", "hedera-sa")),
    click.option(
        "-k", "ports", default="4,8,16,32", show_default=True, help="Ports per switch, comma-separated: k^3/4 hosts."
    ),
    click.option(
        "--sizes", default="web-search", show_default=True, help="web-search, data-mining, fixed:BYTES, FILE.csv ..."
    ),
    click.option(
        "--loads", default="0.3,0.5,0.7", show_default=True, help="Loads, as shares of the links' rate that hosts send."
    ),
    field_options(
        Config, "seconds interval_s tick_s engine iterations large_flows",
        seconds=2.0, interval_s=0.1, tick_s=0.001, engine="maxmin", large_flows="measured",
    ),
    seeds=5,
)  # fmt: skip
def completion_growth(schemes: Sequence[str], ports: str, sizes: str, loads: str, seeds: int, **fields: Any) -> Study:
    """Simulate FCT slowdown against load in networks of several sizes."""
    bases = [Config("ecmp", "random", k=k, **fields) for k in parse_numbers("-k", ports, int)]
    all_cases = list_cases_by_network(bases, sizes, parse_numbers("--loads", loads, float), schemes)
    for case in all_cases:
        check_flows(case.workload())  # a mistake in any of them is found before the first run
    note = f"{sizes}, {bases[0].seconds:g} s, a round every {bases[0].interval_s:g} s, {describe_interval_seeds(seeds)}"
    return Study(
        all_cases, simulate_by_size, _compare_with_ecmp, partial(_tabulate_by_network, note),
        partial(_draw_by_network, note),
        label="completion by network", seeds=seeds, cost=lambda case: case.workload().expected_flows,
    )  # fmt: skip
