"""Does Hedera's gain grow with the network, for flows that come and go? `hedera completion-growth`.

Figure 10 of the paper says so of flows that last: with more hosts, ECMP falls behind and Hedera does not. This asks it
of flows that arrive and end, by how much longer they take than alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from hedera.schemes import CONTROL
from plots import assign_colours, label_scheme, picture, set_logarithmic
from plots.completion_times import average_over_seeds
from record.completion_times import CLASSES
from record.options import field_options
from simulator.config import Config, check_flows
from studies.paper import schemes_option
from studies.paper.completion_by_load import simulate_by_size
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

STATISTICS = {"median_slowdown": "median slowdown", "p99_slowdown": "99th percentile of slowdown"}
OVER = "over_ecmp"
_BASELINE = "ecmp"
_DRAWN = ("small", "large")


def list_cases(bases: Sequence[Config], sizes: str, loads: Sequence[float], schemes: Sequence[str]) -> list[Config]:
    """All simulations: networks, loads and schemes; those of a network and a load have the same flows."""
    return [
        replace(base, scheme=name, traffic=f"poisson:{sizes},{load:g}")
        for base in bases
        for load in loads
        for name in schemes
    ]


def _make_rows(answers: dict[Config, list[list[Row]]]) -> Rows:
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
        both = row["mean_slowdown"] and beside["mean_slowdown"]
        row[OVER] = row["mean_slowdown"] / beside["mean_slowdown"] if both else None
    return {"completion_growth": rows}


def _average_rows(rows: Rows) -> list[Row]:
    (all_rows,) = rows.values()
    measured = [row for row in all_rows if row["median_slowdown"] is not None]
    return average_over_seeds(measured, (*STATISTICS, OVER), "hosts", "load", "scheme")


def _make_tables(note: str, rows: Rows) -> Parts:
    names = ("hosts", "load", "scheme", "size_class", *STATISTICS, OVER, f"low_{OVER}", f"high_{OVER}")
    return [make_table(f"Slowdown by size of the network. {note}", _average_rows(rows), *names, "flows", "cut_off")]


def _draw(note: str, rows: Rows, path: Path) -> None:
    """A column for each network. Small and large flows: their median and 99th percentile, and the mean over ECMP's of
    the same seed; bars: 95 % intervals."""
    networks = group_rows(_average_rows(rows), "hosts")
    shades = assign_colours({str(row["scheme"]) for of_network in networks.values() for row in of_network})
    panels = [(size, *statistic) for size in _DRAWN for statistic in (*STATISTICS.items(), (OVER, "mean over ECMP's"))]
    with picture(path, 1.2 + 2.9 * len(networks), 2.2 * len(panels) + 1, f"Load against slowdown\n{note}\n") as sheet:
        grid = sheet.subplots(len(panels), len(networks), sharex=True, sharey="row", squeeze=False)
        for column_of_axes, (hosts, of_network) in zip(grid.T, networks.items(), strict=True):
            column_of_axes[0].set_title(f"{hosts:,} hosts")
            for axes, (size, statistic, _) in zip(column_of_axes, panels, strict=True):
                lines = group_rows((row for row in of_network if row["size_class"] == size), "scheme")
                for scheme, line in shades.items():
                    ours = sorted(lines.get(scheme, []), key=lambda row: float(row["load"]))
                    loads = extract_column(ours, "load")
                    axes.plot(loads, extract_column(ours, statistic), ".-", color=line, label=label_scheme(scheme))
                    low, high = (extract_column(ours, f"{end}_{statistic}") for end in ("low", "high"))
                    axes.vlines(loads, low.clip(0.1), high, color=line, lw=1)
        for first, (size, statistic, words) in zip(grid[:, 0], panels, strict=True):
            first.set_ylabel(f"{size} flows ({CLASSES[size]}),\n{words}")
            if statistic != OVER:
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
    all_cases = list_cases(bases, sizes, parse_numbers("--loads", loads, float), schemes)
    for case in all_cases:
        check_flows(case.workload())  # a mistake in any of them is found before the first run
    note = f"{sizes}, {bases[0].seconds:g} s, a round every {bases[0].interval_s:g} s, {describe_interval_seeds(seeds)}"
    return Study(
        all_cases, simulate_by_size, _make_rows, partial(_make_tables, note), partial(_draw, note),
        label="completion by network", seeds=seeds, cost=lambda case: case.workload().expected_flows,
    )  # fmt: skip
