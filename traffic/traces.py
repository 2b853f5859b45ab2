"""Graphs of flows from the files of other simulators: GOAL text, htsim's connection matrices, Chakra's traces.

GOAL text, the language of schedules of LogGOPSim and ATLAHS (Hoefler et al., 2009):

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
bytes counts as one byte, and to a rank that is not there it marks an end, as in HTSIM's schedules: nothing is sent.
``cpu`` and ``nic`` are read and not used: nothing queues for a processor here.

Connection matrices of htsim, the packet simulator of the Ultra Ethernet Consortium:

    Nodes 16
    Connections 2
    0->5 id 1 start 0 size 2000000
    5->9 id 2 start 2500000 size 2000000

``start`` is in picoseconds, ``size`` in bytes. Those of the same hosts and id are one connection, all others have one
each. ``prio`` and ``msg`` are read and not used.

Chakra's execution traces (MLCommons), which ASTRA-sim runs: a file for each rank.

PREFIX.0.et is rank 0's, and so on. A file is GlobalMetadata and then Nodes, each behind its length
(``et_def.txtpb``). A node starts when all have ended that it depends on, by data or by control. Computing takes its
``duration_micros``; memory and metadata take no time; sends and receives are matched as in GOAL
text.

A collective is that of all ranks that have one of its group (``pg_name``; none or 0 is every rank): the first of each
with the first of the others, and so on. Its size is what every rank puts in:

* ``ALL_REDUCE``: around a ring, in 2 (ranks - 1) steps of 1/ranks of it;
* ``REDUCE_SCATTER``: in ranks - 1 such steps;
* ``ALL_GATHER``: in ranks - 1 steps of all of it;
* ``ALL_TO_ALL``: 1/ranks of it to every other one, all at once.
"""

from __future__ import annotations

import io
import re
import warnings
from array import array
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from topos.arrays import Int64
from traffic.flows import MAX_FLOW_BYTES
from traffic.graph import MAX_FILE_BYTES, FlowGraph, check_size, divide_size, make_all_to_all, make_ring_steps
from traffic.user_files import job_files, quote_shortly, read_bytes, read_text

MAX_RANKS = 1_000_000

_LABEL = r"[a-zA-Z][a-zA-Z0-9_]*"
_OP = re.compile(
    rf"(?:({_LABEL})\s*:\s*)?"
    r"(?:(send|recv)\s+([0-9]{1,15})\s*b\s+(to|from)\s+([0-9]{1,9})(?:\s+tag\s+([0-9]{1,10}))?"
    r"|calc\s+([0-9]{1,15}))(?:\s+cpu\s+[0-9]{1,9})?(?:\s+nic\s+[0-9]{1,9})?"
)
_REQUIRES = re.compile(rf"({_LABEL})\s+(i?requires)\s+({_LABEL})")
_COMMENT = re.compile(r"/\*.*?(\*/|\Z)|//[^\n]*", re.DOTALL)
_RANKS = re.compile(r"num_ranks\s+([0-9]{1,9})")
_RANK = re.compile(r"rank\s+([0-9]{1,9})\s*\{")


class Op(NamedTuple):
    """A statement that does something. ``peer``: -1 for calc, whose ``size`` is in nanoseconds."""

    kind: str
    rank: int
    peer: int
    size: int
    tag: int
    line: int


def read_goal(path: str | Path, name: str = "") -> FlowGraph:
    """The graph of a file, ``name`` in sentences about it; its hosts are the ranks.

    Raises ValueError, one sentence, with the line where there is one, for text that is not GOAL, is too large, says
    what cannot be simulated (any sender, any tag), or would hang: a send without a receive, a circle.
    """
    schedule = _Schedule(str(path))
    for number, line in _read_lines(read_text(Path(path), MAX_FILE_BYTES)):
        try:
            schedule.take(number, line)
        except ValueError as error:
            raise ValueError(f"{path} line {number}: {error}") from None
    if not schedule.num_ranks:
        raise ValueError(f"{path} is no GOAL text: it has no num_ranks")
    if schedule.rank >= 0:
        raise ValueError(f"{path} ends within rank {schedule.rank}")
    if schedule.end_markers:
        warning = f"{path}: {schedule.end_markers:,} sends of 0 bytes to ranks that are not there only mark an end"
        warnings.warn(warning, stacklevel=2)
    if not schedule.ops:
        raise ValueError(f"{path} has no operation")
    return _make_graph(schedule, name or f"goal:{path}")


def _read_lines(text: str) -> Iterator[tuple[int, str]]:
    plain = _COMMENT.sub(lambda match: match[0] if match[1] == "" else "\n" * match[0].count("\n"), text)
    for number, line in enumerate(plain.split("\n"), start=1):
        content = line.strip()
        if content:
            yield number, content


class _Schedule:
    """A text as it is read: operations, and which waits for which; ``starts``: for its start alone.

    ``rank``: the one whose lines these are, -1 between ranks.
    """

    def __init__(self, path: str) -> None:
        self.path, self.num_ranks, self.rank = path, 0, -1
        self.ops: list[Op] = []
        self.requires: list[tuple[int, int]] = []
        self.starts: list[tuple[int, int]] = []
        self.end_markers = 0
        self._read_ranks: set[int] = set()
        self._labels: dict[str, int] = {}

    def take(self, number: int, line: str) -> None:
        """A line, or ValueError."""
        if self.rank < 0:
            self._read_outside(line)
        elif line == "}":
            self.rank = -1
        elif match := _OP.fullmatch(line):
            self._add_operation(number, *match.groups())
        elif match := _REQUIRES.fullmatch(line):
            for label in (match[1], match[3]):
                if label not in self._labels:
                    raise ValueError(f"no label {quote_shortly(label)} before it in this rank")
            pair = self._labels[match[1]], self._labels[match[3]]
            (self.requires if match[2] == "requires" else self.starts).append(pair)
        elif re.search(r"\b(from|tag)\s+-1\b", line):
            raise ValueError("receives from any rank or with any tag are not simulated")
        else:
            raise ValueError(f"{quote_shortly(line)} is neither send, recv, calc, requires, irequires nor a rank's end")
        check_size(self.path, len(self.ops) // 2, len(self.requires) + len(self.starts))

    def _read_outside(self, line: str) -> None:
        if not self.num_ranks:
            match = _RANKS.fullmatch(line)
            if not match:
                raise ValueError("it is no GOAL text, which begins with num_ranks and a number")
            self.num_ranks = int(match[1])
            if not 1 <= self.num_ranks <= MAX_RANKS:
                raise ValueError(f"there are from 1 to {MAX_RANKS:,} ranks")
        elif match := _RANK.fullmatch(line):
            self.rank, self._labels = int(match[1]), {}
            if self.rank >= self.num_ranks or self.rank in self._read_ranks:
                raise ValueError(f"rank {self.rank} is there already, or not below num_ranks")
            self._read_ranks.add(self.rank)
        else:
            raise ValueError(f"{quote_shortly(line)} is in no rank")

    def _add_operation(
        self, number: int, label: str, kind: str, size: str, way: str, peer: str, tag: str, ns: str
    ) -> None:
        if label in self._labels:
            raise ValueError(f"the label {quote_shortly(label)} is there already in this rank")
        if kind and (kind == "send") != (way == "to"):
            raise ValueError("one sends to a rank, and receives from one")
        if kind == "send" and int(size) == 0 and int(peer) >= self.num_ranks:  # it marks an end
            self.end_markers += 1
            kind, ns = "", "0"
        elif kind and int(peer) >= self.num_ranks:
            raise ValueError(f"there is no rank {peer}, only 0 to {self.num_ranks - 1}")
        if label:
            self._labels[label] = len(self.ops)
        if kind:
            self.ops.append(Op(kind, self.rank, int(peer), max(1, int(size)), int(tag or 0), number))
        else:
            self.ops.append(Op("calc", self.rank, -1, int(ns), 0, number))


def _make_graph(schedule: _Schedule, name: str) -> FlowGraph:
    ops = schedule.ops
    rows: list[tuple[int, int, int, int]] = []  # src, dst, bytes, nanoseconds
    waits = {op for op, _ in schedule.requires} | {op for pair in schedule.starts for op in pair}
    begun = {before for _, before in schedule.starts}
    start, end = {}, [-1] * len(ops)
    for number, op in enumerate(ops):
        if number in begun:
            start[number] = len(rows)
            rows.append((op.rank, op.rank, 0, 0))
        if op.kind != "recv" or number in waits:
            end[number] = len(rows)
            flows = op.kind == "send" and op.peer != op.rank
            computing = op.size if op.kind == "calc" else 0
            rows.append((op.rank, op.peer, op.size, 0) if flows else (op.rank, op.rank, 0, computing))
    before: list[set[int]] = [set() for _ in rows]
    for number, sent in match_operations(ops, lambda op: f"{schedule.path} line {op.line}").items():
        if end[number] < 0:
            end[number] = end[sent]
        else:
            before[end[number]].add(end[sent])
    for waiting, awaited in schedule.requires:
        before[start.get(waiting, end[waiting])].add(end[awaited])
    for number, node in start.items():
        before[end[number]].add(node)
    for waiting, awaited in schedule.starts:
        before[start.get(waiting, end[waiting])].add(start[awaited])
    delay, merged = _fuse_delays(rows, before)
    remaining = [node for node in range(len(rows)) if node not in merged]
    place = {node: n for n, node in enumerate(remaining)}
    src, dst, size, _ = np.array([rows[node] for node in remaining], dtype=np.int64).T
    edges = [(place[node], place[awaited]) for node in remaining for awaited in sorted(before[node])]
    seconds = np.array([delay[node] for node in remaining]) / 1e9
    return FlowGraph.of(name, schedule.num_ranks, src, dst, size, seconds, *np.array(edges).reshape(-1, 2).T)


def _fuse_delays(rows: list[tuple[int, int, int, int]], before: list[set[int]]) -> tuple[list[int], set[int]]:
    """Delays, and the nodes gone into them: computing that one flow alone waits for, and that waits for it alone."""
    followers = [0] * len(rows)
    for waited in before:
        for node in waited:
            followers[node] += 1
    delay, merged = [row[3] for row in rows], set[int]()
    for node, (_, _, size, _) in enumerate(rows):
        while size and len(before[node]) == 1:
            (awaited,) = before[node]
            if rows[awaited][2] or followers[awaited] > 1 or awaited in merged:
                break
            merged.add(awaited)
            delay[node] += delay[awaited]
            before[node] = before[awaited]
    return delay, merged


def match_operations(ops: list[Op], where: Callable[[Op], str]) -> dict[int, int]:
    """The send of each receive, by pair of ranks and tag, in their order; ``where`` an operation is, in sentences.

    Raises ValueError for one without the other.
    """
    unmatched: dict[tuple[int, int, int], deque[int]] = defaultdict(deque)
    for number, op in enumerate(ops):
        if op.kind == "send":
            unmatched[op.rank, op.peer, op.tag].append(number)
    receives = {}
    for number, op in enumerate(ops):
        if op.kind != "recv":
            continue
        sends = unmatched[op.peer, op.rank, op.tag]
        waits = f"{where(op)}: rank {op.rank} waits for rank {op.peer} with tag {op.tag}"
        if not sends:
            raise ValueError(f"{waits}, which never sends: that would hang")
        receives[number] = sends.popleft()
        sent = ops[receives[number]].size
        if sent != op.size:
            raise ValueError(f"{waits} for {op.size} bytes, and {sent} are sent")
    for number in (number for sends in unmatched.values() for number in sends):
        op = ops[number]
        raise ValueError(
            f"{where(op)}: rank {op.rank} sends to rank {op.peer} with tag {op.tag}, which never receives that"
        )
    return receives


MAX_HOSTS = 1_000_000

_HEAD = re.compile(r"(Nodes|Connections|Triggers|Failures) ([0-9]{1,9})")
_FLOW = re.compile(
    r"([0-9]{1,9})->([0-9]{1,9})"
    r"((?: (?:id|size|prio) [0-9]{1,15}| start [0-9]{1,18}(?:\.[0-9]{1,9})?(?:e[0-9]{1,2})?| msg(?: [0-9]{1,9})?)*)"
)


def read_htsim(path: str | Path, name: str = "") -> FlowGraph:
    """The graph of a file, ``name`` in sentences about it; its hosts are the nodes.

    Raises ValueError, one sentence, with the line where there is one, for text that is not such a matrix, is cut short,
    too large, or has failures or triggers, which are not read.
    """
    head, text = dict[str, int](), read_text(Path(path), MAX_FILE_BYTES)
    rows: list[tuple[int, int, int, float, int]] = []
    lanes: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    try:
        for number, line in enumerate(text.split("\n"), start=1):  # noqa: B007, which is in the sentence below
            words = " ".join(line.partition("#")[0].split())
            if match := _HEAD.fullmatch(words):
                head[match[1]] = int(match[2])
                if match[1] in ("Triggers", "Failures") and head[match[1]]:
                    raise ValueError("triggers and failures are not read: give waits as goal:FILE, failures by --fail")
                if not 2 <= head.get("Nodes", 2) <= MAX_HOSTS:
                    raise ValueError(f"there are from 2 to {MAX_HOSTS:,} nodes")
            elif match := _FLOW.fullmatch(words):
                rows.append(_make_flow(match, head.get("Nodes", 0), lanes))
                check_size(name, len(rows), 0)
            elif words:
                raise ValueError(
                    f"{quote_shortly(words)} is neither SRC->DST with start, size and id nor a part of the head"
                )
    except ValueError as error:
        raise ValueError(f"{path} line {number}: {error}") from None
    if head.get("Connections", 0) != len(rows) or not rows:
        raise ValueError(f"{path} says Connections {head.get('Connections', 0):,}, and has {len(rows):,}")
    src, dst, size, start_s, lane = zip(*rows, strict=True)
    return FlowGraph.of(name, head["Nodes"], src, dst, size, start_s, lane=lane)


def _make_flow(
    match: re.Match[str], nodes: int, lanes: defaultdict[tuple[int, int], dict[str, int]]
) -> tuple[int, int, int, float, int]:
    """Sender, receiver, bytes, seconds until the start, and lane, or ValueError."""
    src, dst, fields = int(match[1]), int(match[2]), dict(re.findall(r"([a-z]+) ([0-9.e]+)", match[3]))
    if max(src, dst) >= nodes or src == dst:
        raise ValueError(f"a flow from {src} to {dst}: there are {nodes} nodes, and none sends to itself")
    if "start" not in fields or int(fields.get("size", 0)) == 0:
        raise ValueError("a flow has a start, and a size above 0")
    of_pair = lanes[src, dst]
    lane = of_pair.setdefault(fields.get("id", f"own {len(of_pair)}"), len(of_pair))
    return src, dst, int(fields["size"]), float(fields["start"]) / 1e12, lane


# --- Chakra ---

COLLECTIVES = {0: "ALL_REDUCE", 2: "ALL_GATHER", 6: "ALL_TO_ALL", 7: "REDUCE_SCATTER"}
"""Those that are simulated, by their numbers."""
MAX_TRACE_NODES, MAX_WAITS = 1_000_000, 5_000_000
"""Of all files of a trace; more are refused."""
_NO_TIME, _COMP, _SEND, _RECV, _COLL = range(4), 4, 5, 6, 7
_NUMBERS = (b"comm_type", b"comm_size", b"comm_src", b"comm_dst", b"comm_tag")


@cache
def _load_messages() -> dict[str, Any]:
    from google.protobuf import descriptor_pb2, message_factory, text_format

    schema = Path(__file__).with_name("et_def.txtpb").read_text(encoding="utf-8")
    return message_factory.GetMessages([text_format.Parse(schema, descriptor_pb2.FileDescriptorProto())])


def find_traces(prefix: str) -> list[Path]:
    """The files of a trace that are there, by rank; PREFIX.0.et where there is none."""
    start = str(Path(prefix))
    names = list(job_files) or [str(path) for path in Path(prefix).parent.glob("*.et")]
    matches = [
        re.fullmatch(r"\.(0|[1-9][0-9]{0,6})\.et", name[len(start) :]) for name in names if name.startswith(start)
    ]
    ranks = {int(match[1]) for match in matches if match}
    return [Path(f"{start}.{rank}.et") for rank in sorted(ranks) or [0]]


def read_chakra(prefix: str, name: str = "") -> FlowGraph:
    """The graph of the traces PREFIX.0.et, PREFIX.1.et ..., ``name`` in sentences about it; its hosts are the ranks.

    Raises ValueError, one sentence, with the file and the node where there is one, for files that are not such a trace,
    are too large, say what cannot be simulated, or would hang: a rank that has no part in a collective, a circle.
    """
    paths = find_traces(prefix)
    trace, left = _Trace(paths), MAX_FILE_BYTES
    for rank, path in enumerate(paths):
        if not path.name.endswith(f".{rank}.et"):
            raise ValueError(f"there is {path}, and no trace of rank {rank}")
        data = read_bytes(path, MAX_FILE_BYTES)
        left -= len(data)
        if left < 0:
            raise ValueError(f"{path} and those of lower ranks have more than {MAX_FILE_BYTES // 10**6} MB")
        trace.take(rank, io.BytesIO(data))
    return trace.graph(name or f"chakra:{prefix}")


def _read_next(name: str, path: Path, data: io.BytesIO) -> Any:
    """The next message of a file; None at its end."""
    from google.protobuf import proto
    from google.protobuf.message import DecodeError

    try:
        return proto.parse_length_prefixed(_load_messages()[f"ChakraProtoMsg.{name}"], data)
    except (DecodeError, ValueError, EOFError, IndexError, OverflowError) as error:
        raise ValueError(f"{path} is no Chakra trace: {' '.join(str(error).split())}") from None


def _read_number(value: Any) -> int | None:
    """The whole number of an attribute, in whichever field it is; None where there is none."""
    for field in ("int64_val", "int32_val", "uint64_val", "uint32_val"):
        if value is not None and value.HasField(field):
            return int(getattr(value, field))
    return None


class _Trace:
    """Operations of all ranks, with their number in the rank's file for a line.

    Operation ``waiting[n]`` starts when ``before[n]`` has ended. ``groups``: those that are collectives of a group,
    by rank; the group without a name is of all ranks.
    """

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        self.ops: list[Op] = []
        self.waiting, self.before = array("q"), array("q")
        self.groups: dict[str, dict[int, list[int]]] = {}

    def where(self, op: Op) -> str:
        return f"{self.paths[op.rank]} node {op.line}"

    def take(self, rank: int, data: io.BytesIO) -> None:
        """A rank's file, or ValueError."""
        path, ids = self.paths[rank], array("Q")
        places: dict[int, int] = {}
        from google.protobuf.unknown_fields import UnknownFieldSet

        metadata = _read_next("GlobalMetadata", path, data)
        if metadata is None or len(UnknownFieldSet(metadata)):
            raise ValueError(f"{path} is no Chakra trace: it does not begin with GlobalMetadata")
        while (node := _read_next("Node", path, data)) is not None:
            if node.id in places:
                raise ValueError(f"{path} node {node.id}: there is another node of this id")
            places[node.id] = len(self.ops)
            waits = len(node.ctrl_deps) + len(node.data_deps)
            if len(self.ops) >= MAX_TRACE_NODES or len(self.waiting) + waits > MAX_WAITS:
                raise ValueError(
                    f"{path} and those of lower ranks have more than {MAX_TRACE_NODES:,} nodes, "
                    f"or {MAX_WAITS:,} dependencies"
                )
            ids.extend([*node.ctrl_deps, *node.data_deps])
            self.waiting.extend([len(self.ops)] * waits)
            self.ops.append(self._make_operation(rank, node))
        for waiting, awaited in zip(self.waiting[len(self.before) :], ids, strict=True):
            if awaited not in places:
                raise ValueError(f"{self.where(self.ops[waiting])} depends on node {awaited}, which is not there")
            self.before.append(places[awaited])

    def _make_operation(self, rank: int, node: Any) -> Op:
        place = f"{self.paths[rank]} node {node.id}"
        if node.type == _COMP or node.type in _NO_TIME:
            return Op("calc", rank, -1, node.duration_micros * 1000 if node.type == _COMP else 0, 0, node.id)
        if node.type not in (_SEND, _RECV, _COLL):
            raise ValueError(f"{place}: there is no type {node.type} of nodes")
        attributes = {attribute.name: attribute for attribute in node.attr}
        kind, size, src, dst, tag = (_read_number(attributes.get(name)) for name in _NUMBERS)
        if size is None or not 0 <= size <= MAX_FLOW_BYTES:
            raise ValueError(f"{place} has no comm_size that can be true")
        size = max(1, size)
        if node.type != _COLL:
            kind_of_op, end, peer = ("send", "comm_dst", dst) if node.type == _SEND else ("recv", "comm_src", src)
            if peer is None or not 0 <= peer < len(self.paths):
                raise ValueError(f"{place}: its {end} is none of the ranks 0 to {len(self.paths) - 1}")
            return Op(kind_of_op, rank, peer, size, tag or 0, node.id)
        if kind not in COLLECTIVES:
            raise ValueError(f"{place}: comm_type {kind} is not simulated, but {', '.join(COLLECTIVES.values())} are")
        if b"involved_dim" in attributes and not all(attributes[b"involved_dim"].bool_list.values):
            raise ValueError(f"{place}: a collective over some dimensions of a network (involved_dim) is not simulated")
        group = attributes[b"pg_name"].string_val.decode(errors="backslashreplace") if b"pg_name" in attributes else ""
        ranks = self.groups.setdefault("" if group == "0" else group, {})
        ranks.setdefault(rank, []).append(len(self.ops))
        return Op(COLLECTIVES[kind], rank, -1, size, 0, node.id)

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
        received = np.array(list(match_operations(ops, self.where).items()), dtype=np.int64).reshape(-1, 2)
        start = np.arange(nodes)
        waiting, before = [received[:, 0]], [received[:, 1]]
        shapes: dict[tuple[str, int], FlowGraph] = {}
        count, edges = nodes, len(self.waiting) + len(received)
        for ends in self._group_collectives():
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
            check_size(name, count, edges)
            start[ends] = starts
            src += rank[ends], rank[ends][shape.src]
            dst += rank[ends], rank[ends][shape.dst]
            bytes_ = each if kind == "ALL_GATHER" else divide_size(each, ranks)
            size += np.zeros(ranks, dtype=np.int64), np.full(len(shape), bytes_)
            waiting += flows[first], flows[shape.waiting], ends[shape.src[last]], ends[shape.dst[last]]
            before += starts[shape.src[first]], flows[shape.before], flows[last], flows[last]
        delay = np.zeros(count)
        delay[:nodes] = [op.size / 1e9 if op.kind == "calc" else 0.0 for op in ops]
        late = np.concatenate([start[np.array(self.waiting, dtype=np.int64)], *waiting])
        early = np.concatenate([np.array(self.before, dtype=np.int64), *before])
        senders, receivers, sizes = (np.concatenate(columns) for columns in (src, dst, size))
        return FlowGraph.of(name, len(self.paths), senders, receivers, sizes, delay, late, early)

    def _group_collectives(self) -> list[Int64]:
        """The nodes of each collective, by rank. ValueError where ranks do not agree on what they do together."""
        nodes = []
        for group, by_rank in self.groups.items():
            ranks = sorted(by_rank) if group else range(len(self.paths))
            of_ranks = [by_rank.get(rank, []) for rank in ranks]
            for number, together in enumerate(zip_longest(*of_ranks), start=1):
                did = ["nothing" if n is None else f"{self.ops[n].kind} of {self.ops[n].size} bytes" for n in together]
                for rank, operation in zip(ranks, did, strict=True):
                    if operation != did[0]:
                        raise ValueError(
                            f"{self.paths[rank]} and {self.paths[ranks[0]]} would hang in collective {number} "
                            f"{f'of group {quote_shortly(group)}' if group else 'of all ranks'}: "
                            f"{operation} in the first, and {did[0]} in the second"
                        )
                nodes.append(np.array(together))
        return nodes


def _shape(name: str, kind: str, ranks: int) -> FlowGraph:
    """A collective's flows between ranks 0, 1 ..., of a byte each."""
    if kind == "ALL_TO_ALL":
        return make_all_to_all(name, ranks, 1, 1)
    return make_ring_steps(name, ranks, 1, (ranks - 1) * (2 if kind == "ALL_REDUCE" else 1), 1)


READERS: dict[str, Callable[[str, str], FlowGraph]] = {"goal": read_goal, "htsim": read_htsim, "chakra": read_chakra}
"""Who reads what, by the name before the colon of a spec."""
