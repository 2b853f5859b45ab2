"""The replication report's four pictures (Li and Watanaprakornkul, CS244 2012), from its own 27 workloads.

A bar is the median over trials, with the 5th and 95th percentile of trials. The report's percentiles are of the seconds
of all trials together, and its Mb/s are of 2^20 bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedera.schemes import CONTROL, find_scheme
from plots import DASHES, INK, MUTED, colour, label_scheme, load_sweep, picture
from plots.paired_tests import describe_significance
from record.options import field_options
from record.run import Run
from simulator.config import Config
from studies.study import (
    Parts,
    Row,
    Rows,
    Study,
    estimate_over_seeds,
    group_rows,
    make_table,
    simulate_bisection,
    study,
)
from traffic.patterns import REPLICATION

COMMAND = "./test.sh 5 60 --suite replication"
_PATTERN = "replication:"
_ROWS = ("stag stride", "random randbij")
"""The families of patterns in the upper and in the lower half of a picture."""


@dataclass(frozen=True)
class Picture:
    """``counts``: how its workloads' names begin. ``says``: what the report says of it, in our words."""

    title: str
    counts: tuple[str, ...]
    schemes: tuple[str, ...]
    says: str


_HEDERA, _STATIC = ("ecmp", "hedera-gff", CONTROL), ("spanning-tree", "random", "ecmp")
PICTURES = {
    "2": Picture(
        "1 flow per host", ("1x",), _HEDERA,
        "Hedera is a little above ECMP, mostly within the margin of error; under staggered traffic the control is low.",
    ),
    "3": Picture(
        "1 flow per host", ("1x",), _STATIC,
        "The paper's ECMP resembles the spanning tree: stride(2) has half of stride(1), stride(4) and (8) a quarter.",
    ),
    "4": Picture(
        "2 flows per host, and half of 6", ("2x", "6x"), _HEDERA,
        "With more than one flow per host ECMP, Hedera and the control hardly differ.",
    ),
    "5": Picture("2 flows per host, and half of 6", ("2x", "6x"), _STATIC, "No sentence of the report is on this one."),
}  # fmt: skip


def list_workloads(report_picture: Picture) -> list[str]:
    return [name for name in REPLICATION if name.startswith(report_picture.counts)]


Values = Mapping[tuple[str, str], Mapping[int, float]]
"""By workload and scheme, Mb/s in each trial."""


def select_runs(report_picture: Picture, runs: Sequence[Run]) -> list[Run]:
    patterns = {f"{_PATTERN}{name}" for name in list_workloads(report_picture)}
    return [run for run in runs if run.pattern in patterns and run.scheme in report_picture.schemes]


def collect_values(runs: Sequence[Run]) -> Values:
    """The valid ones of a picture's runs, one run per trial."""
    values: dict[tuple[str, str], dict[int, float]] = {}
    for run in runs:
        trials = values.setdefault((run.pattern.removeprefix(_PATTERN), run.scheme), {})
        if run.valid and run.bisection_mbps is not None:
            trials[run.trial] = run.bisection_mbps
    return values


def make_bars(report_picture: Picture, values: Values) -> list[Row]:
    """A row for each bar, without numbers where no trial is valid; its share of the control is of the same trial."""
    rows = []
    for workload, scheme in product(list_workloads(report_picture), report_picture.schemes):
        if (trials := values.get((workload, scheme))) is None:
            continue
        control = values.get((workload, CONTROL), {})
        # The report's pictures have the median and these percentiles, so ours do; all other pictures have intervals.
        median, p5, p95 = np.percentile([*trials.values()], (50, 5, 95)).tolist() if trials else [None] * 3
        shares = [rate / control[trial] for trial, rate in trials.items() if control.get(trial)]
        rows.append(
            {
                "workload": workload, "scheme": scheme, "trials": len(trials),
                "median_mbps": median, "p5_mbps": p5, "p95_mbps": p95,
                "median_ratio": float(np.median(shares)) if shares else None,
            }
        )  # fmt: skip
    return rows


def compute_gains(report_picture: Picture, values: Values) -> list[Row]:
    """What each scheme has beyond ECMP in points of the control: means over the workloads with as many flows per host,
    with the interval over the trials that all of them have."""
    rows = []
    for count in report_picture.counts:
        names = [name for name in list_workloads(report_picture) if name.startswith(count) and (name, "ecmp") in values]
        for scheme in report_picture.schemes:
            compared = [
                [values.get((name, of_scheme), {}) for of_scheme in (scheme, "ecmp", CONTROL)] for name in names
            ]
            # A trial counts only where all workloads have it under all three: otherwise trials would differ by the
            # workloads' own levels.
            trials = (
                set.intersection(*(set(rates) for rates_by_scheme in compared for rates in rates_by_scheme))
                if names
                else set()
            )
            if scheme != "ecmp" and trials:
                points = [np.mean([100 * (a[t] - b[t]) / c[t] for a, b, c in compared]) for t in sorted(trials)]
                beyond = estimate_over_seeds(points)
                rows.append(
                    {
                        "flows_per_host": count[0], "scheme": scheme, "workloads": len(names), "trials": len(points),
                        "points": beyond.mean, "from": beyond.low, "to": beyond.high,
                    }
                )  # fmt: skip
    return rows


def draw(number: str, note: str, rows_by_file: Rows, path: Path) -> None:
    """Two rows of groups of bars, as the report has them; a bar that is not there has a cross."""
    report_picture, rows = PICTURES[number], next(iter(rows_by_file.values()))
    schemes, bars = list(group_rows(rows, "scheme")), {(row["workload"], row["scheme"]): row for row in rows}
    names = [[n for n in list_workloads(report_picture) if n[2:].startswith(tuple(kinds.split()))] for kinds in _ROWS]
    width = 0.84 / len(schemes)
    subtitle = f"{note}\nThe report: {report_picture.says}"
    with picture(
        path, 11, 5.6, f"Figure {number} of the replication report: {report_picture.title}", subtitle
    ) as figure:
        from matplotlib.patches import Patch

        for axes, workloads in zip(figure.subplots(2, 1), names, strict=True):
            for place, scheme in enumerate(schemes):
                x = np.arange(len(workloads)) - 0.42 + (place + 0.5) * width
                for position, row in zip(x.tolist(), (bars.get((name, scheme)) for name in workloads), strict=True):
                    if row is None or row["median_mbps"] is None:
                        axes.plot(position, 4, "x", color=MUTED)
                        continue
                    axes.bar(position, row["median_mbps"], 0.92 * width, color=colour(scheme))
                    axes.vlines(position, row["p5_mbps"], row["p95_mbps"], color=INK, lw=1)
            # What all 16 links of 10 Mb/s carry.
            axes.axhline(160, color=INK, lw=0.8, ls=DASHES)
            axes.set(ylim=(0, 168), xlim=(-0.6, len(workloads) - 0.4), ylabel="Mb/s on the links")
            axes.set_xticks(np.arange(len(workloads)), [name.replace("(", "\n(") for name in workloads], fontsize=8)
        handles = [Patch(color=colour(scheme), label=label_scheme(scheme).rpartition("/")[2]) for scheme in schemes]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(schemes), 5), fontsize=8.5)


@study(
    click.argument("number", type=click.Choice(list(PICTURES))),
    click.argument("folder", required=False, type=click.Path(path_type=Path)),
    click.option("--simulated", is_flag=True, help="Use the simulator."),
    click.option("--schemes", metavar="LIST", help="Comma-separated, instead of the picture's."),
    field_options(Config, "seconds link_mbps interval_s engine", seconds=60.0, link_mbps=10.0, interval_s=2.0),
    seeds=5,
)
def command(number: str, folder: Path | None, simulated: bool, schemes: str | None, seeds: int, **fields: Any) -> Study:
    """Draw one of the replication report's four pictures, beside what it says of each.

    Of the runs in FOLDER, the sweep of ./test.sh 5 60 --suite replication, where its files go; or, with --simulated, of
    simulated ones, to which all options but --schemes belong.
    """
    report_picture = PICTURES[number]
    if schemes:
        report_picture = replace(
            report_picture, schemes=tuple(find_scheme(name.strip()).name for name in schemes.split(","))
        )
    cells = [*product(list_workloads(report_picture), report_picture.schemes)]
    values: Values = {}
    cases, sentence = [], ""
    if simulated:
        cases = [Config(scheme, f"{_PATTERN}{name}", **fields) for name, scheme in cells]
        note, name = f"simulated; median, 5th and 95th percentile of {seeds} seeds", f"replication{number}_simulated"
    elif folder is None:
        raise click.UsageError(f"name the folder of a sweep ({COMMAND}), or add --simulated")
    else:
        sweep = load_sweep(folder)
        runs = select_runs(report_picture, sweep.runs)
        if not runs:
            raise ValueError(f"{folder} has no run of this picture; they are made with {COMMAND}")
        # Sentences are on this picture's runs alone, although the sweep has those of all four.
        part = replace(sweep, runs=tuple(runs), tries=tuple(select_runs(report_picture, sweep.tries)))
        values, spec, sentence = collect_values(runs), runs[0].spec, describe_significance(part)
        trials = f"{len({run.trial for run in runs})} trials"
        note = f"{spec.seconds:g} s at {spec.link_mbps:g} Mb/s; median, 5th and 95th percentile of {trials}"
        name = f"replication{number}"

    def make_rows(answers: dict[Config, list[float]]) -> Rows:
        by_seed = {cell: dict(enumerate(rates, start=1)) for cell, rates in zip(cells, answers.values(), strict=False)}
        parts = {
            name: make_bars(report_picture, by_seed or values),
            f"{name}_gains": compute_gains(report_picture, by_seed or values),
        }
        return {file: part for file, part in parts.items() if part}

    def make_tables(rows: Rows) -> Parts:
        titles = (f"Figure {number}, {report_picture.title}: {note}", "Beyond ECMP, points of the control")
        sentences = filter(None, (sentence, f"The report: {report_picture.says}"))
        return [*map(make_table, titles, rows.values()), *sentences]

    draw_picture = partial(draw, number, note)
    return Study(
        cases,
        simulate_bisection,
        make_rows,
        make_tables,
        draw_picture,
        label=f"Figure {number}",
        seeds=seeds,
        folder=folder,
    )
