"""The flows of a simulation, as rate engines take them."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topos.arrays import Float64, Int32, Int64
from traffic.flows import NOBODY, Flows
from traffic.graph import FlowGraph, followers
from traffic.workload import Workload

MAX_FLOWS = 10_000_000
"""More are refused, and fewer where memory does not suffice."""
FLOW_BYTES = 800
"""What a simulation keeps of a flow, at its end (docs/workloads.md)."""
_FREE = Path("/proc/meminfo")


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
        delay[: len(graph)] = ticks_until(graph.delay_s, tick_s)
    return Waits(*followers(before, waiting, len(flows)), delay)


def start_queue(flows: Flows, tick_s: float) -> tuple[Int32, Int64, int]:
    """The flows in the order of their starts, the tick in which each is due, and how many have a start.

    int32 (flows,), int64 (flows,). A start falls on the first tick that begins at or after it. The tail
    of both arrays, flows that wait for others' ends, is room in which an engine lines them up when these come.
    """
    queue = np.argsort(flows.start_s, kind="stable").astype(np.int32)
    start = flows.start_s[queue]
    known = np.isfinite(start)
    return queue, ticks_until(np.where(known, start, 0.0), tick_s), int(known.sum())


def ticks_until(seconds: Float64, tick_s: float) -> Int64:
    """The first tick that begins at these times or after them; int64, of their shape.

    0.057 s are 57 ticks of 1 ms, though in floating point their ratio is a little more: some last digits are forgiven.
    """
    ticks = seconds / tick_s
    return np.ceil(ticks - 4 * np.spacing(ticks)).astype(np.int64)
