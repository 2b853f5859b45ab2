"""Which runs make up each figure and table, and the numbers taken from them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from packets.experiment import Experiment
from packets.metrics import SELECTIVITY, Cell, by_seed, cell
from packets.parameters import Parameters
from packets.reductions import Found, Reduction, reductions
from packets.result import Result
from packets.run import run_many
from packets.schemes import SCHEMES, VARIANTS, parameters_of

Key = TypeVar("Key", bound=Hashable)

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
    schemes: Sequence[str] = tuple(SCHEMES)
    variants: Sequence[str] = tuple(VARIANTS)

    def run(self, label: str, experiments: Mapping[Key, Experiment]) -> dict[Key, list[Result]]:
        wanted = [
            (key, replace(experiment, seed=seed))
            for seed in range(1, self.seeds + 1)
            for key, experiment in experiments.items()
        ]
        results = run_many(label, [each for _, each in wanted], self.keep, self.jobs, self.cluster)
        found: dict[Key, list[Result]] = {key: [] for key in experiments}
        for (key, _), result in zip(wanted, results, strict=True):
            found[key].append(result)
        unfinished = sum(result.unfinished for result in results)
        if unfinished:
            raise RuntimeError(f"{label}: {unfinished} requests were never answered; the result is not valid")
        return found

    def compare(
        self, name: str, experiments: Mapping[tuple[float, str], Experiment], metrics: Mapping[str, Sequence[str]]
    ) -> Compared:
        """Run every variant of the experiments, given by x and scheme; ``metrics``: the statistics of each."""
        found: Found = self.run(
            name,
            {
                (variant, x, scheme): replace(each, parameters=parameters_of(variant, each.parameters))
                for variant in self.variants
                for (x, scheme), each in experiments.items()
            },
        )
        pairs = [(metric, statistic) for metric, statistics in metrics.items() for statistic in statistics]
        return Compared(
            [
                cell(name, case, metric, statistic, results)
                for metric, statistics in metrics.items()
                for case, results in found.items()
                for statistic in statistics
                if by_seed(results, metric, statistic).size
            ],
            [row for metric, statistic in pairs for row in reductions(name, found, metric, statistic)],
        )


@dataclass(frozen=True)
class Compared:
    """The content of a figure or table: its numbers, and HULL's reduction of each time."""

    cells: Sequence[Cell]
    reductions: Sequence[Reduction]


def figure_1(suite: Suite, name: str, seconds: float) -> Compared:
    """Static flows: queueing latency and goodput, against their number."""
    return suite.compare(
        name,
        {
            (n, scheme): Experiment(scheme, "static", flows=n, seconds=seconds, parameters=suite.parameters)
            for n in FLOWS
            for scheme in suite.schemes
        },
        {"switch_latency_us": STATISTICS, "goodput_mbps": ("mean",)},
    )


def table_2(suite: Suite, share: float = 1.0) -> Compared:
    """Dynamic flows: latency and completion times at three loads. ``share``: of the full simulated time."""
    return suite.compare(
        "table2",
        {
            (load, scheme): Experiment(
                scheme, "dynamic", load=load / 100, seconds=share * seconds, parameters=suite.parameters
            )
            for load, seconds in LOADS.items()
            for scheme in suite.schemes
        },
        dict.fromkeys(("switch_latency_us", "fct_900B_us", "fct_10MB_ms"), STATISTICS),
    )


def fan_out(suite: Suite, workload: str, name: str, share: float = 1.0) -> Compared:
    """Figures 4 and 5: queries to all servers, over background traffic."""
    return suite.compare(
        name,
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
        {
            "query_completion_ms": ("p99",),
            "mean_response_ms": ("p99",),
            "servers_in_time": ("worst 1%",),
            "switch_latency_us": ("p99",),
            **dict.fromkeys(("timeouts", *SELECTIVITY), ("mean",)),
        },
    )
