"""One recorded workload file in both engines and in emulation, compared flow by flow.

    sudo .venv/bin/python -m benchmarks.flow_by_flow --emulate                             all three, from nothing
    python -m benchmarks.flow_by_flow                                                      the engines alone
    python -m benchmarks.flow_by_flow --run results/runs/flow-by-flow/emulated             and with a run there is

The workload is written to flows.csv in --out, and every backend reads that file. A flow is known by its host and its
source port, which the seed fixes. What is told of two backends, for all flows and by size class: how many ended in
both and in one alone, how well the logarithms of their completion times correlate, and the ratio of these times.
--emulate needs root and Mininet; the controller places new flows there, for then paths are the simulator's.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from harness.errors import HarnessError
from hedera.options import in_words, json_option
from paper.emulated import config_of
from results.output import conclude, plain_table, write_csv
from results.record import Run, read
from simulator.config import ENGINES, INCREASE, Config
from simulator.driver import Simulation
from topos.arrays import Float64
from traffic.completion import members
from traffic.flowfile import write_flows

if TYPE_CHECKING:
    from rich.table import Table

MAX_FLOWS = 100_000
_FEWEST = 3  # flows of which a correlation says anything
Times = dict[tuple[int, int], float]
"""Completion times in seconds, or sizes in bytes, by sending host and source port."""


@dataclass(frozen=True)
class Row:
    """Two backends and a size class. ``first_alone``, ``second_alone``: flows that ended in that one alone.

    ``correlation``: of the logarithms of completion times. ``median_ratio``: of those of ``first`` over those of
    ``second``. ``p90_factor``: nine flows in ten are within this factor of each other. None where no flow ended
    in both (no correlation for fewer than three).
    """

    first: str
    second: str
    size_class: str
    both: int
    first_alone: int
    second_alone: int
    correlation: float | None = None
    median_ratio: float | None = None
    p10_ratio: float | None = None
    p90_ratio: float | None = None
    p90_factor: float | None = None


def simulated(config: Config) -> tuple[Times, Times]:
    """The flows that ended in a simulation, and the sizes of all; times count from the tick in which each starts."""
    simulation = Simulation(config)
    found = simulation.run()
    first = np.ceil(found.start_s / config.tick_s - 1e-6) * config.tick_s
    keys = list(zip(found.src.tolist(), simulation.ports.tolist(), strict=True))
    times = zip(keys, (found.end_s - first).tolist(), strict=True)
    sizes = _by_key(list(zip(keys, found.size_bytes.tolist(), strict=True)))
    return {flow: took for flow, took in times if np.isfinite(took)}, sizes


def emulated(run: Run) -> Times:
    """Those that ended in an emulated run; times count from when each was begun."""
    return _by_key(
        [
            ((flow.src, flow.src_port), flow.completion_s)
            for flow in run.flows
            if flow.src_port is not None and flow.completion_s is not None
        ]
    )


def _by_key(flows: list[tuple[tuple[int, int], float]]) -> Times:
    times = dict(flows)
    if len(times) < len(flows):
        raise ValueError("a host has used a source port twice, so flows cannot be told apart: take a shorter run")
    return times


def compare(backends: Mapping[str, Times], size_bytes: Mapping[tuple[int, int], float]) -> list[Row]:
    """A row for every two of them and every size class that has flows."""
    rows = []
    classes = members(np.array(list(size_bytes.values()), dtype=np.float64))
    for (first, a), (second, b) in itertools.combinations(backends.items(), 2):
        for name, which in classes.items():
            ours = set(itertools.compress(size_bytes, which))
            both = sorted(ours & a.keys() & b.keys())
            alone = [len(ours & one.keys() - other.keys()) for one, other in ((a, b), (b, a))]
            if both or any(alone):
                told = _statistics(np.array([(a[flow], b[flow]) for flow in both]).reshape(-1, 2))
                rows.append(Row(first, second, name, len(both), *alone, *told))
    return rows


def _statistics(times: Float64) -> list[float | None]:
    """What a `Row` says of completion times in two backends, float64 (flows, 2)."""
    if not len(times):
        return []
    logs = np.log(times)
    varies = len(times) >= _FEWEST and bool((np.ptp(logs, axis=0) > 0).all())
    apart = logs[:, 0] - logs[:, 1]
    quantiles = np.exp(np.quantile(apart, (0.5, 0.1, 0.9))).tolist()
    factor = float(np.exp(np.quantile(np.abs(apart), 0.9)))
    return [float(np.corrcoef(logs.T)[0, 1]) if varies else None, *quantiles, factor]


@dataclass(frozen=True)
class Compared:
    """A flow and its completion time on every backend, None where it did not end or the backend was not asked."""

    src: int
    src_port: int
    size_bytes: float
    emulated_s: float | None
    aimd_s: float | None
    maxmin_s: float | None


@click.command(help=__doc__)
@click.option("--emulate", is_flag=True, help="Emulate it too: root and Mininet.")
@click.option(
    "--run",
    "path",
    type=click.Path(path_type=Path),
    help="An emulated run of a recorded file there is, its folder or run.json; all settings are that run's.",
)
@click.option("--scheme", default="ecmp", show_default=True)
@click.option("--traffic", default="poisson:web-search,0.5", show_default=True, help="What to record.")
@click.option("-k", "k", default=4, show_default=True)
@click.option("--bw", "link_mbps", default=10.0, show_default=True, help="Mb/s. Sizes are as spelled.")
@click.option("--seconds", default=60.0, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--tick", "tick_s", default=0.001, show_default=True, help="Length of the engines' ticks, seconds.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results/runs/flow-by-flow"),
    show_default=True,
    help="For flows.csv, the emulated run, and the tables.",
)
@json_option
@in_words
def main(emulate: bool, path: Path | None, out: Path, as_json: bool, **options: Any) -> None:
    """Record, run, compare."""
    if path is not None and emulate:
        raise click.UsageError("--emulate makes a run, --run takes one that there is: give one of them")
    run = None
    if path is None:
        config = recorded(out / "flows.csv", **options)
        if emulate:
            run = _emulate(config, out / "emulated")
    else:
        run = _read(path)
    if run is not None:
        config = config_of(run, options["tick_s"])
        if run.spec.new_flows != "controller":
            click.echo("the switches placed new flows in this run, so paths are not the simulator's", err=True)
        click.echo(f"emulated: {run.verdict} {'; '.join(run.reasons)}", err=True)
    backends = {} if run is None else {"emulated": emulated(run)}
    for engine in ENGINES:
        click.echo(f"simulating with {engine} ...", err=True)
        backends[engine], sizes = simulated(replace(config, engine=engine))
    rows = compare(backends, sizes)
    flows = [
        Compared(*flow, size, *(backends.get(name, {}).get(flow) for name in ("emulated", *ENGINES)))
        for flow, size in sizes.items()
    ]
    files = [write_csv(out / "flow_by_flow.csv", rows), write_csv(out / "flows_compared.csv", flows)]
    title = f"{len(flows):,} flows, {config.scheme}, k={config.k}, {config.link_mbps:g} Mb/s, {config.seconds:g} s"
    conclude(rows, [_told(rows, title)], files, as_json)


def recorded(file: Path, traffic: str, **options: Any) -> Config:
    """Write the flows of ``traffic`` down; returns the simulation of that file."""
    config = Config(traffic=traffic, scale_sizes=False, increase_mbps=INCREASE * options["link_mbps"], **options)
    flows = config.workload().bounded(MAX_FLOWS)
    if flows.matrix is not None and not flows.matrix.sequential:
        raise ValueError(f"flows of {traffic} last as long as the run, so there are no completion times to compare")
    write_flows(file, flows.blocks())
    return replace(config, traffic=f"file:{file}")


def _emulate(config: Config, folder: Path) -> Run:
    from harness.run.experiment import run_experiment
    from harness.run.spec import RunSpec

    spec = RunSpec(
        config.scheme,
        config.traffic,
        k=config.k,
        seconds=config.seconds,
        seed=config.seed,
        link_mbps=config.link_mbps,
        new_flows="controller",
        scale_sizes=False,
    )
    try:
        run_experiment(spec, folder, lambda stage: click.echo(f"emulating: {stage}", err=True))
    except HarnessError as error:
        raise click.ClickException(str(error)) from None
    return _read(folder)


def _read(path: Path) -> Run:
    path = path / "run.json" if path.is_dir() else path
    try:
        run = read(path)
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None
    if not any(flow.completion_s is not None for flow in run.flows):
        raise ValueError(f"{path} has no flow that ended, so there is nothing to compare")
    return run


def _told(rows: list[Row], title: str) -> Table:
    counts = ("first / second", "flows", "both", "1st, 2nd alone")
    made = plain_table(title, *counts, "correlation", "ratio: median", "10 %", "90 %", "factor, 90 %")
    for row in rows:
        values = (row.correlation, row.median_ratio, row.p10_ratio, row.p90_ratio, row.p90_factor)
        made.add_row(
            f"{row.first} / {row.second}",
            row.size_class,
            f"{row.both:,}",
            f"{row.first_alone:,}, {row.second_alone:,}",
            *("" if value is None else f"{value:.3f}" for value in values),
        )
    return made


if __name__ == "__main__":
    main()
