"""Which runs make up each figure and table; the numbers taken from them, with their spread over seeds, beside the
published ones; and how much shorter HULL's times are than each other scheme's."""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from plots.trials import difference
from studies.hull.experiment import Experiment
from studies.hull.parameters import SCHEMES, VARIANTS, Parameters
from studies.hull.run import KINDS, Result, run_many
from topos.arrays import Float64

_PUBLISHED = Path(__file__).parents[2] / "results" / "published" / "hull.csv"


def _read_published() -> dict[tuple[str, float, str, str, str], float]:
    with _PUBLISHED.open(encoding="utf-8", newline="") as file:
        return {
            (row["experiment"], float(row["x"]), row["scheme"], row["metric"], row["statistic"]): float(row["value"])
            for row in csv.DictReader(line for line in file if not line.startswith("#"))
        }


PUBLISHED: Mapping[tuple[str, float, str, str, str], float] = _read_published()
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


def _percent(kind: str, what: str, of: str) -> Callable[[Result], Float64]:
    """An event at the servers' pacers, for flows of a kind; nothing if there was no such flow."""

    def percent(result: Result) -> Float64:
        whole = result.counts[f"{kind}_{of}"]
        return np.array([100 * result.counts[f"{kind}_{what}"] / whole] if whole else [])

    return percent


for _kind in KINDS.values():
    SAMPLES[f"{_kind}_associated_percent"] = _percent(_kind, "associations", "packets")
    SAMPLES[f"{_kind}_association_ended_percent"] = _percent(_kind, "ended", "associations")

SELECTIVITY = tuple(name for name in SAMPLES if "_associat" in name)
"""How well pacers choose the flows that they pace: associations per packet of a kind of flow, and how many of them
ended before another echo renewed them."""

STATISTICS: dict[str, Callable[[Float64], float]] = {
    "mean": lambda samples: float(samples.mean()),
    "p99": lambda samples: float(np.percentile(samples, 99)),
    "worst 1%": lambda samples: float(np.sort(samples)[: max(1, samples.size // 100)].mean()),
}


Row = dict[str, Any]


def by_seed(results: Sequence[Result], metric: str, statistic: str) -> Float64:
    samples = [SAMPLES[metric](result) for result in results]
    return np.array([STATISTICS[statistic](each) for each in samples if each.size])


def cell(what: tuple[str, float, str, str, str], results: Sequence[Result]) -> Row:
    """The number that all seeds' samples give together, beside the published one; ``what``: as in PUBLISHED.

    ``lowest``, ``highest``: of single seeds. ``published``: None if there is none; ``ratio``: ours over it.
    ``by_seed``: every seed's, in their order, with spaces between.
    """
    *_, metric, statistic = what
    single = by_seed(results, metric, statistic)
    ours = low = high = float("nan")
    if single.size:
        ours = STATISTICS[statistic](np.concatenate([SAMPLES[metric](result) for result in results]))
        low, high = float(single.min()), float(single.max())
    published = PUBLISHED.get(what)
    return {
        "metric": metric, "statistic": statistic, "published": published, "ours": ours, "lowest": low, "highest": high,
        "seeds": len(results), "ratio": ours / published if published else None, "by_seed": _told(single),
    }  # fmt: skip


def _told(by_seed: Float64) -> str:
    return " ".join(f"{value:.6g}" for value in by_seed)


def within(rows: Sequence[Row], statistic: str, factor: float) -> tuple[int, int]:
    """The number of rows with that statistic within a factor of the published number, and of all such rows."""
    ratios = [row["ratio"] for row in rows if row["statistic"] == statistic and row["ratio"]]
    return sum(1 / factor <= ratio <= factor for ratio in ratios), len(ratios)


HULL = "hull"

Found = Mapping[tuple[str, int, str], Sequence[Result]]
"""Every seed's result, by variant, x and scheme."""


def reductions(experiment: str, column: str, found: Found, metric: str, statistic: str) -> list[Row]:
    """HULL's reductions of a time against every other scheme, in percent of that scheme's time; below 0: an increase.
    All schemes of a seed answer exactly the same requests, so reductions are paired by seed, and the interval is
    Student's over them.

    By x (``column``), and its mean over all x above 0 (None); none if a time is 0 or the metric is not a time.
    ``percent``: the mean over seeds; ``low``, ``high``: its 95 % interval, None if there are too few seeds.
    ``published``: from the published numbers, None if there are none. ``by_seed``: as in `cell`.
    """
    if not metric.endswith(("_us", "_ms")):
        return []
    rows = []
    for variant, than in dict.fromkeys((variant, scheme) for variant, _, scheme in found if scheme != HULL):
        percent: dict[int | None, Float64] = {}
        published: dict[int | None, float | None] = {}
        for x in [x for v, x, scheme in found if (v, scheme) == (variant, than) and (variant, x, HULL) in found]:
            own, other = (by_seed(found[variant, x, name], metric, statistic) for name in (HULL, than))
            if own.size == other.size and own.size and (other > 0).all():
                percent[x] = 100 * (1 - own / other)
                theirs = [PUBLISHED.get((experiment, x, name, metric, statistic)) for name in (HULL, than)]
                published[x] = 100 * (1 - theirs[0] / theirs[1]) if theirs[0] and theirs[1] else None
        loaded = [x for x in percent if x]
        if len(loaded) > 1:
            known = [value for x in loaded if (value := published[x]) is not None]
            published[None] = float(np.mean(known)) if len(known) == len(loaded) else None
            percent[None] = np.mean([percent[x] for x in loaded], axis=0)
        for at, values in percent.items():
            of = difference(None, values.tolist())
            rows.append(
                {
                    column: at, "variant": variant, "metric": metric, "statistic": statistic, "than": than,
                    "published": published[at], "percent": of.mean, "low": of.low, "high": of.high, "seeds": of.pairs,
                    "by_seed": _told(values),
                }
            )  # fmt: skip
    return rows


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
