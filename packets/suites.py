"""Which runs make up each figure and table, and the numbers taken from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from packets.experiment import Experiment, static_parameters
from packets.metrics import Cell, cell
from packets.parameters import Parameters
from packets.result import Result
from packets.run import run_many
from packets.schemes import SCHEMES

X = TypeVar("X", int, float)
"""What a figure varies."""

STATISTICS = ("mean", "p99")
FLOWS = tuple(range(2, 9))
LOADS = {20: 150.0, 40: 76.0, 60: 50.0}
"""Table II: simulated seconds of each seed, by load in percent; five seeds are the authors' 1,380 s."""

BACKGROUNDS = (0, 200, 400, 600)
"""Figures 4 and 5, Mb/s."""

FAN_OUT_S = {"search": 30.0, "low-latency": 20.0}
"""Simulated seconds of each seed; five seeds are the authors' 150 and 100 s."""


@dataclass(frozen=True)
class Suite:
    """How a set of experiments is run. ``seeds``: how many. ``keep``: where results are kept."""

    parameters: Parameters
    seeds: int
    keep: Path
    jobs: int | None = None
    cluster: str | None = None
    schemes: Sequence[str] = field(default_factory=lambda: tuple(SCHEMES))

    def run(
        self, label: str, experiments: Mapping[tuple[X, str], Experiment]
    ) -> dict[tuple[X, str], list[Result]]:
        """All seeds of every experiment, by (x, scheme)."""
        wanted = [
            (key, replace(experiment, seed=seed))
            for seed in range(1, self.seeds + 1)
            for key, experiment in experiments.items()
        ]
        results = run_many(label, [each for _, each in wanted], self.keep, self.jobs, self.cluster)
        found: dict[tuple[X, str], list[Result]] = {key: [] for key in experiments}
        for (key, _), result in zip(wanted, results, strict=True):
            found[key].append(result)
        unfinished = sum(result.unfinished for result in results)
        if unfinished:
            raise RuntimeError(f"{label}: {unfinished} requests were never answered; the result is no good")
        return found


def figure_1(suite: Suite, experiment: str, seconds: float) -> list[Cell]:
    """Static flows: queueing latency and goodput, against their number."""
    parameters = static_parameters(suite.parameters)
    found = replace(suite, parameters=parameters).run(
        "Figure 1",
        {
            (n, scheme): Experiment(scheme, "static", flows=n, seconds=seconds, parameters=parameters)
            for n in FLOWS
            for scheme in suite.schemes
        },
    )
    return [
        cell(experiment, n, scheme, metric, statistic, results)
        for metric, statistics in (("switch_latency_us", STATISTICS), ("goodput_mbps", ("mean",)))
        for (n, scheme), results in found.items()
        for statistic in statistics
    ]


def table_2(suite: Suite, share: float = 1.0, experiment: str = "table2") -> list[Cell]:
    """Dynamic flows: latency and completion times at three loads. ``share``: of the full simulated time."""
    found = suite.run(
        "Table 2",
        {
            (load, scheme): Experiment(
                scheme, "dynamic", load=load / 100, seconds=share * seconds, parameters=suite.parameters
            )
            for load, seconds in LOADS.items()
            for scheme in suite.schemes
        },
    )
    return [
        cell(experiment, load, scheme, metric, statistic, results)
        for metric in ("switch_latency_us", "fct_900B_us", "fct_10MB_ms")
        for (load, scheme), results in found.items()
        for statistic in STATISTICS
    ]


def fan_out(suite: Suite, workload: str, experiment: str, share: float = 1.0) -> list[Cell]:
    """Figures 4 and 5: queries to all servers, over background traffic."""
    found = suite.run(
        experiment,
        {
            (background, scheme): Experiment(
                scheme,
                workload,
                load=background / suite.parameters.link_mbps,
                seconds=share * FAN_OUT_S[workload],
                parameters=suite.parameters,
            )
            for background in BACKGROUNDS
            for scheme in suite.schemes
        },
    )
    return [
        cell(experiment, background, scheme, metric, statistic, results)
        for metric, statistic in (
            ("query_completion_ms", "p99"),
            ("mean_response_ms", "p99"),
            ("servers_in_time", "worst 1%"),
            ("switch_latency_us", "p99"),
        )
        for (background, scheme), results in found.items()
    ]
