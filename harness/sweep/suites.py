"""Named collections of workloads: what a sweep runs when it is told a suite instead of patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.errors import UserMistake
from harness.run.spec import RunSpec
from traffic.published import PUBLISHED


@dataclass(frozen=True)
class TrafficSpec:
    """A traffic pattern, how often each host sends it, and the fraction of flows kept.

    ``scale_sizes``: False where sizes are as spelled at any rate (`traffic.workload`).
    """

    traffic: str
    flows_per_host: int = 1
    keep: float = 1.0
    scale_sizes: bool = True


def figure9() -> list[TrafficSpec]:
    """The 20 published matrices, in Figure 9's order."""
    return [TrafficSpec(f"published:{name}") for name in PUBLISHED]


def replication() -> list[TrafficSpec]:
    """The multi-flow workloads of the replication report: 2 flows per host, and 6 with half of them dropped."""
    patterns = (
        *(f"stride:{i}" for i in (1, 2, 4, 8)),
        "staggered:0.2,0.3",
        "staggered:0.5,0.3",
        "random",
        "randbij",
    )
    return [TrafficSpec(traffic, flows, keep) for flows, keep in ((2, 1.0), (6, 0.5)) for traffic in patterns]


def dynamic(base: RunSpec) -> list[TrafficSpec]:
    """Traffic that comes and goes: mice beside elephants, web search at three loads, the shuffle.

    Sizes are as spelled: scaled to links of 10 Mb/s, web search would be 600 new flows a second, which no machine of
    today sets up in emulation. A shuffle's transfers are such that at full rate they take an eighth of the run: over
    one core, under `spanning-tree`, they take three times as long and more.
    """
    at_full_rate = base.link_mbps * 1e6 / 8 * base.seconds / 8
    traffic = (
        "stride:4 + poisson:fixed:10000,0.05",
        *(f"poisson:web-search,{load:g}" for load in (0.3, 0.5, 0.7)),
        f"shuffle:{max(1, round(at_full_rate / (base.tree.num_hosts - 1)))}",
    )
    return [TrafficSpec(spec, scale_sizes=False) for spec in traffic]


SUITES: dict[str, Callable[[RunSpec], list[TrafficSpec]]] = {
    "figure9": lambda base: figure9(),
    "replication": lambda base: replication(),
    "dynamic": dynamic,
    "all": lambda base: figure9() + replication(),
}


def suite(name: str, base: RunSpec) -> list[TrafficSpec]:
    """The workloads of a suite, for runs like ``base``; UserMistake when there is no such suite."""
    if name not in SUITES:
        raise UserMistake(f"there is no suite {name!r}; the suites are {', '.join(SUITES)}")
    return SUITES[name](base)
