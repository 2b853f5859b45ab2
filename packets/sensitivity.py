"""HULL with one parameter changed at a time: its latency, and its cost for large files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from packets.experiment import Experiment
from packets.metrics import cell
from packets.parameters import Parameters
from packets.suites import LOADS, Suite

VALUES: dict[str, tuple[float, ...]] = {
    "drain": (0.85, 0.90, 0.95, 0.99),
    "phantom_kb": (1.0, 1.5, 3.0, 6.0),
    "beta": (4.0, 16.0, 64.0),
    "associate": (0.03, 0.125, 0.5),
    "bucket_kb": (1.5, 3.0, 12.0),
    "idle_ms": (10.0, 0.0),
}
"""By parameter; the default is among the values."""

METRICS = tuple(
    (metric, statistic)
    for metric in ("switch_latency_us", "fct_900B_us", "fct_10MB_ms")
    for statistic in ("mean", "p99")
)


@dataclass(frozen=True)
class Point:
    """A number of HULL's with ``parameter`` at ``value``; the rest as in `packets.metrics.Cell`."""

    parameter: str
    value: float
    metric: str
    statistic: str
    published: float | None
    ours: float
    lowest: float
    highest: float
    seeds: int
    ratio: float | None


def points(suite: Suite, load: float, share: float) -> list[Point]:
    """METRICS of every value of every parameter, at that load of large files."""
    percent = round(100 * load)
    seconds = share * LOADS.get(percent, 76.0)
    base = Experiment("hull", "dynamic", load=load, seconds=seconds, parameters=suite.parameters)
    found = suite.run(
        "sensitivity",
        {
            (name, value): replace(base, parameters=_changed(base.parameters, name, value))
            for name, values in VALUES.items()
            for value in values
        },
    )
    made = []
    for (name, value), results in found.items():
        for metric in METRICS:
            numbers = vars(cell(_published(name, value), ("conforming", percent, "hull"), *metric, results)).copy()
            del numbers["x"], numbers["variant"], numbers["scheme"]
            made.append(Point(name, value, **numbers))
    return made


def _changed(parameters: Parameters, name: str, value: float) -> Parameters:
    change: dict[str, Any] = {name: value}
    return replace(parameters, **change)


def _published(name: str, value: float) -> str:
    """The published experiment to compare a point with; "" if there is none."""
    if (name, value) == ("phantom_kb", 1.5):
        return "threshold1500"
    return "table2" if value == getattr(Parameters(), name) else ""
