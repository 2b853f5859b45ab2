"""`hedera hull mice`: sweeps of mice beside elephants, what elephants carry against how long mice take.

Sweeps differ in their congestion control, phantom queues and pacers; those of one rate are drawn together. Where no
flow lasts, as in web search, the large ones are the elephants, and their slowdown takes the place of what they carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import numpy as np

from plots import (
    MUTED,
    assign_colours,
    label_scheme,
    list_written_files,
    load_sweep,
    order_schemes,
    picture,
    set_logarithmic,
)
from plots.paired_tests import MeanInterval, adjust_by_holm
from record.options import in_words, json_option, output, picture_options
from record.output import conclude, write_csv
from record.run import Run
from studies.study import Parts, Row, estimate_over_seeds, group_rows, make_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HULL_PARTS = {
    (False, False): "",
    (True, False): " + phantom queues",
    (False, True): " + pacers",
    (True, True): " + phantom queues, pacers",
}
"""What a sweep has of HULL, by whether it has phantom queues, and pacers."""
MARKERS = "osD^vP"
"""Of TCPs, in their order; colours are the schemes', as in all pictures."""
CARRIED, SLOWDOWN = "elephants_mbps", "large_slowdown"
METRICS = {
    CARRIED: "Mb/s",
    SLOWDOWN: "times its least time",
    "medium_median_ms": "ms",
    "mice_slowdown": "times its least time",
    "received_mbps": "Mb/s",
    "mice_median_ms": "ms",
    "mice_p99_ms": "ms",
}
"""What is told of a sweep, with units. `CARRIED` is of elephants that last. Where none does, `SLOWDOWN`, a mean, is of
large flows, and beside it stand flows of medium size, the mice's mean slowdown, and what all hosts receive."""
BASELINE = "cubic"
"""What the others are compared with, under the same scheme."""


class Case(NamedTuple):
    """Runs that differ in their seeds alone."""

    mbps: float
    tcp: str
    scheme: str


def load_runs(folders: Sequence[Path]) -> list[tuple[Run, Path]]:
    """The runs of stored sweeps, each with the folder of its files."""
    sweeps = [load_sweep(folder) for folder in folders]
    return [(run, file.parent) for sweep in sweeps for run, file in zip(sweep.runs, sweep.files, strict=True)]


def make_case(run: Run) -> Case:
    spec = run.spec
    tcp = spec.congestion_control + HULL_PARTS[spec.phantom is not None, spec.pacer is not None]
    return Case(spec.link_mbps, tcp, run.scheme)


def measure_run(run: Run) -> dict[str, float]:
    """By names of METRICS: what lasting flows received in the window, payload; or, where none lasts, how slow large and
    small flows were, what those of medium size took, and what hosts received, with headers. And times of the small
    class. ValueError, one sentence, for a run without small flows beside lasting or large ones."""
    classes = {of_class.size_class: of_class for of_class in run.completion}
    small, medium, large = (classes.get(name) for name in ("small", "medium", "large"))
    lasting = [flow.window_mbps for flow in run.flows if flow.size_bytes is None and flow.window_mbps is not None]
    slowdown = large.mean_slowdown if large is not None else None
    if small is None or small.median_s is None or small.p99_s is None or not (lasting or slowdown):
        raise ValueError(f"{run.traffic!r} has no small flows beside lasting or large ones")
    numbers = {CARRIED: sum(lasting)} if lasting else {SLOWDOWN: slowdown}
    if not lasting:
        numbers |= {
            "medium_median_ms": None if medium is None or medium.median_s is None else 1e3 * medium.median_s,
            "mice_slowdown": small.mean_slowdown,
            "received_mbps": run.bisection_mbps,
        }
    numbers |= {"mice_median_ms": 1e3 * small.median_s, "mice_p99_ms": 1e3 * small.p99_s}
    return {metric: number for metric, number in numbers.items() if number is not None}


def make_rows(runs: Sequence[Run]) -> list[Row]:
    """A row for each case and metric: its mean over seeds with a 95 % interval, and how far it is from the same scheme
    under `BASELINE`, paired by seed, with its p as Holm adjusts it for all of them; and every seed's number. Runs that
    are not valid are left out."""
    by_case: dict[Case, dict[int, dict[str, float]]] = {}
    measured = [(make_case(run), run.seed, measure_run(run)) for run in runs if run.valid]
    for case, seed, numbers in measured:
        by_case.setdefault(case, {})[seed] = numbers
    if len({CARRIED in numbers for *_, numbers in measured}) > 1:
        raise ValueError("sweeps with lasting flows and sweeps without are drawn apart")
    cells = [
        (case, seeds, metric)
        for case, seeds in by_case.items()
        for metric in METRICS
        if all(metric in numbers for numbers in seeds.values())
    ]
    differences = adjust_by_holm([_compare_with_baseline(by_case, case, metric) for case, _, metric in cells])
    rows: list[Row] = []
    for (case, seeds, metric), difference in zip(cells, differences, strict=True):
        mean = estimate_over_seeds(numbers[metric] for numbers in seeds.values())
        rows.append(
            {
                **case._asdict(), "metric": metric, "mean": mean.mean, "low": mean.low, "high": mean.high,
                "beyond": difference.mean, "beyond_low": difference.low, "beyond_high": difference.high,
                "adjusted_p": difference.adjusted,
                "seeds": len(seeds), "by_seed": " ".join(f"{numbers[metric]:.6g}" for numbers in seeds.values()),
            }
        )  # fmt: skip
    return rows


def _compare_with_baseline(
    by_case: Mapping[Case, Mapping[int, Mapping[str, float]]], case: Case, metric: str
) -> MeanInterval:
    """Paired by seed; empty for `BASELINE` itself."""
    seeds, baseline = by_case[case], by_case.get(case._replace(tcp=BASELINE), {})
    shared_seeds = [seed for seed in seeds if metric in baseline.get(seed, {}) and case.tcp != BASELINE]
    return estimate_over_seeds(seeds[seed][metric] - baseline[seed][metric] for seed in shared_seeds)


def draw(rows: Sequence[Row], path: Path) -> None:
    """A panel for each rate: what elephants carry, or how slow large flows are, and how long the median mouse takes; a
    colour for each scheme, a mark for each TCP."""
    carried = any(row["metric"] == CARRIED for row in rows)
    verb, label = ("carry", "elephants, payload (Mb/s)") if carried else ("take", "large flows, mean slowdown")
    rates, points = sorted({row["mbps"] for row in rows}), group_rows(rows, "mbps", "tcp", "scheme")
    marks = dict(zip(dict.fromkeys(row["tcp"] for row in rows), cycle(MARKERS)))
    colours = assign_colours(row["scheme"] for row in rows)
    with picture(path, max(7.5, 4.8 * len(rates)), 4.8, f"What elephants {verb}, and how long mice wait") as figure:
        for axes, rate in zip(np.atleast_1d(figure.subplots(1, len(rates))), rates, strict=True):
            for (mbps, tcp, scheme), rows_of_point in points.items():
                if mbps == rate:
                    row_by_metric = {row["metric"]: row for row in rows_of_point}
                    elephants = row_by_metric[CARRIED if carried else SLOWDOWN]
                    _draw_point(axes, elephants, row_by_metric["mice_median_ms"], colours[scheme], marks[tcp])
            axes.set(xlabel=label, ylabel="mice, median time (ms)", title=f"{rate:g} Mb/s")
            set_logarithmic(axes)
            axes.set_xlim(0, None)
        for tcp, mark in marks.items():
            axes.plot([], [], mark, color=MUTED, label=tcp)
        for scheme in order_schemes(colours):
            axes.plot([], [], "-", color=colours[scheme], linewidth=4, label=label_scheme(scheme))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)


def _draw_point(axes: Axes, x: Row, y: Row, colour: str, mark: str) -> None:
    def make_error_bars(row: Row) -> list[list[float]] | None:
        return None if row["low"] is None else [[row["mean"] - row["low"]], [row["high"] - row["mean"]]]

    axes.errorbar(
        x["mean"],
        y["mean"],
        xerr=make_error_bars(x),
        yerr=make_error_bars(y),
        fmt=mark,
        color=colour,
        markersize=6,
        elinewidth=0.8,
    )


def make_tables(rows: Sequence[Row]) -> Parts:
    names = ("mbps", "tcp", "scheme", "mean", "low", "high", "beyond", "beyond_low", "beyond_high", "adjusted_p")
    return [
        make_table(f"{metric} ({METRICS[metric]})", of_metric, *names)
        for metric, of_metric in group_rows(rows, "metric").items()
    ]


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path))
@output
@picture_options
@json_option
@in_words
def mice(folders: Sequence[Path], out: Path, as_json: bool) -> None:
    """What elephants carry against how long mice take, of sweeps with mice beside lasting flows (FOLDERS); or, where no
    flow lasts, how slow large flows are.

    Sweeps may differ in --bw, --congestion-control, --phantom and --pacer; the schemes under cubic are what others
    are compared with, seed by seed.
    """
    if not (rows := make_rows([run for run, _ in load_runs(folders)])):
        raise ValueError("there are no valid runs in these folders")
    csv_file = write_csv(out / "mice.csv", rows)
    draw(rows, out / "mice.png")
    conclude(rows, [] if as_json else make_tables(rows), [csv_file, *list_written_files(out / "mice.png")], as_json)
