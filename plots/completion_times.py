"""Completion times of flows that arrive and end: a table by size class, and a picture of their distribution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import asdict

from plots.paired_tests import ALL_TRIES, VALID, estimate_mean
from plots.pictures import list_written_files, picture
from plots.style import colour, format_number, label, order_schemes, set_logarithmic
from plots.summary import as_csv
from record.completion_times import CLASSES, STATISTICS
from record.output import make_plain_table
from record.run import FlowRecord, Run
from topos.arrays import Float64

if TYPE_CHECKING:
    from rich.table import Table

    from plots.stored_sweep import Sweep

COLUMNS = ("pattern", "scheme", "size_class", "over", "left_out", "runs", "flows", "cut_off", *STATISTICS)


def make_rows(sweep: Sweep) -> list[dict[str, Any]]:
    """A row (COLUMNS) for each pattern, class and scheme, in the order of tables; none without such traffic. Times
    are medians over the valid runs, or (see ``over``) over all tries whatever their verdict, of which ``left_out``
    are not valid; ``flows`` and ``cut_off`` are totals."""
    from pandas import DataFrame, concat

    classes = DataFrame(
        [
            {"pattern": run.pattern, "scheme": run.scheme, "left_out": not run.valid, "runs": 1} | asdict(statistics)
            for run in sweep.tries
            for statistics in run.completion
            if statistics.mean_s is not None
        ],
        columns=[name for name in COLUMNS if name != "over"],
    )
    parts = []
    for over, counted in ((VALID, classes[~classes.left_out.astype(bool)]), (ALL_TRIES, classes)):
        groups = counted.groupby(["pattern", "size_class", "scheme"])
        sums = groups[["left_out", "runs", "flows", "cut_off"]].sum().astype(int)
        parts.append(sums.join(groups[list(STATISTICS)].median()).assign(over=over).reset_index())
    orders = {
        "pattern": list(dict.fromkeys(run.pattern for run in sweep.runs)),
        "size_class": list(CLASSES),
        "scheme": order_schemes(run.scheme for run in sweep.runs),
        "over": [VALID, ALL_TRIES],
    }
    frame = concat(parts)[list(COLUMNS)]
    frame = frame.sort_values(list(orders), key=lambda column: column.map(orders[column.name].index))
    return list(frame.to_dict("records"))


PERCENTILES = {"median_s": "median ms", "p95_s": "95th ms", "p99_s": "99th ms"}


def average_over_seeds(
    rows: Sequence[dict[str, Any]], statistics: Iterable[str], *columns: str
) -> list[dict[str, Any]]:
    """The means over seeds of these statistics: a row for each size class with flows and values of ``columns``, which
    has Student's 95 % interval as ``low_...`` and ``high_...`` (None with fewer than three seeds), and the totals of
    ``flows`` and ``cut_off``. A statistic that a seed does not have (None) is left out of its mean."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        # A size class without flows has no times, and would only dilute the count of seeds.
        if row["flows"]:
            groups.setdefault(tuple(row[name] for name in (*columns, "size_class")), []).append(row)
    by_group = []
    for key, group in groups.items():
        totals = {name: sum(row[name] for row in group) for name in ("flows", "cut_off")}
        means = dict(zip((*columns, "size_class"), key, strict=True)) | {"seeds": len(group)} | totals
        for name in statistics:
            mean = estimate_mean(None, [row[name] for row in group if row[name] is not None])
            means |= {name: mean.mean, f"low_{name}": mean.low, f"high_{name}": mean.high}
        by_group.append(means)
    return by_group


def make_percentile_table(title: str, rows: Sequence[dict[str, Any]], *columns: str) -> Table:
    """For a terminal: rows of `average_over_seeds` of PERCENTILES, each with its interval."""
    names = [name for name in (*columns, "size_class") if any(row[name] is not None for row in rows)]
    headings = (*(name.replace("_", " ") for name in names), "flows", "cut off", *PERCENTILES.values())
    table = make_plain_table(title, *headings, left=len(names))
    for row in rows:
        group = ["" if row[name] is None else str(row[name]) for name in names]
        counts = [f"{row[name]:,}" for name in ("flows", "cut_off")]
        table.add_row(*group, *counts, *(format_interval(row, name, 1000) for name in PERCENTILES))
    return table


def format_interval(row: dict[str, Any], name: str, times: float = 1.0) -> str:
    """A mean with its interval, where it has them, times a factor, in three digits."""
    ends = [row[f"{bound}{name}"] for bound in ("", "low_", "high_")]
    mean, low, high = ("" if end is None else format_number(times * end, 3) for end in ends)
    return f"{mean} ({low} to {high})" if low else mean


def format_csv(sweep: Sweep) -> str:
    """`make_rows` as CSV."""
    from pandas import DataFrame

    return as_csv(DataFrame(make_rows(sweep), columns=COLUMNS), "%.6g")


def accumulate_completions(flows: Sequence[FlowRecord]) -> tuple[Float64, Float64]:
    """The completion times of flows, sorted, and the share of all flows complete by each time: float64 (done,) both.
    The last share is below 1 if some flows were cut off."""
    completion_s = np.sort([flow.completion_s for flow in flows if flow.completion_s is not None])
    return completion_s, np.arange(1, completion_s.size + 1) / max(len(flows), 1)


def draw(runs: Sequence[Run], path: Path) -> list[Path]:
    """For each pattern, the distribution of completion times: a curve for each scheme, all valid trials together.
    Flows that were cut off never complete here, so a curve may end below 1. Some valid run has such traffic."""
    drawn_runs = [run for run in runs if run.valid and run.completion]
    patterns = list(dict.fromkeys(run.pattern for run in drawn_runs))
    with picture(path, 8.4, 2.5 * len(patterns)) as figure:
        for axes, pattern in zip(figure.subplots(len(patterns), 1, squeeze=False)[:, 0], patterns, strict=True):
            of_pattern = [run for run in drawn_runs if run.pattern == pattern]
            cut_off = False
            for scheme in order_schemes(run.scheme for run in of_pattern):
                flows = (flow for run in of_pattern if run.scheme == scheme for flow in run.flows)
                sized = [flow for flow in flows if flow.size_bytes is not None]
                completion_s, share = accumulate_completions(sized)
                # Flows that the run's end cut off count among all flows, so that the curve does not promise that they
                # end.
                cut_off |= completion_s.size < len(sized)
                if completion_s.size:
                    axes.plot(completion_s, share, color=colour(scheme), lw=1.3, label=scheme)
            set_logarithmic(axes, "x")
            axes.set_ylim(0, 1.02)
            axes.set_title(label(pattern) + "; where a curve ends below 1, the run's end cut flows off" * cut_off)
            axes.set_ylabel("flows complete")
            axes.grid(True)
            if axes.lines:
                axes.legend(loc="lower right")
        axes.set_xlabel("seconds since the flow began")
    return list_written_files(path)
