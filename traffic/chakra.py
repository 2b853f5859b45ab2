"""Graphs of flows as Chakra's execution traces (MLCommons), which ASTRA-sim runs: a file for each rank.

PREFIX.0.et is rank 0's, and so on. A file is GlobalMetadata and then Nodes, each behind its length; the numbers of
fields are those of ``schema/protobuf/et_def.proto``. A node starts when all have ended that it depends on, by data or
by control. Computing takes its ``duration_micros``; memory and metadata take no time; sends and receives are matched
as in GOAL text (`traffic.goal`). Collectives are those of `traffic.trace`; ``pg_name`` is their group, where none or
0 is every rank.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from files.reader import Unreadable, read_named
from files.rights import as_invoker
from files.sent import at, came
from traffic.goal import Op
from traffic.graph import MAX_BYTES, FlowGraph
from traffic.trace import COLLECTIVES, Trace
from traffic.wire import Field, Malformed, fields, messages

SPELLING = "chakra:PREFIX"
MAX_FILE_BYTES = 100_000_000
MAX_NODES, MAX_WAITS = 1_000_000, 5_000_000
"""Of all files of a trace. Larger ones are refused."""

_METADATA = (1, 2)
_ID, _TYPE, _CONTROL, _DATA, _DURATION, _ATTRIBUTE = 1, 3, 4, 5, 7, 10
_NAME, _SIGNED, _UNSIGNED, _TEXT, _BOOLS = 1, (7, 9), (11, 13), 29, 28
_NO_TIME, _COMP, _SEND, _RECV, _COLL = range(4), 4, 5, 6, 7
_TYPES = (
    "ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL", "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK", "BARRIER",
)  # fmt: skip
_NUMBERS = {name.encode(): name for name in ("comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag")}
_KINDS = {_SEND: "send", _RECV: "recv", _COLL: "collective"}


def traces_of(prefix: str) -> list[Path]:
    """The files of a trace that are there, by rank; PREFIX.0.et where there is none."""
    start = str(Path(prefix))
    names = came()
    if not names:
        with suppress(OSError), as_invoker(), os.scandir(Path(prefix).parent) as entries:
            names = [str(Path(prefix).parent / entry.name) for entry in entries]
    ranks = [
        int(found[1])
        for name in names
        if name.startswith(start) and (found := re.fullmatch(r"\.(0|[1-9][0-9]{0,6})\.et", name[len(start) :]))
    ]
    return [Path(f"{start}.{rank}.et") for rank in sorted(ranks) or [0]]


def read_chakra(prefix: str, name: str = "") -> FlowGraph:
    """The graph of the traces PREFIX.0.et, PREFIX.1.et ..., ``name`` in sentences about it; its hosts are the ranks.

    Raises ValueError, one sentence, with the file and the node where there is one, for what is no such trace, is too
    large, says what cannot be simulated, or would hang: a rank that has no part in a collective, a circle.
    """
    paths = traces_of(prefix)
    files = _Files([str(path) for path in paths])
    left = MAX_FILE_BYTES
    for rank, path in enumerate(paths):
        if not path.name.endswith(f".{rank}.et"):
            raise ValueError(f"there is {path}, and no trace of rank {rank}")
        try:
            data = read_named(at(path), MAX_FILE_BYTES)
            left -= len(data)
            if left < 0:
                raise Unreadable(f"and those of lower ranks have more than {MAX_FILE_BYTES // 10**6} MB")
            files.take(rank, memoryview(data))
        except Unreadable as why:
            raise ValueError(f"{path} {why}") from None
        except Malformed as why:
            raise ValueError(f"{path} is no Chakra trace: {why}") from None
    return files.trace.graph(name or f"chakra:{prefix}")


class _Files:
    """The files of ranks, as they are read into a trace."""

    def __init__(self, paths: list[str]) -> None:
        self.paths, self.trace = paths, Trace(paths)

    def take(self, rank: int, data: memoryview) -> None:
        """A rank's file, or ValueError."""
        places: dict[int, int] = {}
        ids = array("Q")
        parts = messages(data)
        metadata = next(parts, None)
        if metadata is None:
            raise Malformed("it is empty")
        if any(field.number not in _METADATA or field.content is None for field in fields(metadata)):
            raise Malformed("it does not begin with GlobalMetadata")
        for message in parts:
            op = self._node(rank, message, ids)
            if op.line in places:
                raise ValueError(f"{self.trace.where(op)}: there is another node of this id")
            places[op.line] = len(self.trace.ops)
            self.trace.ops.append(op)
            self._bounded(rank)
        for waiting, one in zip(self.trace.waiting[len(self.trace.before) :], ids, strict=True):
            if one not in places:
                raise ValueError(
                    f"{self.trace.where(self.trace.ops[waiting])} depends on node {one}, which is not there"
                )
            self.trace.before.append(places[one])

    def _bounded(self, rank: int) -> None:
        if len(self.trace.ops) > MAX_NODES or len(self.trace.waiting) > MAX_WAITS:
            raise ValueError(
                f"{self.paths[rank]} and those of lower ranks have more than {MAX_NODES:,} nodes, or "
                f"{MAX_WAITS:,} dependencies"
            )

    def _node(self, rank: int, message: memoryview, ids: array[int]) -> Op:
        """A node; what it depends on goes to ``waiting``, with ids for places."""
        number, kind, micros = 0, 0, 0
        numbers: dict[str, int] = {}
        group, all_dims = "", True
        for field in fields(message):
            if field.number == _ID:
                number = field.one()
            elif field.number == _TYPE:
                kind = field.one()
            elif field.number == _DURATION:
                micros = field.one()
            elif field.number in (_CONTROL, _DATA):
                for one in field.wholes():
                    ids.append(one)
                    self.trace.waiting.append(len(self.trace.ops))
                    self._bounded(rank)
            elif field.number == _ATTRIBUTE:
                name, value = _attribute(field.bytes())
                if name in _NUMBERS:
                    numbers[_NUMBERS[name]] = _number(_NUMBERS[name], value)
                elif name == b"pg_name":
                    group = _text(value)
                elif name == b"involved_dim":
                    all_dims = all(_bools(value))
        where = f"{self.paths[rank]} node {number}"
        if kind == _COMP or kind in _NO_TIME:
            return Op("calc", rank, -1, micros * 1000 if kind == _COMP else 0, 0, number)
        if kind not in _KINDS:
            raise ValueError(f"{where}: there is no type {kind} of nodes")
        if not 0 <= numbers.get("comm_size", -1) <= MAX_BYTES:
            raise ValueError(f"{where} has no comm_size that can be true")
        size = max(1, numbers["comm_size"])
        if kind != _COLL:
            own, other = ("comm_src", "comm_dst") if kind == _SEND else ("comm_dst", "comm_src")
            if numbers.get(own, rank) != rank:
                raise ValueError(f"{where}: its {own} is not rank {rank}, which it belongs to")
            if not 0 <= numbers.get(other, -1) < len(self.paths):
                raise ValueError(f"{where}: its {other} is none of the ranks 0 to {len(self.paths) - 1}")
            return Op(_KINDS[kind], rank, numbers[other], size, numbers.get("comm_tag", 0), number)
        what = numbers.get("comm_type", -1)
        if not 0 <= what < len(_TYPES):
            raise ValueError(f"{where} has no comm_type that there is")
        if _TYPES[what] not in COLLECTIVES:
            raise ValueError(f"{where}: {_TYPES[what]} is not simulated, but {', '.join(COLLECTIVES)} are")
        if not all_dims:
            raise ValueError(f"{where}: a collective over some dimensions of a network (involved_dim) is not simulated")
        ranks = self.trace.groups.setdefault("" if group == "0" else group, {})
        ranks.setdefault(rank, []).append(len(self.trace.ops))
        return Op(_TYPES[what], rank, -1, size, 0, number)


def _attribute(message: memoryview) -> tuple[bytes, Field | None]:
    """Name and value of an attribute."""
    name, value = b"", None
    for field in fields(message):
        if field.number == _NAME:
            name = bytes(field.bytes())
        elif field.number > 2:
            value = field
    return name, value


def _text(value: Field | None) -> str:
    if value is None or value.number != _TEXT:
        raise Malformed("the attribute pg_name is no text")
    try:
        return str(value.bytes(), "utf-8")
    except UnicodeDecodeError:
        raise Malformed("the attribute pg_name is no text in UTF-8") from None


def _number(name: str, value: Field | None) -> int:
    if value is None or value.number not in _SIGNED + _UNSIGNED:
        raise Malformed(f"the attribute {name} is no whole number")
    number = value.one()
    return number - (1 << 64) if value.number in _SIGNED and number >> 63 else number


def _bools(value: Field | None) -> Iterator[int]:
    if value is None or value.number != _BOOLS:
        raise Malformed("the attribute involved_dim is no list of truth values")
    return (flag for field in fields(value.bytes()) if field.number == 1 for flag in field.wholes())
