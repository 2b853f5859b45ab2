"""How figures, tables and runs are told: rows beside the published numbers as CSV and JSON, tables, and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from packets.experiment import Experiment
from packets.metrics import SAMPLES, STATISTICS, Row, within
from packets.result import Result
from packets.suites import Study
from results import output

if TYPE_CHECKING:
    from rich.table import Table

UNITS = {"us": "us", "ms": "ms", "mbps": "Mb/s", "percent": "%", "timeouts": "", "time": "of 10"}
"""Of a metric, by the last part of its name."""
FILES = {"fct_900B_us": "900-byte files", "fct_10MB_ms": "10 MB files", "query_completion_ms": "queries"}


def conclude(study: Study, rows: Sequence[Row], reduced: Sequence[Row], picture: Path, as_json: bool) -> None:
    """Write the CSV beside the picture, and print the rows: a table for each metric, or JSON."""
    files = [output.write_csv(picture.with_suffix(".csv"), rows), picture]
    if reduced:
        files.append(output.write_csv(picture.with_name(f"{picture.stem}_reductions.csv"), reduced))
    told: list[Table | str] = []
    for variant, metric in dict.fromkeys((row["variant"], row["metric"]) for row in rows):
        own = [row for row in rows if (row["variant"], row["metric"]) == (variant, metric)]
        told += [_table(f"{study.title}, {variant}: {metric}", study.column, own), *_near(metric, own)]
    output.conclude(rows, [*told, *_reduced(study.column, reduced)], files, as_json)


def _table(title: str, column: str, rows: Sequence[Row]) -> Table:
    """Published against ours, with the difference in % of the published (in points where the unit is %)."""
    unit = UNITS[rows[0]["metric"].rpartition("_")[2]]
    digits = 1 if max(row["ours"] for row in rows) >= 10 else 3
    made = output.plain_table(title, "case", f"paper [{unit}]", f"ours [{unit}]", "difference", "spread of ours")
    for row in rows:
        paper, difference = "no number published", ""
        if row["published"] is not None:
            paper, gap = f"{row['published']:,.{digits}f}", row["ours"] - row["published"]
            difference = f"{gap:+.{digits}f}" + (" points" if unit == "%" else "")
            if row["published"] and unit != "%":
                difference = f"{100 * gap / row['published']:+.1f} %"
        case = f"{column.partition('_')[0]} {row[column]:g}  {row['scheme']}  {row['statistic']}"
        spread = "{lowest:,.4g} to {highest:,.4g}".format(**row) if row["seeds"] > 1 else ""
        made.add_row(case, paper, f"{row['ours']:,.{digits}f}", difference, spread)
    return made


def _near(metric: str, rows: Sequence[Row]) -> Iterable[str]:
    for statistic, factor in (("mean", 1.5), ("p99", 2.0)):
        near, known = within(rows, statistic, factor)
        if known:
            yield f"{metric}, {statistic}: {near} of {known} within a factor {factor:g} of the published"


def _reduced(column: str, rows: Sequence[Row]) -> Iterable[str]:
    for row in rows:
        if row[column] is None:
            interval = "" if row["low"] is None else " ({low:.1f} to {high:.1f})".format(**row)
            published = "" if row["published"] is None else f"; published: {row['published']:.1f} %"
            what = "{variant}, {metric} {statistic}: HULL is {percent:.1f} %".format(**row)
            yield f"{what}{interval} below {row['than']}{published}"


def shown(value: float) -> str:
    return f"{value:,.1f}" if value >= 10 else f"{value:.3g}"


def as_object(experiment: Experiment, results: Sequence[Result]) -> Row:
    """One run, or several seeds of it: means and 99th percentiles of all samples together, with units in the names."""
    found: Row = {n: getattr(experiment, n) for n in ("scheme", "workload", "load", "flows", "seconds")}
    unfinished = sum(result.unfinished for result in results)
    found |= {"seeds": len(results), "verdict": "invalid" if unfinished else "ok"}
    found["reasons"] = [f"{unfinished} requests were never answered"] if unfinished else []
    for name in SAMPLES:
        samples = np.concatenate([SAMPLES[name](result) for result in results])
        if name.endswith(("_us", "_ms", "_time")) and samples.size:
            for statistic in ("mean", "p99"):
                found[f"{name}_{statistic}"] = round(STATISTICS[statistic](samples), 4)
            found[f"{name}_samples"] = int(samples.size)
    by_connection = np.mean([result.goodput_mbps for result in results], axis=0)
    found["goodput_mbps"] = round(float(by_connection.sum()), 3)
    if experiment.workload == "static":
        found["goodput_by_flow_mbps"] = [round(float(each), 3) for each in by_connection]
    counts = {name: sum(result.counts[name] for result in results) for name in results[0].counts}
    counts["utilisation"] /= len(results)
    return {**found, "counts": counts}


def in_sentences(found: dict[str, Any]) -> list[str]:
    def both(name: str) -> str:
        unit = name.rpartition("_")[2]
        mean, p99 = (shown(found[f"{name}_{statistic}"]) for statistic in ("mean", "p99"))
        return f"{mean} {unit} (mean), {p99} {unit} (99th percentile)"

    what = f"{found['flows']} flows" if found["workload"] == "static" else f"large files at {found['load']:.0%} load"
    counts = found["counts"]
    lines = [
        f"{found['scheme']}, {found['workload']}, {what}: {found['seconds']:g} s measured"
        + (f", {found['seeds']} seeds" if found["seeds"] > 1 else "")
        + (f"; INVALID: {found['reasons'][0]}" if found["reasons"] else ""),
        f"queueing latency at the client's port {both('switch_latency_us')}; "
        f"link {counts['utilisation']:.1%} used, {found['goodput_mbps']:,.1f} Mb/s of payload",
    ]
    for name, files in FILES.items():
        if f"{name}_mean" in found:
            lines.append(f"{found[f'{name}_samples']:,} {files} complete in {both(name)}")
    if "goodput_by_flow_mbps" in found:
        lines.append("by flow: " + ", ".join(f"{each:,.1f}" for each in found["goodput_by_flow_mbps"]) + " Mb/s")
    share = counts["marked"] / max(counts["packets"], 1)
    lines.append(
        f"{share:.1%} of packets marked, {counts['dropped']:,.0f} dropped, {counts['timeouts']:,.0f} timeouts; "
        f"it took {counts['wall_s']:.1f} s"
    )
    return lines
