"""When each flow starts, and how much it sends: traffic turned into work for a rate engine."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simulator.config import Config
from traffic.flows import NOBODY, NOTHING, joined
from traffic.matrix import Matrix
from traffic.streams import Stream, generator
from traffic.workload import Workload as Traffic

NEVER = np.inf
"""The start of a flow that waits for another flow's end; and the size of a flow that never ends."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Flows with their starts and sizes; every array has shape (flows,).

    ``src``, ``dst``: int32 host numbers. ``start_s``: float64, seconds after the start of the run, or NEVER
    for a flow that starts when another ends. ``size_bytes``: float64, NEVER for a flow that outlasts the run.
    ``successor``: int32, the flow that starts when this one ends, or -1. ``src_port``: int32, where traffic has
    decided about them already.
    """

    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    start_s: NDArray[np.float64]
    size_bytes: NDArray[np.float64]
    successor: NDArray[np.int32]
    src_port: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        """The number of flows."""
        return int(self.src.size)


MOST_FLOWS = 10_000_000
"""More are refused, and fewer where memory does not suffice."""
FLOW_BYTES = 800
"""What a simulation keeps of a flow, at its end (docs/workloads.md)."""
_FREE = Path("/proc/meminfo")


def workload(config: Config) -> Workload:
    """The flows of a simulation. ValueError, one sentence, when they make no sense, or are far too many."""
    if not config.arrivals_per_s:
        return of_traffic(config.workload())
    matrix = config.matrix()
    if matrix.sequential:
        raise ValueError(
            f"traffic {matrix.name!r} says itself when flows start; it cannot have arrivals as well"
        )
    expected = config.arrivals_per_s * config.seconds * np.unique(matrix.src).size
    if expected > MOST_FLOWS:
        raise ValueError(
            f"{config.arrivals_per_s:g} arrivals per second and host would be {expected:.3g} flows in "
            f"{config.seconds:g} s; {MOST_FLOWS:,} is the limit"
        )
    rng = generator(config.seed, Stream.SIMULATED_ARRIVALS)
    return poisson(matrix, config.arrivals_per_s, config.mean_mbytes * 1e6, config.seconds, rng)


def of_traffic(work: Traffic) -> Workload:
    """All flows of a workload at once; ValueError, one sentence, when they are far too many."""
    flows = joined(list(bounded(work).blocks()) or [NOTHING])
    successor = np.full(len(flows), -1, dtype=np.int32)
    waiting = np.flatnonzero(flows.after != NOBODY)
    successor[flows.after[waiting]] = waiting
    return Workload(flows.src, flows.dst, flows.start_s, flows.size_bytes, successor, flows.src_port)


def bounded(work: Traffic) -> Traffic:
    """Itself; ValueError, one sentence, for more flows than `MOST_FLOWS`, or than fit the memory that is free."""
    work.bounded(MOST_FLOWS)
    needed, free = work.expected_flows * FLOW_BYTES, _free_bytes()
    if needed > free:
        raise ValueError(
            f"traffic {work.name!r} would be {work.expected_flows:.3g} flows in {work.seconds:g} s, which take some "
            f"{needed / 1e9:.1f} GB of memory; {free / 1e9:.1f} GB are free"
        )
    return work


def _free_bytes() -> float:
    """What a process can still have without swapping; infinity where the system does not tell."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", _FREE.read_text(), re.M) if _FREE.exists() else None
    return int(found[1]) * 1024 if found else math.inf


def static(matrix: Matrix) -> Workload:
    """The benchmark suite (section 6.1): all flows start at once and last for the run.

    A matrix whose flows take turns (the shuffle of section 6.3) starts each host's first turn at once and
    every later turn when the turn before it has ended.
    """
    flows = len(matrix)
    start = np.zeros(flows)
    size = np.full(flows, NEVER)
    successor = np.full(flows, -1, dtype=np.int32)
    if matrix.size_bytes is not None and matrix.turn is not None:
        size = matrix.size_bytes.astype(np.float64)
        order = np.lexsort((matrix.turn, matrix.src))
        follows = np.diff(matrix.src[order]) == 0
        successor[order[:-1][follows]] = order[1:][follows]
        start[order[1:][follows]] = NEVER
    return Workload(matrix.src, matrix.dst, start, size, successor)


def poisson(
    matrix: Matrix, arrivals_per_s: float, mean_bytes: float, seconds: float, rng: np.random.Generator
) -> Workload:
    """Dynamic traffic (section 5.5): Poisson arrivals at every sending host, exponential sizes.

    A host starts ``arrivals_per_s`` flows per second on average, each to one of its receivers in ``matrix``,
    drawn uniformly; sizes have the mean ``mean_bytes``. Flows come in the order of their starts, all of them
    before ``seconds``.
    """
    senders = np.bincount(matrix.src, minlength=matrix.num_hosts)
    mean = arrivals_per_s * seconds / senders[matrix.src]
    flow = np.repeat(np.arange(len(matrix)), rng.poisson(mean))
    start = rng.uniform(0.0, seconds, flow.size)
    order = np.argsort(start, kind="stable")
    flow = flow[order]
    return Workload(
        matrix.src[flow],
        matrix.dst[flow],
        start[order],
        rng.exponential(mean_bytes, flow.size),
        np.full(flow.size, -1, dtype=np.int32),
    )


def start_queue(work: Workload, tick_s: float) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """The flows in the order of their starts, the tick in which each is due, and how many have a start.

    int32 (flows,), int64 (flows,). A start falls on the first tick that begins at or after it. The tail
    of both arrays, flows that wait for another's end, is room in which an engine lines them up when it comes.
    """
    queue = np.argsort(work.start_s, kind="stable").astype(np.int32)
    start = work.start_s[queue] / tick_s
    known = np.isfinite(start)
    return queue, np.ceil(np.where(known, start, 0.0)).astype(np.int64), int(known.sum())
