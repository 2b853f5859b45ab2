"""The flows of a simulation, as rate engines take them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simulator.config import Config
from topos.arrays import Int32, Int64
from traffic.flows import NOBODY, NOTHING, Flows, Matrix, columns, joined
from traffic.graph import FlowGraph, followers
from traffic.streams import Stream, generator
from traffic.workload import Workload

MAX_FLOWS = 10_000_000
"""More are refused, and fewer where memory does not suffice."""
FLOW_BYTES = 800
"""What a simulation keeps of a flow, at its end (docs/workloads.md)."""
_FREE = Path("/proc/meminfo")


def flows_of(config: Config) -> tuple[Flows, FlowGraph | None]:
    """The flows of a simulation, and the graph of the first of them, if there is one.

    ValueError, one sentence, when they make no sense, or are far too many.
    """
    if not config.arrivals_per_s:
        work = bounded(config.workload())
        return joined(list(work.blocks()) or [NOTHING]), work.graph
    matrix = config.matrix()
    if matrix.sequential:
        raise ValueError(f"traffic {matrix.name!r} says itself when flows start; it cannot have arrivals as well")
    expected = config.arrivals_per_s * config.seconds * np.unique(matrix.src).size
    if expected > MAX_FLOWS:
        raise ValueError(
            f"{config.arrivals_per_s:g} arrivals per second and host would be {expected:.3g} flows in "
            f"{config.seconds:g} s; {MAX_FLOWS:,} is the limit"
        )
    rng = generator(config.seed, Stream.SIMULATED_ARRIVALS)
    return poisson(matrix, config.arrivals_per_s, config.mean_mbytes * 1e6, config.seconds, rng), None


def bounded(work: Workload) -> Workload:
    """Itself; ValueError, one sentence, for more flows than `MAX_FLOWS`, or than fit the memory that is free."""
    work.bounded(MAX_FLOWS)
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


def poisson(
    matrix: Matrix, arrivals_per_s: float, mean_bytes: float, seconds: float, rng: np.random.Generator
) -> Flows:
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
    return columns(matrix.src[flow], matrix.dst[flow], start[order], rng.exponential(mean_bytes, flow.size))


class Waits(NamedTuple):
    """Who starts when whose last predecessor has ended.

    ``first`` int64 (flows + 1,), ``follower`` int32 (edges,): those that wait for flow f are
    ``follower[first[f] : first[f + 1]]``. ``missing`` int32 (flows,): for how many each flow still waits.
    ``delay`` int64 (flows,): the ticks from the end of the last of them to its start.
    """

    first: Int64
    follower: Int32
    missing: Int32
    delay: Int64


def waits(flows: Flows, graph: FlowGraph | None, tick_s: float) -> Waits:
    """As each flow says it in ``after``, and ``graph`` of the first of them."""
    waiting = np.flatnonzero(flows.after != NOBODY)
    before = flows.after[waiting]
    delay = np.zeros(len(flows), dtype=np.int64)
    if graph is not None:
        waiting, before = np.concatenate([graph.waiting, waiting]), np.concatenate([graph.before, before])
        delay[: len(graph)] = np.ceil(graph.delay_s / tick_s - 1e-6)
    return Waits(*followers(before, waiting, len(flows)), delay)


def start_queue(flows: Flows, tick_s: float) -> tuple[Int32, Int64, int]:
    """The flows in the order of their starts, the tick in which each is due, and how many have a start.

    int32 (flows,), int64 (flows,). A start falls on the first tick that begins at or after it. The tail
    of both arrays, flows that wait for others' ends, is room in which an engine lines them up when these come.
    """
    queue = np.argsort(flows.start_s, kind="stable").astype(np.int32)
    start = flows.start_s[queue] / tick_s
    known = np.isfinite(start)
    return queue, np.ceil(np.where(known, start, 0.0)).astype(np.int64), int(known.sum())
