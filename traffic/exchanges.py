"""What collectives are made of: ranks in groups of one size that send to each other, in steps or at once.

Raises ValueError, one sentence, for graphs that are too large, before they are made.
"""

from __future__ import annotations

import numpy as np

from topos.arrays import Int64
from traffic.graph import FlowGraph, bounded


def in_steps(name: str, ranks: int, to: list[Int64], sizes: list[int]) -> FlowGraph:
    """In step s, every rank r sends ``sizes[s]`` bytes to ``to[s][r]``, after what it got and sent in step s - 1."""
    steps = len(to)
    bounded(name, steps * ranks, 2 * (steps - 1) * ranks)
    rank = np.arange(ranks)
    waiting, before = [np.zeros(0, dtype=np.int64)] * 2
    if steps > 1:
        source = np.empty((steps - 1, ranks), dtype=np.int64)  # the flow of the step before that each rank gets
        for step in range(steps - 1):
            source[step, to[step]] = step * ranks + rank
        own = np.arange((steps - 1) * ranks)
        waiting = np.tile(own + ranks, 2)
        before = np.concatenate([source.ravel(), own])
    return FlowGraph(
        name,
        ranks,
        np.tile(rank, steps).astype(np.int32),
        np.concatenate(to).astype(np.int32),
        np.repeat(np.array(sizes, dtype=np.int64), ranks),
        np.zeros(steps * ranks),
        waiting,
        before,
    )


def part(size: int, parts: int) -> int:
    """One of the equal parts of so many bytes, rounded up."""
    return -(-size // parts)


def ring(name: str, group: int, groups: int, steps: int, size: int) -> FlowGraph:
    """In each of ``steps``, every rank of a group sends ``size`` bytes to the next."""
    bounded(name, steps * group * groups, 2 * (steps - 1) * group * groups)
    rank = np.arange(group * groups)
    following = rank // group * group + (rank + 1) % group
    return in_steps(name, rank.size, [following] * steps, [size] * steps)


def all_to_all(name: str, group: int, groups: int, size: int) -> FlowGraph:
    """Every rank of a group sends ``size`` bytes to every other one, all at once."""
    ranks, others = group * groups, group - 1
    bounded(name, ranks * others, 0)
    src = np.repeat(np.arange(ranks), others)
    away = np.tile(np.arange(1, group), ranks)
    dst = src // group * group + (src + away) % group
    nothing = np.zeros(0, dtype=np.int64)
    return FlowGraph(
        name,
        ranks,
        src.astype(np.int32),
        dst.astype(np.int32),
        np.full(src.size, size),
        np.zeros(src.size),
        nothing,
        nothing,
    )
