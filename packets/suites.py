"""Which runs make up each figure and table, and the numbers taken from them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from packets.experiment import Experiment
from packets.metrics import SELECTIVITY, Found, Row, by_seed, cell, reductions
from packets.parameters import SCHEMES, VARIANTS, Parameters
from packets.result import Result
from packets.run import run_many

Key = TypeVar("Key", bound=Hashable)


class Study(NamedTuple):
    """A figure or table: what is on its x axis, how long each seed is simulated there, and which statistics it has."""

    title: str
    workload: str
    column: str
    seconds: Mapping[int, float]
    metrics: Mapping[str, Sequence[str]]

    def experiment(self, scheme: str, x: int, share: float, parameters: Parameters) -> Experiment:
        """Flows, or a load, of x; for ``share`` of the time."""
        what: dict[str, Any] = {"load": x / (parameters.link_mbps if self.column == "background_mbps" else 100)}
        if self.column == "flows":
            what = {"flows": x}
        return Experiment(scheme, self.workload, seconds=share * self.seconds[x], parameters=parameters, **what)


_BOTH = ("mean", "p99")
LOADS = {20: 150.0, 40: 76.0, 60: 50.0}
_BACKGROUNDS = (0, 200, 400, 600)
_QUERIES = {
    **dict.fromkeys(("query_completion_ms", "mean_response_ms"), ("p99",)),
    "servers_in_time": ("worst 1%",),
    "switch_latency_us": ("p99",),
    **dict.fromkeys(("timeouts", *SELECTIVITY), ("mean",)),
}
STUDIES = {
    "figure1": Study(
        "Figure 1", "static", "flows", dict.fromkeys(range(2, 9), 1.0),
        {"switch_latency_us": _BOTH, "goodput_mbps": ("mean",)},
    ),
    "table2": Study(
        "Table 2", "dynamic", "load_percent", LOADS,
        dict.fromkeys(("switch_latency_us", "fct_900B_us", "fct_10MB_ms"), _BOTH),
    ),
    "figure4": Study("Figure 4", "search", "background_mbps", dict.fromkeys(_BACKGROUNDS, 30.0), _QUERIES),
    "figure5": Study("Figure 5", "low-latency", "background_mbps", dict.fromkeys(_BACKGROUNDS, 20.0), _QUERIES),
}  # fmt: skip
"""Simulated seconds are of each seed: five make the authors' 1,380 (Table II), 150 and 100 s (Figures 4 and 5)."""


@dataclass(frozen=True)
class Suite:
    """How a set of experiments is run, and where it goes. ``seeds``: how many. ``keep``: where results are kept.

    ``share``: of the full simulated time. ``named``: the parameters that the command line names. ``folder``: of
    pictures and CSV.
    """

    parameters: Parameters
    seeds: int
    keep: Path
    jobs: int | None = None
    cluster: str | None = None
    schemes: Sequence[str] = tuple(SCHEMES)
    variants: Sequence[str] = tuple(VARIANTS)
    share: float = 1.0
    folder: Path = Path()
    as_json: bool = False
    named: frozenset[str] = frozenset()

    def run(self, label: str, experiments: Mapping[Key, Experiment]) -> dict[Key, list[Result]]:
        seeds = range(1, self.seeds + 1)
        wanted = [(key, replace(each, seed=seed)) for seed in seeds for key, each in experiments.items()]
        results = run_many(label, [each for _, each in wanted], self.keep, self.jobs, self.cluster)
        found: dict[Key, list[Result]] = {key: [] for key in experiments}
        for (key, _), result in zip(wanted, results, strict=True):
            found[key].append(result)
        unfinished = sum(result.unfinished for result in results)
        if unfinished:
            raise RuntimeError(f"{label}: {unfinished} requests were never answered; the result is not valid")
        return found

    def compare(self, name: str, study: Study) -> tuple[list[Row], list[Row]]:
        """The numbers of every variant and scheme of a study, beside the published ones of ``name``; and HULL's
        reduction of each time."""
        found: Found = self.run(
            name,
            {
                (variant, x, scheme): study.experiment(
                    scheme, x, self.share, replace(self.parameters, **VARIANTS[variant])
                )
                for variant in self.variants
                for x in study.seconds
                for scheme in self.schemes
            },
        )
        rows = [
            {study.column: x, "variant": variant, "scheme": scheme}
            | cell((name, x, scheme, metric, statistic), results)
            for metric, statistics in study.metrics.items()
            for (variant, x, scheme), results in found.items()
            for statistic in statistics
            if by_seed(results, metric, statistic).size
        ]
        pairs = [(metric, statistic) for metric, statistics in study.metrics.items() for statistic in statistics]
        return rows, [row for pair in pairs for row in reductions(name, study.column, found, *pair)]
