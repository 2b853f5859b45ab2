"""Whole runs of the harness in guests, kept: the same seed twice, larger trees, DCTCP beside the second kernel's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.run.resolution import resolve
from harness.run.spec import RunSpec
from harness.sweep import guests
from harness.sweep.guests import Ground
from results.record import Run, read

PAIRS = (1, 2, 3, 4, 5)
"""Seeds of which each is run twice."""


@dataclass(frozen=True)
class Once:
    """A run, and the name it is kept by."""

    name: str
    spec: RunSpec


def repeats() -> Iterator[Once]:
    """Each seed twice, under two schemes."""
    for seed in PAIRS:
        for scheme in ("ecmp", "hedera-sa"):
            for time in ("a", "b"):
                spec = RunSpec(scheme, "stride:4", seconds=10.0, link_mbps=10.0, seed=seed, time="virtual")
                yield Once(f"repeat-{scheme}-{seed}{time}", spec)


def larger() -> Iterator[Once]:
    """Larger trees."""
    for k, seconds in ((6, 10.0), (8, 6.0)):
        for scheme in ("ecmp", "hedera-sa"):
            spec = RunSpec(scheme, "randbij", k=k, seconds=seconds, link_mbps=10.0, seed=1, time="virtual")
            yield Once(f"k{k}-{scheme}", spec)


def second_kernel() -> Iterator[Once]:
    """As results/conditions/kernel-cubic and kernel-dctcp, which ran on User-Mode Linux in real time."""
    for control in ("cubic", "dctcp"):
        for pattern in ("published:stride4", "published:randbij0"):
            for scheme in ("nonblocking", "ecmp", "hedera-sa"):
                spec = RunSpec(scheme, pattern, seconds=12.0, link_mbps=2.0, congestion_control=control, time="virtual")
                yield Once(f"{control}-{pattern.partition(':')[2]}-{scheme}", spec)


def done(one: Once, ground: Ground | None, kept: Path) -> Run | None:
    """The run, from ``kept`` or now; without a ``ground`` None where there is none."""
    folder = kept / one.name
    if not (folder / "run.json").exists():
        if ground is None:
            return None
        print(f"{one.name} ...", file=sys.stderr)
        guests.run_in_guest(resolve(one.spec), folder, ground, lambda stage, progress: None)
    return read(folder / "run.json")


@dataclass(frozen=True)
class Row:
    """A run. ``flow_mbps``: of every flow in the window, by source host, for `apart`."""

    name: str
    scheme: str
    traffic: str
    k: int
    hosts: int
    switches: int
    seed: int
    congestion_control: str
    verdict: str
    of_capacity: float
    bisection_mbps: float
    maxmin_mbps: float
    flows: int
    moved: int
    drops: int
    marked: int
    real_minutes: float


def row(name: str, run: Run) -> Row:
    """What is kept of a run."""
    network = guests_network(run)
    return Row(
        name,
        run.scheme,
        run.traffic,
        run.spec.k,
        network[0],
        network[1],
        run.seed,
        run.spec.congestion_control,
        run.verdict,
        (run.bisection_mbps or 0.0) / run.capacity_mbps,
        run.bisection_mbps or 0.0,
        run.maxmin_mbps or 0.0,
        len(run.flows),
        sum(len(flow.paths) > 1 for flow in run.flows),
        sum(run.queue_drops.values()),
        int(run.costs.get("segments_marked", 0)),
        float(run.environment.get("guest_real_s") or 0.0) / 60,  # type: ignore[arg-type]
    )


def guests_network(run: Run) -> tuple[int, int]:
    """Hosts and switches of a run's fat-tree."""
    k = run.spec.k
    return k**3 // 4, 5 * k * k // 4


@dataclass(frozen=True)
class Pair:
    """Two runs. Differences in percent: of the totals, and of flows' rates, the mean over flows and the largest;
    ``paths``: how many flows ended on another path."""

    scheme: str
    kind: str
    seeds: str
    total_percent: float
    mean_flow_percent: float
    largest_flow_percent: float
    paths: int


def pair(kind: str, a: Run, b: Run) -> Pair:
    """How far two runs of one pattern are apart."""
    rates = [{(flow.src, flow.dst): flow.window_mbps or 0.0 for flow in run.flows} for run in (a, b)]
    of_a = np.array([rates[0][key] for key in sorted(rates[0])])
    of_b = np.array([rates[1][key] for key in sorted(rates[1])])
    apart = 100 * np.abs(of_a - of_b) / a.spec.link_mbps
    last = [{(flow.src, flow.dst): flow.paths[-1].core for flow in run.flows if flow.paths} for run in (a, b)]
    total_a, total_b = a.bisection_mbps or 0.0, b.bisection_mbps or 0.0
    return Pair(
        a.scheme,
        kind,
        f"{a.seed}, {b.seed}",
        100 * abs(total_a - total_b) / ((total_a + total_b) / 2),
        float(apart.mean()),
        float(apart.max()),
        sum(last[0].get(key) != last[1].get(key) for key in last[0].keys() | last[1].keys()),
    )
