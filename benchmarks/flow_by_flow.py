"""One workload in both engines, and in an emulated run where there is one, flow by flow.

    hedera simulate --scheme ecmp --traffic poisson:web-search,0.4 --bw 10 --seconds 20 --record flows.csv
    sudo hedera run --scheme ecmp --traffic file:flows.csv --seconds 20 --new-flows controller --out RUN
    python -m benchmarks.flow_by_flow --run RUN/run.json

A flow is known by its host and its source port, which the seed fixes on every backend. What is told of two backends
are quantiles of the ratio of completion times over the flows that ended in both, and how many ended in one alone.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, replace
from pathlib import Path

import click
import numpy as np

from results.record import Run, read
from simulator.config import ENGINES, Config
from simulator.driver import Simulation

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
Times = dict[tuple[int, int], float]
"""Completion times in seconds by sending host and source port."""


@dataclass(frozen=True)
class Row:
    """Quantiles of completion times of ``first`` over those of ``second``."""

    first: str
    second: str
    both: int
    first_alone: int
    second_alone: int
    ratios: tuple[float, ...]


def simulated(config: Config) -> Times:
    """The flows that ended in a simulation; times count from the tick in which each starts."""
    simulation = Simulation(config)
    found = simulation.run()
    first = np.ceil(found.start_s / config.tick_s - 1e-6) * config.tick_s
    ended = np.isfinite(found.end_s)
    keys = zip(found.src[ended].tolist(), simulation.ports[ended].tolist(), strict=True)
    return _by_key(list(zip(keys, (found.end_s - first)[ended].tolist(), strict=True)))


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
        raise ValueError(
            "a host has used a source port twice, so flows cannot be told apart: take a shorter run"
        )
    return times


def compare(backends: dict[str, Times]) -> list[Row]:
    """A row for every two of them."""
    rows = []
    for (first, a), (second, b) in itertools.combinations(backends.items(), 2):
        both = sorted(a.keys() & b.keys())
        ratio = [a[flow] / b[flow] for flow in both]
        ratios = tuple(np.quantile(ratio, QUANTILES).tolist()) if both else ()
        rows.append(Row(first, second, len(both), len(a) - len(both), len(b) - len(both), ratios))
    return rows


def of_run(run: Run, tick_s: float) -> Config:
    """The simulation of an emulated run: its settings, as far as both have them."""
    both = {field.name for field in fields(Config)} & set(type(run.spec).__struct_fields__)
    settings = {name: getattr(run.spec, name) for name in both}
    increase = 0.12 * run.spec.link_mbps
    return Config(run.scheme, run.traffic, seed=run.seed, tick_s=tick_s, increase_mbps=increase, **settings)


@click.command()
@click.option(
    "--run", "path", type=click.Path(path_type=Path, dir_okay=False), help="An emulated run's run.json."
)
@click.option("--scheme", default="ecmp", show_default=True)
@click.option("--traffic", default="poisson:web-search,0.4", show_default=True)
@click.option("--seconds", default=20.0, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--tick", "tick_s", default=0.0001, show_default=True, help="Length of a tick, seconds.")
def command(path: Path | None, scheme: str, traffic: str, seconds: float, seed: int, tick_s: float) -> None:
    """Compare backends, flow by flow; with --run all settings are that run's."""
    run = None if path is None else read(path)
    config = Config(scheme, traffic, seconds=seconds, seed=seed, tick_s=tick_s)
    if run is not None:
        config = of_run(run, tick_s)
    backends = {} if run is None else {"emulated": emulated(run)}
    for engine in ENGINES:
        click.echo(f"simulating with {engine} ...", err=True)
        backends[engine] = simulated(replace(config, engine=engine))
    click.echo(
        "first / second         both  alone (1st, 2nd)  ratio of completion times: 5, 25, 50, 75, 95 %"
    )
    for row in compare(backends):
        ratios = "  ".join(f"{ratio:.3f}" for ratio in row.ratios)
        pair = f"{row.first} / {row.second}"
        click.echo(f"{pair:<20} {row.both:6,}  {row.first_alone:,}, {row.second_alone:,}  {ratios}")


if __name__ == "__main__":
    command()
