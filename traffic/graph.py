"""Flows that wait for each other: what a collective sends, as a graph without circles.

A node is a flow, or computing at one host: then it has no bytes, sends to itself and ends as it starts. It starts
``delay_s`` after the last of the nodes that it waits for has ended, or after the start of the run.
`list_ranks` makes programs of it, which tell emulated hosts what to do. A host knows when the flows that it sends and
receives have ended, and its own computing. It can wait for nothing else, and in collectives and GOAL text nothing else
is waited for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from topos.arrays import Bool, Float64, Int32, Int64
from traffic.flows import WAITS, Flows, make_flows

MAX_NODES = 5_000_000
MAX_EDGES = 20_000_000
"""Larger graphs are refused: an engine keeps some 400 bytes of a node and 16 of an edge."""
NODE_BYTES, EDGE_BYTES = 400, 16
MAX_DELAY_S = 1e6
PLACEMENTS = ("compact", "random")
"""Which hosts ranks are: in their order, or drawn."""
MAX_FILE_BYTES = 100_000_000
"""Of a file of GOAL text, or of all files of a trace; larger ones are refused."""


@dataclass(frozen=True, eq=False)
class FlowGraph:
    """Nodes as arrays (nodes,): ``src``, ``dst`` int32, ``size_bytes`` int64, ``delay_s`` float64.

    Edges as arrays (edges,), int64: node ``waiting[e]`` starts after node ``before[e]`` has ended. ``lane`` int32
    (nodes,): which of the sub-flows of a flow it is. ``level`` int32 (nodes,) is made here: how many nodes lie before
    it on the longest way through the graph.

    Raises ValueError, one sentence, for a graph without nodes, a delay that makes no sense, and a circle.
    """

    name: str
    num_hosts: int
    src: Int32
    dst: Int32
    size_bytes: Int64
    delay_s: Float64
    waiting: Int64
    before: Int64
    lane: Int32
    level: Int32 = field(init=False)

    @classmethod
    def of(
        cls,
        name: str,
        num_hosts: int,
        src: ArrayLike,
        dst: ArrayLike,
        size_bytes: ArrayLike,
        delay_s: ArrayLike = 0.0,
        waiting: ArrayLike = (),
        before: ArrayLike = (),
        lane: ArrayLike = 0,
    ) -> FlowGraph:
        """A graph from arrays of any types, or lists; one size, delay or lane stands for those of all nodes."""
        nodes = np.array(src, dtype=np.int32)
        size, delay, lanes = (
            np.broadcast_to(np.asarray(column, dtype=dtype), nodes.shape).copy()
            for column, dtype in ((size_bytes, np.int64), (delay_s, np.float64), (lane, np.int32))
        )
        late, early = (np.array(ends, dtype=np.int64) for ends in (waiting, before))
        return cls(name, num_hosts, nodes, np.array(dst, dtype=np.int32), size, delay, late, early, lanes)

    def __post_init__(self) -> None:
        nodes = self.src.size
        check_size(self.name, nodes, self.waiting.size)
        if nodes == 0:
            raise ValueError(f"traffic {self.name!r} has no flow")
        wrong = ~((self.delay_s >= 0) & (self.delay_s <= MAX_DELAY_S))
        if wrong.any():
            raise ValueError(
                f"traffic {self.name!r}: {self._describe_flow(int(wrong.argmax()))} has a delay that makes no sense"
            )
        object.__setattr__(self, "level", self._compute_levels())

    def __len__(self) -> int:
        return int(self.src.size)

    @property
    def computes(self) -> Bool:
        """Which nodes are computing, and no flow: bool (nodes,)."""
        nothing: Bool = self.size_bytes == 0
        return nothing

    def flows(self) -> Flows:
        """All nodes as flows, the first of a workload. Those that wait for another start some time; computing is a
        flow of no bytes. No source port is given yet."""
        start = np.where(self.level == 0, self.delay_s, WAITS)
        return make_flows(self.src, self.dst, start, self.size_bytes.astype(np.float64))

    def connections(self) -> tuple[Int32, Int64]:
        """The connections of the flows: the sender of each, int32 (connections,); and which is each node's.

        int64 (nodes,), -1 for computing. There is one for every pair of hosts, or for every sub-flow of theirs.
        """
        flows = np.flatnonzero(~self.computes)
        key = (self.lane[flows].astype(np.int64) * self.num_hosts + self.src[flows]) * self.num_hosts + self.dst[flows]
        pairs, index = np.unique(key, return_inverse=True)
        number = np.full(len(self), -1, dtype=np.int64)
        number[flows] = index
        return (pairs // self.num_hosts % self.num_hosts).astype(np.int32), number

    def on(self, host: Int32, num_hosts: int, name: str) -> FlowGraph:
        """The same graph with node number n of today on ``host[n]``."""
        return replace(self, name=name, num_hosts=num_hosts, src=host[self.src], dst=host[self.dst])

    def repeated(self, times: int, compute_s: float) -> FlowGraph:
        """The graph ``times`` over: a host begins again when all that it sends and gets is done, ``compute_s`` later.

        It computes as long before the first time.
        """
        if times == 1 and compute_s == 0:
            return self
        roots = np.flatnonzero(np.bincount(self.waiting, minlength=len(self)) == 0)
        ends = [self._find_last_at(host) for host in (self.src, self.dst)]
        hosts = np.unique(np.concatenate([self.src, self.dst]))
        once, joins = len(self), hosts.size
        whole = once + joins  # each time: a node of computing for every host, then the graph
        check_size(self.name, whole * times, times * (self.waiting.size + roots.size + ends[0].size + ends[1].size))
        join = np.searchsorted(hosts, np.arange(self.num_hosts))
        waiting = [np.concatenate([roots, self.waiting]) + joins]
        before = [np.concatenate([join[self.src[roots]], self.before + joins])]
        first_w, first_b = waiting[0], before[0]
        over = np.concatenate(ends)
        at = np.concatenate([join[self.src[ends[0]]], join[self.dst[ends[1]]]])
        for time in range(1, times):
            offset = time * whole
            waiting += [first_w + offset, at + offset]
            before += [first_b + offset, over + joins + offset - whole]
        src, dst = (np.tile(np.concatenate([hosts, ends]), times) for ends in (self.src, self.dst))
        size = np.tile(np.concatenate([np.zeros(joins, dtype=np.int64), self.size_bytes]), times)
        delay = np.tile(np.concatenate([np.full(joins, compute_s), self.delay_s]), times)
        lane = np.tile(np.concatenate([np.zeros(joins, dtype=np.int32), self.lane]), times)
        return FlowGraph.of(
            self.name, self.num_hosts, src, dst, size, delay, np.concatenate(waiting), np.concatenate(before), lane
        )

    def split(self, parts: int) -> FlowGraph:
        """The graph with every flow in ``parts`` sub-flows, at once; their bytes are rounded up.

        Who waited for a flow waits for computing that takes no time, which waits for all its sub-flows.
        """
        if parts == 1:
            return self
        flows, others = np.flatnonzero(~self.computes), np.flatnonzero(self.computes)
        followed = np.zeros(len(self), dtype=bool)
        followed[self.before] = True
        joined = np.flatnonzero(followed & ~self.computes)
        subs, count = flows.size * parts, len(self)
        check_size(self.name, subs + others.size + joined.size, parts * (self.waiting.size + joined.size))
        own = np.full((parts, count), -1, dtype=np.int64)  # the nodes that stand for a node in each lane
        own[:, flows] = np.arange(subs).reshape(parts, -1)
        own[0, others] = subs + np.arange(others.size)
        end = own[0].copy()
        end[joined] = subs + others.size + np.arange(joined.size)
        waiting = np.concatenate([own[:, self.waiting].ravel(), np.tile(end[joined], parts)])
        before = np.concatenate([np.tile(end[self.before], parts), own[:, joined].ravel()])
        real = waiting >= 0  # computing has no second lane
        nodes = np.concatenate([np.tile(flows, parts), others, joined])
        size, delay = -(-self.size_bytes[nodes] // parts), self.delay_s[nodes]
        dst = self.dst[nodes]
        tail = slice(subs + others.size, None)
        size[tail], delay[tail], dst[tail] = 0, 0.0, self.src[joined]
        lane = np.zeros(nodes.size, dtype=np.int32)
        lane[:subs] = np.repeat(np.arange(parts), flows.size) + np.tile(self.lane[flows] * parts, parts)
        return FlowGraph.of(
            self.name, self.num_hosts, self.src[nodes], dst, size, delay, waiting[real], before[real], lane
        )

    def least_s(self, link_mbps: float) -> float:
        """What no network can beat whose hosts have one link of so many 10^6 bit/s each: seconds until all has ended.

        The longest chain of waits, each flow alone; and every host's bytes, sent or received, from the earliest moment
        at which it can begin.
        """
        alone_s = self.size_bytes * 8e-6 / link_mbps
        start = self.delay_s.copy()
        order = np.argsort(self.level[self.waiting], kind="stable")
        waiting, before = self.waiting[order], self.before[order]
        # All waits of a level at once: whatever they wait for is of lower levels, and so is settled.
        for edges in np.split(np.arange(order.size), np.flatnonzero(np.diff(self.level[waiting])) + 1):
            late, early = waiting[edges], before[edges]
            np.maximum.at(start, late, self.delay_s[late] + start[early] + alone_s[early])
        least_s, flows = float((start + alone_s).max()), ~self.computes
        for host in (self.src[flows], self.dst[flows]):
            begin = np.full(self.num_hosts, np.inf)
            np.minimum.at(begin, host, start[flows])
            load = np.bincount(host, alone_s[flows], self.num_hosts)
            least_s = max(least_s, float((begin + load)[load > 0].max(initial=0.0)))
        return least_s

    def _find_last_at(self, host: Int32) -> Int64:
        """The nodes that none waits for which their own ``host`` has a part in, their sender or their receiver."""
        at = host[self.before]
        same = (at == self.src[self.waiting]) | (at == self.dst[self.waiting])
        last = np.ones(len(self), dtype=bool)
        last[self.before[same]] = False
        return np.flatnonzero(last)

    def _describe_flow(self, node: int) -> str:
        return f"flow {node}, from host {self.src[node]} to {self.dst[node]},"

    def _compute_levels(self) -> Int32:
        """Kahn's order, a level at a time."""
        first, follower, missing = list_followers(self.before, self.waiting, len(self))
        level = np.zeros(len(self), dtype=np.int32)
        now, done, depth = np.flatnonzero(missing == 0), 0, 0
        while now.size:
            level[now] = depth
            done, depth = done + now.size, depth + 1
            count = first[now + 1] - first[now]
            total = int(count.sum())
            begin = np.repeat(first[now] - (np.cumsum(count) - count), count)
            reached = follower[begin + np.arange(total)]
            np.subtract.at(missing, reached, 1)
            now = np.unique(reached[missing[reached] == 0])
        if done < len(self):
            node = int((missing > 0).argmax())
            raise ValueError(
                f"traffic {self.name!r} has flows that wait for each other in a circle, or for such: "
                f"{self._describe_flow(node)} would never start"
            )
        return level


def check_size(name: str, nodes: int, edges: int) -> None:
    """ValueError, one sentence, for a graph that is too large, before its arrays are made."""
    if nodes > MAX_NODES or edges > MAX_EDGES:
        needed = (nodes * NODE_BYTES + edges * EDGE_BYTES) / 1e9
        raise ValueError(
            f"traffic {name!r} would be {nodes:,} flows with {edges:,} waits, some {needed:.1f} GB in memory; "
            f"{MAX_NODES:,} flows and {MAX_EDGES:,} waits are the limit"
        )


def divide_size(size: int, parts: int) -> int:
    """One of the equal parts of so many bytes, rounded up."""
    return -(-size // parts)


def make_steps(name: str, ranks: int, to: list[Int64], sizes: list[int]) -> FlowGraph:
    """In step s, every rank r sends ``sizes[s]`` bytes to ``to[s][r]``, after what it got and sent in step s - 1."""
    steps = len(to)
    rank = np.arange(ranks)
    source = np.empty((steps - 1, ranks), dtype=np.int64)  # the flow of the step before that each rank gets
    for step in range(steps - 1):
        source[step, to[step]] = step * ranks + rank
    nodes = np.arange((steps - 1) * ranks)
    waiting, before = np.tile(nodes + ranks, 2), np.concatenate([source.ravel(), nodes])
    size = np.repeat(sizes, ranks)
    return FlowGraph.of(name, ranks, np.tile(rank, steps), np.concatenate(to), size, waiting=waiting, before=before)


def make_ring_steps(name: str, group: int, groups: int, steps: int, size: int) -> FlowGraph:
    """In each of ``steps``, every rank of a group sends ``size`` bytes to the next."""
    check_size(name, steps * group * groups, 2 * (steps - 1) * group * groups)
    rank = np.arange(group * groups)
    following = rank // group * group + (rank + 1) % group
    return make_steps(name, rank.size, [following] * steps, [size] * steps)


def make_all_to_all(name: str, group: int, groups: int, size: int) -> FlowGraph:
    """Every rank of a group sends a part of ``size`` bytes to every other one, all at once."""
    ranks, others = group * groups, group - 1
    check_size(name, ranks * others, 0)
    src = np.repeat(np.arange(ranks), others)
    away = np.tile(np.arange(1, group), ranks)
    return FlowGraph.of(name, ranks, src, src // group * group + (src + away) % group, divide_size(size, group))


def list_followers(before: Int64, waiting: Int64, nodes: int) -> tuple[Int64, Int32, Int32]:
    """Edges (edges,) by the node that is waited for.

    ``first`` int64 (nodes + 1,), ``follower`` int32 (edges,): those that wait for node n are
    ``follower[first[n] : first[n + 1]]``; ``missing`` int32 (nodes,): for how many each node waits.
    """
    first = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(before, minlength=nodes), out=first[1:])
    follower = waiting[np.argsort(before, kind="stable")].astype(np.int32)
    return first, follower, np.bincount(waiting, minlength=nodes).astype(np.int32)


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


def list_ranks(graph: FlowGraph, src_port: Int32) -> list[Rank]:
    """The program of every host that has a part in the graph, by host; ``src_port``, int32 (nodes,), of each flow.

    All flows between two hosts with one source port are one connection. Raises ValueError, one sentence, for a node
    that waits for what its host cannot know.
    """
    needs = _list_local(graph)
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


def _list_local(graph: FlowGraph) -> list[set[int]]:
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
