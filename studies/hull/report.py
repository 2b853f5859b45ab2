"""`hedera hull`: the report's figures and Table II, our numbers beside the published ones; and single runs.

Slow imports wait until a command runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np
from click.core import ParameterSource

from plots import picture, set_logarithmic
from record.options import field_options, in_words, json_option, names_option, options, parallel
from record.output import read_csv
from record.spec import list_options
from record.tasks import run_tasks
from studies.hull import linux
from studies.hull.mice import mice
from studies.hull.packets import (
    KINDS,
    Result,
    Task,
    build_engine,
    compute_fingerprint,
    estimate_cost,
    keep,
    load_or_run,
    parse,
    run_scenario,
)
from studies.hull.scenario import (
    FAN_OUTS,
    SCHEMES,
    STATIC,
    UNITS,
    VARIANTS,
    Experiment,
    Parameters,
    Quantity,
    spell_value,
)
from studies.hull.waiting import waiting
from studies.study import Parts, Row, Rows, Study, choose_among, estimate_over_seeds, group_rows, make_table, study
from topos.arrays import Float64

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESULTS = Path("results/runs/hull")
"""Where results of single runs are kept; not in git."""
FULL, QUICK = RESULTS / "full", RESULTS / "quick"
"""Where pictures and CSV go, in full and with --quick."""
SEEDS, QUICK_SEEDS = 5, 2
QUICK_SHARE = 0.12
"""The share of the full simulated time, with --quick."""

PUBLISHED = {
    (row["experiment"], float(row["x"]), row["scheme"], row["metric"], row["statistic"]): float(row["value"])
    for row in read_csv(Path(__file__).parents[2] / "results/published/hull.csv")
}
"""The numbers of the report and its authors, by experiment, x (flows, load in %, or background in Mb/s), scheme, metric
and statistic."""

SAMPLES: dict[str, Callable[[Result], Float64]] = {
    "switch_latency_us": lambda result: result.queue_us,
    "fct_900B_us": lambda result: result.small_us,
    "fct_10MB_ms": lambda result: result.large_ms,
    "query_completion_ms": lambda result: result.query_ms,
    "mean_response_ms": lambda result: result.response_ms,
    "servers_in_time": lambda result: result.in_time,
    "goodput_mbps": lambda result: np.array([result.goodput_mbps.sum()]),
    "timeouts": lambda result: np.array([result.counts["timeouts"]]),
}
"""The samples that a run gives for each metric; the unit is in the name."""


def _compute_percent(kind: str, event: str, base: str, result: Result) -> Float64:
    """An event at the servers' pacers, for flows of a kind; nothing if there was no such flow, or nobody counted."""
    base_count = result.counts.get(f"{kind}_{base}")
    return np.array([100 * result.counts[f"{kind}_{event}"] / base_count] if base_count else [])


for _kind in KINDS.values():
    SAMPLES[f"{_kind}_associated_percent"] = partial(_compute_percent, _kind, "associations", "packets")
    SAMPLES[f"{_kind}_association_ended_percent"] = partial(_compute_percent, _kind, "ended", "associations")

SELECTIVITY = tuple(name for name in SAMPLES if "_associat" in name)
"""How well pacers choose the flows that they pace: associations per packet of a kind of flow, and how many of them
ended before another echo renewed them."""

STATISTICS: dict[str, Callable[[Float64], float]] = {
    "mean": lambda samples: float(samples.mean()),
    "p99": lambda samples: float(np.percentile(samples, 99)),
    "worst 1%": lambda samples: float(np.sort(samples)[: max(1, samples.size // 100)].mean()),
}


def compute_by_seed(results: Sequence[Result], metric: str, statistic: str) -> Float64:
    samples = [SAMPLES[metric](result) for result in results]
    return np.array([STATISTICS[statistic](values) for values in samples if values.size])


Results = Mapping[tuple[str, int, str], Sequence[Result]]
"""Every seed's result, by variant, x and scheme."""


class Panel(NamedTuple):
    """What one part of a picture shows, against x."""

    metric: str
    statistic: str
    title: str
    logarithmic: bool = True


class Comparison(NamedTuple):
    """A figure or table: what is on its x axis, how long each seed is simulated there, which statistics it has, and its
    picture: heading, size in inches, x label, and rows of panels."""

    title: str
    workload: str
    column: str
    seconds: Mapping[int, float]
    metrics: Mapping[str, Sequence[str]]
    heading: str
    size: tuple[float, float]
    x_label: str
    panels: Sequence[Sequence[Panel]]

    @property
    def name(self) -> str:
        """Of its files, and in PUBLISHED."""
        return self.title.lower().replace(" ", "")

    def make_experiment(self, scheme: str, x: int, share: float, parameters: Parameters, seed: int) -> Experiment:
        """Flows, or a load, of x; for ``share`` of the time."""
        full_load = parameters.link_mbps if self.column == "background_mbps" else 100
        traffic: dict[str, Any] = {"flows": x} if self.column == "flows" else {"load": x / full_load}
        seconds = share * self.seconds[x]
        return Experiment(scheme, self.workload, seconds=seconds, seed=seed, parameters=parameters, **traffic)

    def make_rows(self, results: Results, suffix: str = "") -> Rows:
        """The numbers of every variant and scheme beside the published ones; and HULL's reduction of each time.
        ``suffix``: of the files' names."""
        pairs = [(metric, statistic) for metric, statistics in self.metrics.items() for statistic in statistics]
        rows = [
            {self.column: key[1], "variant": key[0], "scheme": key[2]}
            | make_cell((self.name, *key[1:], metric, statistic), of_key)
            for metric, statistics in self.metrics.items()
            for key, of_key in results.items()
            for statistic in statistics
            if compute_by_seed(of_key, metric, statistic).size
        ]
        reduced = [row for pair in pairs for row in compute_reductions(self.name, self.column, results, *pair)]
        name = self.name + suffix
        return {name: rows} | ({f"{name}_reductions": reduced} if reduced else {})


def make_cell(number: tuple[str, float, str, str, str], results: Sequence[Result]) -> Row:
    """The number that all seeds' samples give together, beside the published one; ``number``: as in PUBLISHED.

    ``lowest``, ``highest``: of single seeds. ``published``: None if there is none; ``ratio``: ours over it.
    ``by_seed``: every seed's, in their order, with spaces between.
    """
    *_, metric, statistic = number
    seed_values = compute_by_seed(results, metric, statistic)
    ours = STATISTICS[statistic](np.concatenate([SAMPLES[metric](result) for result in results]))
    published = PUBLISHED.get(number)
    return {
        "metric": metric, "statistic": statistic, "published": published, "ours": ours,
        "lowest": float(seed_values.min()), "highest": float(seed_values.max()), "seeds": len(results),
        "ratio": ours / published if published else None, "by_seed": _format_values(seed_values),
    }  # fmt: skip


def _format_values(values: Float64) -> str:
    return " ".join(f"{value:.6g}" for value in values)


def count_within(rows: Sequence[Row], statistic: str, factor: float) -> tuple[int, int]:
    """The number of rows with that statistic within a factor of the published number, and of all such rows."""
    ratios = [row["ratio"] for row in rows if row["statistic"] == statistic and row["ratio"]]
    return sum(1 / factor <= ratio <= factor for ratio in ratios), len(ratios)


HULL = "hull"


def compute_reductions(experiment: str, column: str, results: Results, metric: str, statistic: str) -> list[Row]:
    """HULL's reductions of a time against every other scheme, in percent of that scheme's time; below 0: an increase.
    All schemes of a seed answer exactly the same requests, so reductions are paired by seed, and the interval is
    Student's over them.

    By x (``column``), and its mean over all x above 0 (None); none if a time is 0 or the metric is not a time.
    ``percent``: the mean over seeds; ``low``, ``high``: its 95 % interval, None if there are too few seeds.
    ``published``: from the published numbers, None if there are none. ``by_seed``: as in `make_cell`.
    """
    if not metric.endswith(("_us", "_ms")):
        return []
    rows = []
    for variant, rival in dict.fromkeys((variant, scheme) for variant, _, scheme in results if scheme != HULL):
        percent: dict[int | None, Float64] = {}
        published: dict[int | None, float | None] = {}
        for x in [x for v, x, scheme in results if (v, scheme) == (variant, rival) and (variant, x, HULL) in results]:
            hull_s, other_s = (compute_by_seed(results[variant, x, name], metric, statistic) for name in (HULL, rival))
            if hull_s.size == other_s.size and hull_s.size and (other_s > 0).all():
                percent[x] = 100 * (1 - hull_s / other_s)
                of_hull, of_rival = [PUBLISHED.get((experiment, x, name, metric, statistic)) for name in (HULL, rival)]
                published[x] = 100 * (1 - of_hull / of_rival) if of_hull and of_rival else None
        loaded = [x for x in percent if x]
        if len(loaded) > 1:
            published_percents = [value for x in loaded if (value := published[x]) is not None]
            published[None] = float(np.mean(published_percents)) if len(published_percents) == len(loaded) else None
            percent[None] = np.mean([percent[x] for x in loaded], axis=0)
        for x_or_all, values in percent.items():
            mean = estimate_over_seeds(values)
            rows.append(
                {
                    column: x_or_all, "variant": variant, "metric": metric, "statistic": statistic, "than": rival,
                    "published": published[x_or_all], "percent": mean.mean, "low": mean.low, "high": mean.high,
                    "seeds": mean.pairs, "by_seed": _format_values(values),
                }
            )  # fmt: skip
    return rows


def _make_query_panels(workload: str) -> list[list[Panel]]:
    wide = workload == "low-latency"  # its times span more than a decade
    deadline = FAN_OUTS[workload].deadline_ms
    return [
        [
            Panel("query_completion_ms", "p99", "query completion, p99 (ms)", wide),
            Panel("mean_response_ms", "p99", "mean server response, p99 (ms)", wide),
            Panel("servers_in_time", "worst 1%", f"servers within {deadline:g} ms, worst 1 %", logarithmic=False),
            Panel("switch_latency_us", "p99", "queueing latency, p99 (us)"),
        ]
    ]


_BOTH = ("mean", "p99")
_BACKGROUNDS = (0, 200, 400, 600)
LOADS = {20: 150.0, 40: 76.0, 60: 50.0}
_OF_QUERIES = {
    **dict.fromkeys(("query_completion_ms", "mean_response_ms"), ("p99",)),
    "servers_in_time": ("worst 1%",),
    "switch_latency_us": ("p99",),
    **dict.fromkeys(("timeouts", *SELECTIVITY), ("mean",)),
}
FIGURE_1 = Comparison(
    "Figure 1", "static", "flows", dict.fromkeys(range(2, 9), 1.0),
    {"switch_latency_us": _BOTH, "goodput_mbps": ("mean",)},
    "Static flows, links of {delay:g} us", (10.0, 4.6), "flows",
    [
        [
            Panel("switch_latency_us", "mean", "queueing latency, mean (us)"),
            Panel("switch_latency_us", "p99", "queueing latency, p99 (us)"),
            Panel("goodput_mbps", "mean", "goodput of all flows (Mb/s)", logarithmic=False),
        ]
    ],
)  # fmt: skip
TABLE_2 = Comparison(
    "Table 2", "dynamic", "load_percent", LOADS,
    dict.fromkeys(("switch_latency_us", "fct_900B_us", "fct_10MB_ms"), _BOTH),
    "Dynamic flows: the report's Table II", (10.0, 6.8), "load (%)",
    [
        [
            Panel("switch_latency_us", statistic, f"queueing latency (us), {statistic}"),
            Panel("fct_900B_us", statistic, f"completion of 900 bytes (us), {statistic}"),
            Panel("fct_10MB_ms", statistic, f"completion of 10 MB (ms), {statistic}"),
        ]
        for statistic in _BOTH
    ],
)  # fmt: skip
FIGURE_4 = Comparison(
    "Figure 4", "search", "background_mbps", dict.fromkeys(_BACKGROUNDS, 30.0), _OF_QUERIES,
    "Web search: the report's Figure 4", (12.0, 4.4), "background (Mb/s)", _make_query_panels("search"),
)  # fmt: skip
FIGURE_5 = Comparison(
    "Figure 5", "low-latency", "background_mbps", dict.fromkeys(_BACKGROUNDS, 20.0), _OF_QUERIES,
    "Low-latency search: the report's Figure 5", (12.0, 4.4), "background (Mb/s)", _make_query_panels("low-latency"),
)  # fmt: skip
"""Simulated seconds are of each seed: five make the authors' 1,380 (Table II), 150 and 100 s (Figures 4 and 5)."""


def make_tables(comparison: Comparison, rows: Rows) -> Parts:
    """A table for each metric and variant, and one of HULL's mean reductions."""
    parts: Parts = []
    numbers, *reduced = rows.values()
    for (variant, metric), group in group_rows(numbers, "variant", "metric").items():
        names = ("scheme", "statistic", comparison.column, "published", "ours", "ratio", "lowest", "highest")
        parts.append(make_table(f"{comparison.title}, {variant}: {metric}", group, *names))
        for statistic, factor in (("mean", 1.5), ("p99", 2.0)):
            near, with_published = count_within(group, statistic, factor)
            if with_published:
                parts.append(
                    f"{metric}, {statistic}: {near} of {with_published} within a factor {factor:g} of the published"
                )
    means = [row for part in reduced for row in part if row[comparison.column] is None]
    if means:
        names = ("variant", "metric", "statistic", "than", "published", "percent", "low", "high")
        parts.append(make_table("By how much HULL is below each other scheme, mean over all loads", means, *names))
    return parts


_MIN_US = 0.05
"""Lower latencies are drawn at this value: a logarithmic axis has no 0."""


def draw(comparison: Comparison, parameters: Parameters, on_linux: bool, rows_by_file: Rows, path: Path) -> None:
    """Panels of one line per scheme and variant over x; the seeds' range as a band, published numbers as circles."""
    rows, panels = next(iter(rows_by_file.values())), comparison.panels
    heading = comparison.heading.format(delay=parameters.link_delay_us) + (", on Linux" if on_linux else "")
    with picture(path, *comparison.size, heading) as figure:
        grid = figure.subplots(len(panels), len(panels[0]), squeeze=False)
        for axes, panel in zip(grid.flat, [panel for line in panels for panel in line], strict=True):
            _draw_panel(
                axes, [r for r in rows if (r["metric"], r["statistic"]) == (panel.metric, panel.statistic)], panel
            )
            axes.set(title=panel.title, xlabel=comparison.x_label)
        curves = grid[0][0].get_legend_handles_labels()
        figure.legend(*curves, loc="outside lower center", ncols=4, title=_describe_lines(rows), title_fontsize=8.5)


def _draw_panel(axes: Axes, rows: Sequence[Row], panel: Panel) -> None:
    column, minimum = next(iter(rows[0])), _MIN_US if panel.logarithmic else -np.inf
    for scheme in SCHEMES.values():
        of_scheme = [row for row in rows if row["scheme"] == scheme.name]
        for curve, line in zip(group_rows(of_scheme, "variant").values(), ("-o", "--."), strict=False):
            x, label = [row[column] for row in curve], scheme.label if line == "-o" else None
            y, low, high = (np.maximum([row[end] for row in curve], minimum) for end in ("ours", "lowest", "highest"))
            axes.plot(x, y, line, color=scheme.colour, markersize=4, label=label)
            axes.fill_between(x, low, high, color=scheme.colour, alpha=0.15, linewidth=0)
        published_by_x = {
            row[column]: max(row["published"], minimum) for row in of_scheme if row["published"] is not None
        }
        axes.plot(
            list(published_by_x), list(published_by_x.values()), "o", color=scheme.colour, mfc="none", markersize=8
        )
    if panel.logarithmic:
        set_logarithmic(axes)
    else:
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
    axes.tick_params(length=0, which="minor")
    axes.set_xticks(sorted({row[column] for row in rows}))


def _describe_lines(rows: Sequence[Row]) -> str:
    has_published = any(row["published"] is not None for row in rows)
    is_below_minimum = any(row["lowest"] < _MIN_US for row in rows if row["metric"] == "switch_latency_us")
    first, *second = group_rows(rows, "variant")
    lines = f"Lines: {first}" + "".join(f", dashed: {variant}" for variant in second)
    return (
        f"{lines}; band: lowest and highest seed. "
        + ("Open circles: published." if has_published else "No numbers are published.")
        + (f" Latencies below {_MIN_US:g} us are drawn at {_MIN_US:g}." if is_below_minimum else "")
    )


_PARAMETERS = field_options(
    Parameters,
    kinds={name: Quantity(unit) for name in list_options(Parameters) if (unit := name.rpartition("_")[2]) in UNITS},
    shown=spell_value,
)
_ENGINE = click.option(
    "--engine",
    type=click.Choice(("ns-3", linux.NAME)),
    default="ns-3",
    show_default=True,
    help="ns-3; or linux: real sockets on our guests' kernel, in virtual time.",
)
_RESULTS = click.option(
    "--results",
    "results_folder",
    default=RESULTS,
    type=click.Path(path_type=Path),
    show_default=True,
    help="Folder of the runs' results; runs that are there are not made again.",
)


def _find_static_values() -> dict[str, Any]:
    """The authors' two values for static flows, unless the command line names others."""
    find_source = click.get_current_context().get_parameter_source
    return {name: value for name, value in STATIC.items() if find_source(name) is not ParameterSource.COMMANDLINE}


_COMPARED = options(
    names_option(
        "--variants", VARIANTS, choose_among(*VARIANTS),
        "reproduction: as the report's authors built it (--no-sack, and the pacer behind the host's queue); "
        "conforming: with the given parameters, by default TCP by its RFCs and the pacer in front. Comma-separated.",
    ),
    names_option("--schemes", SCHEMES, choose_among(*SCHEMES), f"Comma-separated: {', '.join(SCHEMES)}."),
    click.option(
        "--seeds",
        type=click.IntRange(1),
        help=f"Number of seeds: 1, 2, and so on (default: {SEEDS}; quick: {QUICK_SEEDS}).",
    ),
    _ENGINE,
    _RESULTS,
    _PARAMETERS,
)  # fmt: skip
"""The options of figures and tables."""
_SHARE = click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    help=f"Share of the full simulated time (default: 1; quick: {QUICK_SHARE}).",
)
_compared = partial(study, folders=(FULL, QUICK))


def _make_study(
    comparison: Comparison, quick: bool, seeds: int | None, results_folder: Path, variants: Sequence[str],
    schemes: Sequence[str], engine: str, share: float | None = None, **fields: Any,
) -> Study:  # fmt: skip
    """``share``: of the simulated time; ``fields``: of `Parameters`."""
    parameters, share = Parameters(**fields), share or (QUICK_SHARE if quick else 1.0)
    fingerprint = _prepare_engine(engine, parameters)
    cases = {
        Task(comparison.make_experiment(scheme, x, share, varied, seed), results_folder, fingerprint): (
            variant, x, scheme,
        )
        for variant in variants
        for varied in [replace(parameters, **VARIANTS[variant])]
        for x in comparison.seconds
        for scheme in schemes
        for seed in range(1, 1 + (seeds or (QUICK_SEEDS if quick else SEEDS)))
    }  # fmt: skip

    def make_rows(answers: dict[Task, list[Result]]) -> Rows:
        results: dict[tuple[str, int, str], list[Result]] = {}
        for task, (result,) in answers.items():
            keep(task, result)
            results.setdefault(cases[task], []).append(result)
        unfinished = sum(result.unfinished for (result,) in answers.values())
        if unfinished:
            raise RuntimeError(f"{comparison.name}: {unfinished} requests were never answered; the result is not valid")
        return comparison.make_rows(results, f"-{engine}" if engine == linux.NAME else "")

    return Study(
        list(cases), load_or_run, make_rows, partial(make_tables, comparison),
        partial(draw, comparison, parameters, engine == linux.NAME),
        label=comparison.name, cost=estimate_cost,
    )  # fmt: skip


def _prepare_engine(engine: str, parameters: Parameters) -> str:
    """Have an engine ready, once, before many ask for it; what it is known by. ValueError, one sentence, for parameters
    that it does not have."""
    if engine == linux.NAME:
        linux.require(parameters)
        linux.prepare_image()
        return linux.compute_fingerprint()
    linux.refuse(parameters)
    build_engine()
    return compute_fingerprint()


@click.group()
def hull() -> None:
    """Simulate HULL by packets: phantom queues, DCTCP and pacing, compared with a report that reproduced it.

    Start with `hedera hull table 2 --quick`. docs/hull.md has the results and their limits.
    """


@hull.group("figure")
def figures() -> None:
    """Reproduce a figure of the report."""


@hull.group("table")
def report_tables() -> None:
    """Reproduce a table of the report."""


@_compared(click.option("--seconds", default=2.0, show_default=True, help="Measured time of every run."), _COMPARED)
def figure_1(seconds: float, quick: bool, **options: Any) -> Study:
    """Queueing latency and goodput against 2 to 8 endless flows (1b; with --link-delay 100us: 1c).

    As in the authors' experiment, packets have 600 bytes of payload and phantom queues drain at 90 %, unless
    you give --segment-bytes or --drain.
    """
    options |= _find_static_values()
    title = {5.0: "Figure 1b", 100.0: "Figure 1c"}.get(options["link_delay_us"], "Figure 1")
    if options["drain"] != STATIC["drain"]:
        title += f"-drain{100 * options['drain']:g}"
    return _make_study(FIGURE_1._replace(title=title), quick, share=0.3 if quick else seconds, **options)


@_compared(_SHARE, _COMPARED)
def table_2(quick: bool, **options: Any) -> Study:
    """Queueing latency and completion times of small and large files, at 20, 40 and 60 % load.

    Every seed simulates 276 seconds of each scheme; five seeds make the published 1,380.
    """
    return _make_study(TABLE_2, quick, **options)


@_compared(_SHARE, _COMPARED)
def figure_4(quick: bool, **options: Any) -> Study:
    """Web search: queries to ten servers, against background load."""
    return _make_study(FIGURE_4, quick, **options)


@_compared(_SHARE, _COMPARED)
def figure_5(quick: bool, **options: Any) -> Study:
    """Low-latency search: queries to ten servers that answer in 100 us, against background load."""
    return _make_study(FIGURE_5, quick, **options)


hull.add_command(mice)
hull.add_command(waiting)
report_tables.add_command(table_2, "2")
for _number, _command in (("1", figure_1), ("4", figure_4), ("5", figure_5)):
    figures.add_command(_command, _number)


@hull.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@in_words
def scenario(file: Path) -> None:
    """Run your own scenario (docs/notes/packet-engine.md), and print the engine's result as one JSON object."""
    try:
        scenario = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is not JSON: {error}") from error
    head, arrays = parse(run_scenario(scenario))
    head["arrays"] = {name: values.tolist() for name, values in arrays.items()}
    click.echo(json.dumps(head))


@hull.command()
@field_options(Experiment, load=None)
@click.option("--seeds", default=1, type=click.IntRange(1), show_default=True, help="Number of seeds, from --seed on.")
@_ENGINE
@_RESULTS
@_PARAMETERS
@json_option
@parallel
@in_words
def run(
    scheme: str, workload: str, load: float | None, flows: int, seconds: float, seed: int, seeds: int, engine: str,
    results_folder: Path, as_json: bool, jobs: int | None, cluster: str | None, **fields: Any,
) -> None:  # fmt: skip
    """Make one run and describe it. With --seeds, make several runs and take their samples together."""
    if workload == "static":
        fields |= _find_static_values()
    if load is None:
        load = 0.2 if workload == "dynamic" else 0.0
    first = Experiment(scheme, workload, load, flows, seconds, seed, Parameters(**fields))
    fingerprint = _prepare_engine(engine, first.parameters)
    tasks = [Task(replace(first, seed=number), results_folder, fingerprint) for number in range(seed, seed + seeds)]
    results = run_tasks(f"{first.scheme}, {workload}", load_or_run, tasks, jobs, cluster)
    for task, result in zip(tasks, results, strict=True):
        keep(task, result)
    numbers = summarise_runs(first, results)
    if as_json:
        click.echo(json.dumps(numbers))
    else:
        for name, value in {**numbers, **numbers.pop("counts")}.items():
            click.echo(f"{name}: {value:,.6g}" if isinstance(value, float) else f"{name}: {value}")
    if numbers["verdict"] != "ok":
        raise click.exceptions.Exit(1)


def summarise_runs(experiment: Experiment, results: Sequence[Result]) -> Row:
    """One run, or several seeds of it: means and 99th percentiles of all samples together, with units in the names."""
    numbers: Row = {name: getattr(experiment, name) for name in ("scheme", "workload", "load", "flows", "seconds")}
    unfinished = sum(result.unfinished for result in results)
    numbers |= {"seeds": len(results), "verdict": "invalid" if unfinished else "ok"}
    numbers["reasons"] = [f"{unfinished} requests were never answered"] if unfinished else []
    for name in SAMPLES:
        samples = np.concatenate([SAMPLES[name](result) for result in results])
        if name.endswith(("_us", "_ms", "_time")) and samples.size:
            for statistic in _BOTH:
                numbers[f"{name}_{statistic}"] = round(STATISTICS[statistic](samples), 4)
            numbers[f"{name}_samples"] = int(samples.size)
    by_connection = np.mean([result.goodput_mbps for result in results], axis=0)
    numbers["goodput_mbps"] = round(float(by_connection.sum()), 3)
    if experiment.workload == "static":
        numbers["goodput_by_flow_mbps"] = [round(float(mbps), 3) for mbps in by_connection]
    counts = {name: sum(result.counts[name] for result in results) for name in results[0].counts}
    counts["utilisation"] /= len(results)
    return {**numbers, "counts": counts}
