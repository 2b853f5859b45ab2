"""What ranks do, operation by operation, as a graph of flows.

A collective is that of all ranks that have one of its group: the first of each with the first of the others, and so
on. Its size is what every rank puts in:

* ``ALL_REDUCE``: around a ring, in 2 (ranks - 1) steps of 1/ranks of it;
* ``REDUCE_SCATTER``: in ranks - 1 such steps;
* ``ALL_GATHER``: in ranks - 1 steps of all of it;
* ``ALL_TO_ALL``: 1/ranks of it to every other one, all at once.
"""

from __future__ import annotations

from array import array
from collections import defaultdict

import numpy as np

from topos.arrays import Bool, Int64
from traffic.collectives import all_to_all, around, part
from traffic.goal import Op, matched
from traffic.graph import FlowGraph, bounded
from traffic.textfile import short

COLLECTIVES = ("ALL_REDUCE", "ALL_GATHER", "ALL_TO_ALL", "REDUCE_SCATTER")
MAX_NODES, MAX_WAITS = 1_000_000, 5_000_000
"""Of all files of a trace. Larger ones are refused."""
_MOST_AROUND, _MOST_EDGES = 32, 2_000_000
"""Neighbours of a node that is left out, and edges of all such: where there are more, they stay."""


class Trace:
    """Operations of all ranks, with their number in the rank's file of ``paths`` for a line.

    Operation ``waiting[n]`` starts when ``before[n]`` has ended. ``groups``: those that are collectives of a group,
    by rank; the group without a name is of all ranks.
    """

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.ops: list[Op] = []
        self.waiting, self.before = array("q"), array("q")
        self.groups: dict[str, dict[int, list[int]]] = {}

    def where(self, op: Op) -> str:
        return f"{self.paths[op.rank]} node {op.line}"

    def bounded(self, rank: int, nodes: int, waits: int) -> None:
        """ValueError where so many more, of a rank's file, are too many."""
        if len(self.ops) + nodes > MAX_NODES or len(self.waiting) + waits > MAX_WAITS:
            raise ValueError(
                f"{self.paths[rank]} and those of lower ranks have more than {MAX_NODES:,} nodes, or "
                f"{MAX_WAITS:,} dependencies"
            )

    def graph(self, name: str) -> FlowGraph:
        """The graph, whose hosts are the ranks. ValueError, one sentence, for one that would hang or is too large.

        Its nodes are the operations, then each collective's starts and flows; its ends are the operations.
        """
        ops, nodes = self.ops, len(self.ops)
        if not ops:
            raise ValueError(f"{name} has no node in any rank")
        sends = np.array([op.kind == "send" and op.peer != op.rank for op in ops])
        rank = np.array([op.rank for op in ops], dtype=np.int64)
        src, dst = [rank], [np.where(sends, [op.peer for op in ops], rank)]
        size = [np.where(sends, [op.size if op.kind == "send" else 0 for op in ops], 0)]
        received = np.array(list(matched(ops, self.where).items()), dtype=np.int64).reshape(-1, 2)
        start = np.arange(nodes)
        waiting, before = [received[:, 0]], [received[:, 1]]
        shapes: dict[tuple[str, int], FlowGraph] = {}
        count, edges = nodes, len(self.waiting) + len(received)
        for ends in self._together():
            kind, each, ranks = ops[ends[0]].kind, ops[ends[0]].size, ends.size
            if ranks == 1:
                continue
            if (kind, ranks) not in shapes:
                shapes[kind, ranks] = _shape(name, kind, ranks)
            shape = shapes[kind, ranks]
            first, last = shape.level == 0, np.bincount(shape.before, minlength=len(shape)) == 0
            starts, flows = np.split(count + np.arange(ranks + len(shape)), [ranks])
            count += ranks + len(shape)
            edges += shape.waiting.size + 2 * int(last.sum()) + int(first.sum())
            bounded(name, count, edges)
            start[ends] = starts
            src += rank[ends], rank[ends][shape.src]
            dst += rank[ends], rank[ends][shape.dst]
            bytes_ = each if kind == "ALL_GATHER" else part(each, ranks)
            size += np.zeros(ranks, dtype=np.int64), np.full(len(shape), bytes_)
            waiting += flows[first], flows[shape.waiting], ends[shape.src[last]], ends[shape.dst[last]]
            before += starts[shape.src[first]], flows[shape.before], flows[last], flows[last]
        after, one = np.divmod(np.unique(np.array(self.waiting) * nodes + np.array(self.before)), nodes)
        delay = np.zeros(count)
        delay[:nodes] = [op.size / 1e9 if op.kind == "calc" else 0.0 for op in ops]
        bytes_of = np.concatenate(size)
        kept, late, early = _without(
            (bytes_of == 0) & (delay == 0), np.concatenate([start[after], *waiting]), np.concatenate([one, *before])
        )
        hosts = (np.concatenate(ends)[kept] for ends in (src, dst))
        return FlowGraph.of(name, len(self.paths), *hosts, bytes_of[kept], delay[kept], late, early)

    def _together(self) -> list[Int64]:
        """The nodes of each collective, by rank. ValueError where ranks do not agree on what they do together."""
        found = []
        for group, by_rank in self.groups.items():
            ranks = sorted(by_rank) if group else range(len(self.paths))
            what = f"of group {short(group)}" if group else "of all ranks"
            own = [by_rank.get(rank, []) for rank in ranks]
            for rank, nodes in zip(ranks, own, strict=True):
                if len(nodes) != len(own[0]):
                    raise ValueError(
                        f"{self.paths[rank]} has {len(nodes)} collectives {what}, and {self.paths[ranks[0]]} "
                        f"{len(own[0])}: that would hang"
                    )
            for together in zip(*own, strict=True):
                one = self.ops[together[0]]
                for op in (self.ops[node] for node in together):
                    if (op.kind, op.size) != (one.kind, one.size):
                        raise ValueError(
                            f"{self.where(op)}: {op.kind} of {op.size} bytes, and for {self.where(one)} it is "
                            f"{one.kind} of {one.size} bytes"
                        )
                found.append(np.array(together))
        return found


def _shape(name: str, kind: str, ranks: int) -> FlowGraph:
    """A collective's flows between ranks 0, 1 ..., of a byte each."""
    if kind == "ALL_TO_ALL":
        return all_to_all(name, ranks, 1, 1)
    return around(name, ranks, 1, (ranks - 1) * (2 if kind == "ALL_REDUCE" else 1), 1)


def _without(idle: Bool, waiting: Int64, before: Int64) -> tuple[Bool, Int64, Int64]:
    """Which nodes are kept, and the edges between these by their new numbers.

    An engine looks at a node that does nothing on its next tick. What waits for one waits for those that it waited
    for instead, where that makes no more edges and costs little. What waits for itself is kept, and refused later.
    """
    touching = idle[waiting] | idle[before]
    kept = np.ones(idle.size, dtype=bool)
    if int(touching.sum()) > _MOST_EDGES:
        return kept, waiting, before
    earlier, later = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for after, one in zip(waiting[touching].tolist(), before[touching].tolist(), strict=True):
        earlier[after].add(one)
        later[one].add(after)
    for node in np.flatnonzero(idle).tolist():
        ahead, behind = earlier[node], later[node]
        fewer, more = sorted((len(ahead), len(behind)))
        if node in ahead or fewer > 1 or (fewer == 1 and more > _MOST_AROUND):
            continue
        kept[node] = False
        for one in ahead:
            later[one].remove(node)
            later[one] |= behind
        for one in behind:
            earlier[one].remove(node)
            earlier[one] |= ahead
        del earlier[node], later[node]
    found = [(after, one) for after, some in earlier.items() for one in some]
    edges = np.array(found, dtype=np.int64).reshape(-1, 2)
    place = np.cumsum(kept) - 1
    late = place[np.concatenate([waiting[~touching], edges[:, 0]])]
    early = place[np.concatenate([before[~touching], edges[:, 1]])]
    late, early = np.divmod(np.unique(late * kept.size + early), kept.size)
    return kept, late, early
