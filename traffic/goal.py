"""Graphs of flows as GOAL text, the language of schedules of LogGOPSim and ATLAHS (Hoefler et al., 2009).

    num_ranks 2
    rank 0 {
    l1: calc 5000                    // nanoseconds
    l2: send 1000b to 1 tag 0
    l2 requires l1
    }
    rank 1 {
    l1: recv 1000b from 0 tag 0
    }

A send and its receive are one flow. What requires either waits for the flow's end; a receive that requires something
itself is a node of computing behind the flow. What ``irequires`` another starts when that may start. A message of no
bytes counts as one byte; ``cpu`` and ``nic`` are read and not used: nothing queues for a processor here.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from files.rights import make_folder
from files.writer import whole
from topos.arrays import Int64
from traffic.graph import MAX_NODES, FlowGraph, bounded
from traffic.textfile import read_text, short

SPELLING = "goal:FILE"
MAX_FILE_BYTES = 100_000_000
"""Larger files are refused."""
MAX_RANKS = 1_000_000

_LABEL = r"[a-zA-Z][a-zA-Z0-9_]*"
_OP = re.compile(
    rf"(?:({_LABEL})\s*:\s*)?"
    r"(?:(send|recv)\s+([0-9]{1,15})\s*b\s+(to|from)\s+([0-9]{1,9})(?:\s+tag\s+([0-9]{1,10}))?"
    r"|calc\s+([0-9]{1,15}))(?:\s+cpu\s+[0-9]{1,9})?(?:\s+nic\s+[0-9]{1,9})?"
)
_REQUIRES = re.compile(rf"({_LABEL})\s+(i?requires)\s+({_LABEL})")
_RANKS = re.compile(r"num_ranks\s+([0-9]{1,9})")
_RANK = re.compile(r"rank\s+([0-9]{1,9})\s*\{")
_ANY = re.compile(rf"(?:{_LABEL}\s*:\s*)?recv\s.*from\s+-1\b.*|.*\stag\s+-1\b.*")


def read_goal(path: str | Path, name: str = "") -> FlowGraph:
    """The graph of a file, ``name`` in sentences about it; its hosts are the ranks.

    Raises ValueError, one sentence, with the line where there is one, for what is no GOAL, is too large, says what
    cannot be simulated (any sender, any tag), or would hang: a send without a receive, a circle.
    """
    return goal_in(read_text(Path(path), MAX_FILE_BYTES), str(path), name or f"goal:{path}")


def goal_in(text: str, path: str, name: str) -> FlowGraph:
    """The graph that a text has; ``path`` is what sentences call it. ValueError as `read_goal`."""
    schedule = _Schedule(path)
    for number, line in _lines(text):
        schedule.take(number, line)
    schedule.end()
    return _Nodes(schedule, name).graph()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """What lines say without comments, with their numbers."""
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.split("\n"), start=1):
        content = line.partition("//")[0].strip()
        if content:
            yield number, content


class Op(NamedTuple):
    """A statement that does something. ``peer``: -1 for calc, whose ``size`` is in nanoseconds."""

    kind: str
    rank: int
    peer: int
    size: int
    tag: int
    line: int


class _Schedule:
    """A text as it was read: operations, and which waits for which; ``starts``: for its start alone."""

    def __init__(self, path: str) -> None:
        self.path, self.num_ranks = path, 0
        self.ops: list[Op] = []
        self.requires: list[tuple[int, int]] = []
        self.starts: list[tuple[int, int]] = []
        self._rank = -1
        self._seen: set[int] = set()
        self._labels: dict[str, int] = {}

    def take(self, number: int, line: str) -> None:
        """A line, or ValueError."""
        if self._rank < 0:
            self._outside(number, line)
        elif line == "}":
            self._rank = -1
        elif found := _OP.fullmatch(line):
            self._operation(number, found)
        elif found := _REQUIRES.fullmatch(line):
            for label in (found[1], found[3]):
                if label not in self._labels:
                    raise self._wrong(number, f"no label {short(label)} before it in this rank")
            pair = self._labels[found[1]], self._labels[found[3]]
            (self.requires if found[2] == "requires" else self.starts).append(pair)
            bounded(self.path, len(self.ops), len(self.requires) + len(self.starts))
        elif _ANY.fullmatch(line):
            raise self._wrong(number, "receives from any rank or with any tag are not simulated")
        else:
            raise self._wrong(
                number, f"{short(line)} is neither send, recv, calc, requires, irequires nor a rank's end"
            )

    def end(self) -> None:
        """ValueError where the text stops too early."""
        if self.num_ranks == 0:
            raise ValueError(f"{self.path} is no GOAL text: it has no num_ranks")
        if self._rank >= 0:
            raise ValueError(f"{self.path} ends within rank {self._rank}")

    def _outside(self, number: int, line: str) -> None:
        if (found := _RANKS.fullmatch(line)) and not self.num_ranks:
            self.num_ranks = int(found[1])
            if not 1 <= self.num_ranks <= MAX_RANKS:
                raise self._wrong(number, f"there are from 1 to {MAX_RANKS:,} ranks")
        elif not self.num_ranks:
            raise ValueError(f"{self.path} is no GOAL text: line {number} is not num_ranks and a number")
        elif found := _RANK.fullmatch(line):
            self._rank, self._labels = int(found[1]), {}
            if self._rank >= self.num_ranks or self._rank in self._seen:
                raise self._wrong(number, f"rank {self._rank} is there already, or not below num_ranks")
            self._seen.add(self._rank)
        else:
            raise self._wrong(number, f"{short(line)} is in no rank")

    def _operation(self, number: int, found: re.Match[str]) -> None:
        label, kind, size, towards, peer, tag, duration = found.groups()
        if kind is None:
            op = Op("calc", self._rank, -1, int(duration), 0, number)
        else:
            if (kind == "send") != (towards == "to"):
                raise self._wrong(number, "one sends to a rank, and receives from one")
            if int(peer) >= self.num_ranks:
                raise self._wrong(number, f"there is no rank {peer}, only 0 to {self.num_ranks - 1}")
            op = Op(kind, self._rank, int(peer), max(1, int(size)), int(tag or 0), number)
        if label:
            if label in self._labels:
                raise self._wrong(number, f"the label {short(label)} is there already in this rank")
            self._labels[label] = len(self.ops)
        self.ops.append(op)
        if len(self.ops) > 2 * MAX_NODES:
            bounded(self.path, len(self.ops), len(self.requires))

    def _wrong(self, number: int, why: str) -> ValueError:
        return ValueError(f"{self.path} line {number}: {why}")


class _Nodes:
    """The nodes of a schedule's graph, in the order of its lines."""

    def __init__(self, schedule: _Schedule, name: str) -> None:
        self.name, self.schedule = name, schedule
        self.rows: list[tuple[int, int, int, int]] = []  # src, dst, bytes, nanoseconds
        self.before: list[set[int]] = []
        ops = schedule.ops
        flow_of = matched(ops, lambda op: f"{schedule.path} line {op.line}")
        waits = {op for op, _ in schedule.requires} | {op for pair in schedule.starts for op in pair}
        begun = {before for _, before in schedule.starts}
        start, end = {}, [-1] * len(ops)
        for number, op in enumerate(ops):
            if number in begun:
                start[number] = self._node(op.rank, op.rank, 0, 0)
            if op.kind == "send" and op.peer != op.rank:
                end[number] = self._node(op.rank, op.peer, op.size, 0)
            elif op.kind != "recv" or number in waits:
                end[number] = self._node(op.rank, op.rank, 0, op.size if op.kind == "calc" else 0)
        for number, sent in flow_of.items():
            if end[number] < 0:
                end[number] = end[sent]
            else:
                self.before[end[number]].add(end[sent])
        for waiting, before in schedule.requires:
            self.before[start.get(waiting, end[waiting])].add(end[before])
        for number, node in start.items():
            self.before[end[number]].add(node)
        for waiting, before in schedule.starts:
            self.before[start.get(waiting, end[waiting])].add(start[before])

    def _node(self, src: int, dst: int, size: int, nanoseconds: int) -> int:
        self.rows.append((src, dst, size, nanoseconds))
        self.before.append(set())
        return len(self.rows) - 1

    def graph(self) -> FlowGraph:
        """Computing that nothing but one flow waits for, and that alone, is this flow's delay."""
        if not self.rows:
            raise ValueError(f"{self.schedule.path} has no operation")
        followers = [0] * len(self.rows)
        for waited in self.before:
            for node in waited:
                followers[node] += 1
        delay = [row[3] for row in self.rows]
        gone = set()
        for node, (_, _, size, _) in enumerate(self.rows):
            while size and len(self.before[node]) == 1:
                (one,) = self.before[node]
                if self.rows[one][2] or followers[one] > 1 or one in gone:
                    break
                gone.add(one)
                delay[node] += delay[one]
                self.before[node] = self.before[one]
        kept = [node for node in range(len(self.rows)) if node not in gone]
        place = {node: n for n, node in enumerate(kept)}
        src, dst, size, _ = np.array([self.rows[node] for node in kept], dtype=np.int64).T
        edges = [(place[node], place[one]) for node in kept for one in sorted(self.before[node])]
        waiting, before = np.array(edges, dtype=np.int64).reshape(-1, 2).T
        return FlowGraph(
            self.name,
            self.schedule.num_ranks,
            src.astype(np.int32),
            dst.astype(np.int32),
            size,
            np.array([delay[node] for node in kept]) / 1e9,
            waiting,
            before,
        )


def matched(ops: list[Op], where: Callable[[Op], str]) -> dict[int, int]:
    """The send of each receive, by pair of ranks and tag, in their order; ``where`` an operation is, in sentences.

    Raises ValueError for one without the other.
    """
    open_: dict[tuple[int, int, int], deque[int]] = {}
    for number, op in enumerate(ops):
        if op.kind == "send":
            open_.setdefault((op.rank, op.peer, op.tag), deque()).append(number)
    found = {}
    for number, op in enumerate(ops):
        if op.kind != "recv":
            continue
        sends = open_.get((op.peer, op.rank, op.tag))
        waits = f"{where(op)}: rank {op.rank} waits for rank {op.peer} with tag {op.tag}"
        if not sends:
            raise ValueError(f"{waits}, which never sends: that would hang")
        found[number] = sends.popleft()
        sent = ops[found[number]].size
        if sent != op.size:
            raise ValueError(f"{waits} for {op.size} bytes, and {sent} are sent")
    for sends in open_.values():
        for number in sends:
            op = ops[number]
            raise ValueError(
                f"{where(op)}: rank {op.rank} sends to rank {op.peer} with tag {op.tag}, which never receives that"
            )
    return found


def write_goal(path: str | Path, graph: FlowGraph) -> None:
    """A graph as GOAL text, from which `read_goal` makes the same again; delays to the nanosecond.

    Raises ValueError, one sentence, where a host would have to wait for a flow that it has no part in.
    """
    own: list[list[str]] = [[] for _ in range(graph.num_hosts)]
    received: list[list[str]] = [[] for _ in range(graph.num_hosts)]
    needs: list[list[str]] = [[] for _ in range(graph.num_hosts)]
    tags: dict[tuple[int, int], int] = {}
    src, dst, size = graph.src.tolist(), graph.dst.tolist(), graph.size_bytes.tolist()
    delay: Int64 = np.round(graph.delay_s * 1e9).astype(np.int64)
    for node, (s, d, b, ns) in enumerate(zip(src, dst, size, delay.tolist(), strict=True)):
        if b == 0:
            own[s].append(f"l{node}: calc {ns}")
            continue
        if ns:
            own[s].append(f"c{node}: calc {ns}")
            needs[s].append(f"l{node} requires c{node}")
        tag = tags[s, d] = tags.get((s, d), -1) + 1
        own[s].append(f"l{node}: send {b}b to {d} tag {tag}")
        received[d].append(f"r{node}: recv {b}b from {s} tag {tag}")
    for waiting, before in zip(graph.waiting.tolist(), graph.before.tolist(), strict=True):
        host = src[waiting]
        if host not in (src[before], dst[before]):
            raise ValueError(
                f"traffic {graph.name!r}: flow {waiting} of host {host} waits for one from host {src[before]} to "
                f"{dst[before]}, which GOAL cannot say"
            )
        ours = f"{'c' if size[waiting] and delay[waiting] else 'l'}{waiting}"
        theirs = f"{'r' if size[before] and dst[before] == host else 'l'}{before}"
        needs[host].append(f"{ours} requires {theirs}")
    make_folder(Path(path).parent)
    with whole(Path(path)) as file:
        file.write(f"num_ranks {graph.num_hosts}\n".encode())
        for rank in range(graph.num_hosts):
            lines = [f"\nrank {rank} {{", *received[rank], *own[rank], *needs[rank], "}\n"]
            file.write("\n".join(lines).encode())
