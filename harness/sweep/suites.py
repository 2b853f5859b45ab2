"""Named collections of workloads: what a sweep runs when it is told a suite instead of patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import UserMistake
from traffic.published import PUBLISHED


@dataclass(frozen=True)
class Workload:
    """A traffic pattern, how often each host sends it, and the fraction of flows kept."""

    traffic: str
    flows_per_host: int = 1
    keep: float = 1.0


def figure9() -> list[Workload]:
    """The 20 published matrices, in Figure 9's order."""
    return [Workload(f"published:{name}") for name in PUBLISHED]


def replication() -> list[Workload]:
    """The multi-flow workloads of the replication report: 2 flows per host, and 6 with half of them dropped."""
    patterns = (
        *(f"stride:{i}" for i in (1, 2, 4, 8)),
        "staggered:0.2,0.3",
        "staggered:0.5,0.3",
        "random",
        "randbij",
    )
    return [Workload(traffic, flows, keep) for flows, keep in ((2, 1.0), (6, 0.5)) for traffic in patterns]


def dynamic() -> list[Workload]:
    """Traffic that comes and goes: mice beside elephants, web search at three loads, the shuffle."""
    traffic = (
        "stride:4 + poisson:fixed:1000000,0.05",
        *(f"poisson:web-search,{load:g}" for load in (0.3, 0.5, 0.7)),
        "shuffle:100000",
    )
    return [Workload(spec) for spec in traffic]


SUITES: dict[str, Callable[[], list[Workload]]] = {
    "figure9": figure9,
    "replication": replication,
    "dynamic": dynamic,
    "all": lambda: figure9() + replication(),
}


def suite(name: str) -> list[Workload]:
    """The workloads of a suite; UserMistake when there is no such suite."""
    if name not in SUITES:
        raise UserMistake(f"there is no suite {name!r}; the suites are {', '.join(SUITES)}")
    return SUITES[name]()
