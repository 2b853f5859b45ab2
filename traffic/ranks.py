"""A graph of flows as programs, one for each host that has a part in it: what an emulated host is told to do.

A host knows when the flows that it sends and receives have ended, and its own computing. It can wait for nothing
else, and in collectives and GOAL text nothing else is waited for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from topos.arrays import Int32
from traffic.graph import FlowGraph


@dataclass(frozen=True)
class Step:
    """A node of the graph at its host: it starts ``delay_s`` after the last node of ``after`` has ended.

    ``connection``: its number in `Rank.connections`; None for computing, which has no ``size_bytes``.
    """

    number: int
    connection: int | None
    size_bytes: int
    delay_s: float
    after: tuple[int, ...]


@dataclass(frozen=True)
class Rank:
    """What host ``host`` does.

    ``connections``: receiver and source port of each that it opens; ``accepts``: how many others open to it;
    ``expects``: how many flows it receives.
    """

    host: int
    connections: tuple[tuple[int, int], ...]
    accepts: int
    expects: int
    steps: tuple[Step, ...]


def ranks(graph: FlowGraph, src_port: Int32) -> list[Rank]:
    """The program of every host that has a part in the graph, by host; ``src_port``, int32 (nodes,), of each flow.

    All flows between two hosts with one source port are one connection. Raises ValueError, one sentence, for a node
    that waits for what its host cannot know.
    """
    needs = _local(graph)
    connections: dict[int, dict[tuple[int, int], int]] = defaultdict(dict)
    accepts, expects = Counter[int](), Counter[int]()
    steps: dict[int, list[Step]] = defaultdict(list)
    columns = (graph.src, graph.dst, src_port, graph.size_bytes, graph.delay_s)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for node, (src, dst, port, size, delay) in enumerate(rows):
        number = None
        if src != dst:
            mine = connections[src]
            accepts[dst] += (dst, port) not in mine
            number = mine.setdefault((dst, port), len(mine))
            expects[dst] += 1
        steps[src].append(Step(node, number, size, delay, tuple(sorted(needs[node]))))
    return [
        Rank(host, tuple(connections[host]), accepts[host], expects[host], tuple(steps[host]))
        for host in sorted({*steps, *accepts})
    ]


def _local(graph: FlowGraph) -> list[set[int]]:
    """What each node waits for. Computing at another host that takes no time is replaced by what it waits for."""
    src, dst, size = graph.src.tolist(), graph.dst.tolist(), graph.size_bytes.tolist()
    instant = [bytes_ == 0 and delay == 0 for bytes_, delay in zip(size, graph.delay_s.tolist(), strict=True)]
    before: dict[int, list[int]] = defaultdict(list)
    for waiting, earlier in zip(graph.waiting.tolist(), graph.before.tolist(), strict=True):
        before[waiting].append(earlier)
    needs: list[set[int]] = [set() for _ in src]
    for node, host in enumerate(src):
        left = list(before[node])
        while left:
            earlier = left.pop()
            ends = (src[earlier], dst[earlier])
            if host not in ends and instant[earlier]:
                left += before[earlier]
                continue
            if host not in ends:
                raise ValueError(
                    f"traffic {graph.name!r}: node {node} at host {host} waits for node {earlier}, of which only "
                    f"hosts {src[earlier]} and {dst[earlier]} know in emulation"
                )
            needs[node].add(earlier)
    return needs
