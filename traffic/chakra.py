"""Graphs of flows as Chakra's execution traces (MLCommons), which ASTRA-sim runs: a file for each rank.

PREFIX.0.et is rank 0's, and so on. A file is GlobalMetadata and then Nodes, each behind its length
(``et_def.txtpb``). A node starts when all have ended that it depends on, by data or by control. Computing takes its
``duration_micros``; memory and metadata take no time; sends and receives are matched as in GOAL
text (`traffic.schedules`).

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
from array import array
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, message_factory, proto, text_format
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from topos.arrays import Int64
from traffic.flows import MAX_FLOW_BYTES
from traffic.graph import MAX_FILE_BYTES, FlowGraph, all_to_all, around, bounded, part
from traffic.schedules import Op, matched
from traffic.textfile import given, read_bytes, short

COLLECTIVES = {0: "ALL_REDUCE", 2: "ALL_GATHER", 6: "ALL_TO_ALL", 7: "REDUCE_SCATTER"}
"""Those that are simulated, by their numbers."""
MAX_NODES, MAX_WAITS, MAX_NODE_BYTES = 1_000_000, 5_000_000, 1 << 20
"""Of all files of a trace, and of a node: 50 times as much memory. Larger ones are refused."""
_NO_TIME, _COMP, _SEND, _RECV, _COLL = range(4), 4, 5, 6, 7
_NUMBERS = (b"comm_type", b"comm_size", b"comm_src", b"comm_dst", b"comm_tag")


@cache
def _messages() -> dict[str, Any]:
    schema = Path(__file__).with_name("et_def.txtpb").read_text(encoding="utf-8")
    return message_factory.GetMessages([text_format.Parse(schema, descriptor_pb2.FileDescriptorProto())])


def traces_of(prefix: str) -> list[Path]:
    """The files of a trace that are there, by rank; PREFIX.0.et where there is none."""
    start = str(Path(prefix))
    names = list(given) or [str(path) for path in Path(prefix).parent.glob("*.et")]
    found = [re.fullmatch(r"\.(0|[1-9][0-9]{0,6})\.et", name[len(start) :]) for name in names if name.startswith(start)]
    ranks = {int(one[1]) for one in found if one}
    return [Path(f"{start}.{rank}.et") for rank in sorted(ranks) or [0]]


def read_chakra(prefix: str, name: str = "") -> FlowGraph:
    """The graph of the traces PREFIX.0.et, PREFIX.1.et ..., ``name`` in sentences about it; its hosts are the ranks.

    Raises ValueError, one sentence, with the file and the node where there is one, for what is no such trace, is too
    large, says what cannot be simulated, or would hang: a rank that has no part in a collective, a circle.
    """
    paths = traces_of(prefix)
    trace, left = _Trace(paths), MAX_FILE_BYTES
    for rank, path in enumerate(paths):
        if not path.name.endswith(f".{rank}.et"):
            raise ValueError(f"there is {path}, and no trace of rank {rank}")
        data = read_bytes(path, MAX_FILE_BYTES)
        left -= len(data)
        if left < 0:
            raise ValueError(f"{path} and those of lower ranks have more than {MAX_FILE_BYTES // 10**6} MB")
        trace.take(rank, _Messages(data))
    return trace.graph(name or f"chakra:{prefix}")


class _Messages(io.BytesIO):
    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= MAX_NODE_BYTES:
            raise ValueError(f"a node of more than {MAX_NODE_BYTES:,} bytes")
        return super().read(size)


def _next(name: str, path: Path, data: io.BytesIO) -> Any:
    try:
        return proto.parse_length_prefixed(_messages()[f"ChakraProtoMsg.{name}"], data)
    except (DecodeError, ValueError, EOFError, IndexError) as error:
        raise ValueError(f"{path} is no Chakra trace: {' '.join(str(error).split())}") from None


def _number(value: Any) -> int | None:
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
        metadata = _next("GlobalMetadata", path, data)
        if metadata is None or len(UnknownFieldSet(metadata)):
            raise ValueError(f"{path} is no Chakra trace: it does not begin with GlobalMetadata")
        while (node := _next("Node", path, data)) is not None:
            if node.id in places:
                raise ValueError(f"{path} node {node.id}: there is another node of this id")
            places[node.id] = len(self.ops)
            waits = len(node.ctrl_deps) + len(node.data_deps)
            if len(self.ops) >= MAX_NODES or len(self.waiting) + waits > MAX_WAITS:
                raise ValueError(
                    f"{path} and those of lower ranks have more than {MAX_NODES:,} nodes, or {MAX_WAITS:,} dependencies"
                )
            ids.extend([*node.ctrl_deps, *node.data_deps])
            self.waiting.extend([len(self.ops)] * waits)
            self.ops.append(self._op(rank, node))
        for waiting, one in zip(self.waiting[len(self.before) :], ids, strict=True):
            if one not in places:
                raise ValueError(f"{self.where(self.ops[waiting])} depends on node {one}, which is not there")
            self.before.append(places[one])

    def _op(self, rank: int, node: Any) -> Op:
        where = f"{self.paths[rank]} node {node.id}"
        if node.type == _COMP or node.type in _NO_TIME:
            return Op("calc", rank, -1, node.duration_micros * 1000 if node.type == _COMP else 0, 0, node.id)
        if node.type not in (_SEND, _RECV, _COLL):
            raise ValueError(f"{where}: there is no type {node.type} of nodes")
        said = {one.name: one for one in node.attr}
        kind, size, src, dst, tag = (_number(said.get(name)) for name in _NUMBERS)
        if size is None or not 0 <= size <= MAX_FLOW_BYTES:
            raise ValueError(f"{where} has no comm_size that can be true")
        size = max(1, size)
        if node.type != _COLL:
            what, end, peer = ("send", "comm_dst", dst) if node.type == _SEND else ("recv", "comm_src", src)
            if peer is None or not 0 <= peer < len(self.paths):
                raise ValueError(f"{where}: its {end} is none of the ranks 0 to {len(self.paths) - 1}")
            return Op(what, rank, peer, size, tag or 0, node.id)
        if kind not in COLLECTIVES:
            raise ValueError(f"{where}: comm_type {kind} is not simulated, but {', '.join(COLLECTIVES.values())} are")
        if b"involved_dim" in said and not all(said[b"involved_dim"].bool_list.values):
            raise ValueError(f"{where}: a collective over some dimensions of a network (involved_dim) is not simulated")
        group = said[b"pg_name"].string_val.decode(errors="backslashreplace") if b"pg_name" in said else ""
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
        delay = np.zeros(count)
        delay[:nodes] = [op.size / 1e9 if op.kind == "calc" else 0.0 for op in ops]
        late = np.concatenate([start[np.array(self.waiting, dtype=np.int64)], *waiting])
        early = np.concatenate([np.array(self.before, dtype=np.int64), *before])
        senders, receivers, sizes = (np.concatenate(one) for one in (src, dst, size))
        return FlowGraph.of(name, len(self.paths), senders, receivers, sizes, delay, late, early)

    def _together(self) -> list[Int64]:
        """The nodes of each collective, by rank. ValueError where ranks do not agree on what they do together."""
        found = []
        for group, by_rank in self.groups.items():
            ranks = sorted(by_rank) if group else range(len(self.paths))
            own = [by_rank.get(rank, []) for rank in ranks]
            for number, together in enumerate(zip_longest(*own), start=1):
                did = ["nothing" if n is None else f"{self.ops[n].kind} of {self.ops[n].size} bytes" for n in together]
                for rank, one in zip(ranks, did, strict=True):
                    if one != did[0]:
                        raise ValueError(
                            f"{self.paths[rank]} and {self.paths[ranks[0]]} would hang in collective {number} "
                            f"{f'of group {short(group)}' if group else 'of all ranks'}: {one} in the first, and "
                            f"{did[0]} in the second"
                        )
                found.append(np.array(together))
        return found


def _shape(name: str, kind: str, ranks: int) -> FlowGraph:
    """A collective's flows between ranks 0, 1 ..., of a byte each."""
    if kind == "ALL_TO_ALL":
        return all_to_all(name, ranks, 1, 1)
    return around(name, ranks, 1, (ranks - 1) * (2 if kind == "ALL_REDUCE" else 1), 1)
