"""How figures, tables and runs are told: pictures, tables and sentences, our numbers beside the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plots.style import INK, MUTED, house_style, logarithmic, save
from record import output
from studies.hull.experiment import Experiment
from studies.hull.parameters import SCHEMES
from studies.hull.run import Result
from studies.hull.suites import SAMPLES, STATISTICS, Row, Study, Suite, within
from studies.hull.workload import FAN_OUTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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


_MIN_US = 0.05
"""Lower latencies are drawn at this value: a logarithmic axis has no 0."""


class Panel(NamedTuple):
    """What one part of a picture shows, against x."""

    metric: str
    statistic: str
    title: str
    logarithmic: bool = True


def _queries(workload: str) -> tuple[tuple[Panel, ...]]:
    wide = workload == "low-latency"  # its times span more than a decade
    deadline = FAN_OUTS[workload].deadline_ms
    return (
        (
            Panel("query_completion_ms", "p99", "query completion, p99 (ms)", wide),
            Panel("mean_response_ms", "p99", "mean server response, p99 (ms)", wide),
            Panel("servers_in_time", "worst 1%", f"servers within {deadline:g} ms, worst 1 %", logarithmic=False),
            Panel("switch_latency_us", "p99", "queueing latency, p99 (us)"),
        ),
    )


_STATIC = (
    Panel("switch_latency_us", "mean", "queueing latency, mean (us)"),
    Panel("switch_latency_us", "p99", "queueing latency, p99 (us)"),
    Panel("goodput_mbps", "mean", "goodput of all flows (Mb/s)", logarithmic=False),
)
_DYNAMIC = tuple(
    (
        Panel("switch_latency_us", statistic, f"queueing latency (us), {statistic}"),
        Panel("fct_900B_us", statistic, f"completion of 900 bytes (us), {statistic}"),
        Panel("fct_10MB_ms", statistic, f"completion of 10 MB (ms), {statistic}"),
    )
    for statistic in ("mean", "p99")
)
PICTURES = {
    "figure1": ("Static flows, links of {delay:g} us", (10.0, 4.6), "flows", (_STATIC,)),
    "table2": ("Dynamic flows: the report's Table II", (10.0, 6.8), "load (%)", _DYNAMIC),
    "figure4": ("Web search: the report's Figure 4", (12.0, 4.4), "background (Mb/s)", _queries("search")),
    "figure5": ("Low-latency search: the report's Figure 5", (12.0, 4.4), "background (Mb/s)", _queries("low-latency")),
}
"""Title, size in inches, x axis and rows of panels, by `studies.hull.suites.STUDIES`."""


def compared(rows: Sequence[Row], key: str, suite: Suite, path: Path) -> Path:
    """Panels of one line per scheme and variant over x; the seeds' range as a band, published numbers as circles."""
    from matplotlib.figure import Figure

    title, size, x_label, panels = PICTURES[key]
    with house_style():
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(panels), len(panels[0]), squeeze=False)
        for axes, panel in zip(grid.flat, [panel for line in panels for panel in line], strict=True):
            _panel(axes, [r for r in rows if (r["metric"], r["statistic"]) == (panel.metric, panel.statistic)], panel)
            axes.set_title(f"\n{panel.title}" if panel in panels[0] else panel.title)
            axes.set_xlabel(x_label)
        figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        title = title.format(delay=suite.parameters.link_delay_us)
        figure.suptitle(f"{title}\n", x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
        below_title = 1 - 25 / (72 * size[1])  # points
        figure.text(0.01, below_title, _note(rows), fontsize=8.5, color=MUTED, va="top")
        return save(figure, path)[0]


def _panel(axes: Axes, rows: Sequence[Row], panel: Panel) -> None:
    column, least = next(iter(rows[0])), _MIN_US if panel.logarithmic else -np.inf
    for scheme in SCHEMES.values():
        own = [row for row in rows if row["scheme"] == scheme.name]
        for variant, line in zip(dict.fromkeys(row["variant"] for row in own), ("-o", "--."), strict=False):
            curve = [row for row in own if row["variant"] == variant]
            x, label = [row[column] for row in curve], scheme.label if line == "-o" else None
            y, low, high = (np.maximum([row[end] for row in curve], least) for end in ("ours", "lowest", "highest"))
            axes.plot(x, y, line, color=scheme.colour, markersize=4, label=label)
            axes.fill_between(x, low, high, color=scheme.colour, alpha=0.15, linewidth=0)
        known = {row[column]: max(row["published"], least) for row in own if row["published"] is not None}
        axes.plot(list(known), list(known.values()), "o", color=scheme.colour, mfc="none", markersize=8)
    if panel.logarithmic:
        logarithmic(axes)
    else:
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    axes.grid(axis="y")
    axes.tick_params(length=0, which="both")
    axes.set_xticks(sorted({row[column] for row in rows}))


def _note(rows: Sequence[Row]) -> str:
    known = any(row["published"] is not None for row in rows)
    low = any(row["lowest"] < _MIN_US for row in rows if row["metric"] == "switch_latency_us")
    first, *second = dict.fromkeys(row["variant"] for row in rows)
    lines = f"Lines: {first}" + "".join(f", dashed: {each}" for each in second)
    return (
        f"{lines}; band: lowest and highest seed. "
        + ("Open circles: published." if known else "No numbers are published.")
        + (f" Latencies below {_MIN_US:g} us are drawn at {_MIN_US:g}." if low else "")
    )
