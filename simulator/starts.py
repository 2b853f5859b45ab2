"""When the flows of a workload start: at a time of their own, or after others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topos.arrays import Float64, Int32, Int64
from traffic.flows import NOBODY, Flows
from traffic.graph import FlowGraph, list_followers

EVERY = slice(None)
"""All flows of a workload, where an engine is asked about some."""


class Starts(NamedTuple):
    """When flows start: at a time of their own, or when those that they wait for have ended.

    ``queue`` int32 (flows,): the flows in the order of their starts; ``due_s`` float64 (flows,): the start of each.
    Only the first ``known`` have one. The tail of both arrays is room in which an engine lines up the others when
    their turns come.

    ``first`` int64 (flows + 1,), ``follower`` int32 (edges,): those that wait for flow f are
    ``follower[first[f] : first[f + 1]]``. ``missing`` int32 (flows,): for how many each flow still waits.
    ``delay_s`` float64 (flows,): from the end of the last of them to its start.
    """

    queue: Int32
    due_s: Float64
    known: int
    first: Int64
    follower: Int32
    missing: Int32
    delay_s: Float64


def find_starts(flows: Flows, graph: FlowGraph | None) -> Starts:
    """As each flow says it in ``start_s`` and ``after``, and ``graph`` of the first of them."""
    queue = np.argsort(flows.start_s, kind="stable").astype(np.int32)
    start_s = flows.start_s[queue]
    known = np.isfinite(start_s)
    times = queue, np.where(known, start_s, 0.0), int(known.sum())
    waiting = np.flatnonzero(flows.after != NOBODY)
    before = flows.after[waiting]
    delay = np.zeros(len(flows))
    if graph is None and not waiting.size:
        return Starts(*times, np.zeros(len(flows) + 1, np.int64), np.zeros(0, np.int32), np.zeros_like(queue), delay)
    if graph is not None:
        waiting, before = np.concatenate([graph.waiting, waiting]), np.concatenate([graph.before, before])
        delay[: len(graph)] = graph.delay_s
    return Starts(*times, *list_followers(before, waiting, len(flows)), delay)
