"""Graphs of flows as connection matrices of htsim, the packet simulator of the Ultra Ethernet Consortium.

    Nodes 16
    Connections 2
    Triggers 1
    0->5 id 1 start 0 size 2000000 send_done_trigger 1
    5->9 id 2 trigger 1 size 2000000
    trigger id 1 oneshot

``start`` is in picoseconds, ``size`` in bytes. Those of the same hosts and id are one connection, all others have one
each. A trigger (``oneshot`` of one flow, ``barrier`` of ``count`` flows) starts its flows when those have ended that
name it, by ``send_done_trigger`` or ``recv_done_trigger``: here both are the end of the flow. ``prio`` and ``msg`` are
read and not used.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from pathlib import Path

from traffic.graph import MAX_BYTES, MAX_DELAY_S, MAX_FILE_BYTES, MAX_NODES, FlowGraph, bounded
from traffic.textfile import read_text, short

MAX_HOSTS = 1_000_000

_ENDS = re.compile(r"([0-9]{1,9})->([0-9]{1,9})")
_DONE = ("send_done_trigger", "recv_done_trigger")
_WORDS = ("id", "start", "size", "trigger", "prio", *_DONE)


def read_htsim(path: str | Path, name: str) -> FlowGraph:
    """The graph of a file, ``name`` in sentences about it; its hosts are the nodes.

    Raises ValueError, one sentence, with the line where there is one, for what is no such matrix, is cut short, too
    large, or says what cannot be simulated: failures, and triggers that fire in the order in which flows end.
    """
    matrix, number = _Matrix(), 0
    try:
        for number, line in enumerate(read_text(Path(path), MAX_FILE_BYTES).split("\n"), start=1):
            if (words := line.partition("#")[0].split()) and len(matrix.rows) <= MAX_NODES:
                matrix.take(number, words)
    except ValueError as error:
        raise ValueError(f"{path} line {number}: {error}" if number else str(error)) from None
    bounded(name, len(matrix.rows), 0)
    try:
        return matrix.graph(name)
    except _Wrong as error:
        raise ValueError(f"{path}{error}") from None


class _Wrong(ValueError):
    """What is wrong with a whole file; the message continues its name."""


class _Matrix:
    """A file as it is read. ``rows``: sender, receiver, bytes, seconds until the start, lane. Flows by the trigger that
    they wait for, or fire; ``kinds``: of triggers, with the flows that a barrier waits for."""

    def __init__(self) -> None:
        self.header: dict[str, int] = {}
        self.rows: list[tuple[int, int, int, float, int]] = []
        self.waiting, self.firing = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        self.kinds: dict[int, tuple[str, int | None]] = {}
        self._line: dict[int, int] = {}  # where a trigger is named first
        self._lanes: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)

    def take(self, number: int, words: list[str]) -> None:
        """A line, or ValueError."""
        if words[0] in ("Nodes", "Connections", "Triggers", "Failures"):
            self.header[words[0]] = _whole(words[0], " ".join(words[1:]))
            if words[0] == "Failures" and self.header["Failures"]:
                raise ValueError("failures of a connection matrix are not read; say them with --fail")
            if words[0] == "Nodes" and not 2 <= self.header["Nodes"] <= MAX_HOSTS:
                raise ValueError(f"there are from 2 to {MAX_HOSTS:,} nodes")
        elif words[0] == "trigger":
            said = _pairs(words[1:], ("id", "count"), ("oneshot", "multishot", "barrier"))
            kind = [word for word in words[1:] if word in ("oneshot", "multishot", "barrier")]
            if len(kind) != 1 or "id" not in said:
                raise ValueError("a trigger has an id, and is one of oneshot, multishot and barrier")
            trigger = _whole("id", said["id"])
            if trigger in self.kinds:
                raise ValueError(f"trigger {trigger} is there already")
            self.kinds[trigger] = kind[0], _whole("count", said["count"]) if "count" in said else None
            self._line.setdefault(trigger, number)
        elif found := _ENDS.fullmatch(words[0]):
            self._flow(number, int(found[1]), int(found[2]), words[1:])
        else:
            raise ValueError(f"{short(words[0])} is neither a part of the header nor SRC->DST nor a trigger")

    def _flow(self, number: int, src: int, dst: int, words: list[str]) -> None:
        nodes, flow = self.header.get("Nodes", 0), len(self.rows)
        if not nodes:
            raise ValueError("the number of Nodes comes before the connections")
        if max(src, dst) >= nodes or src == dst:
            raise ValueError(f"a flow from {src} to {dst}: the nodes are 0 to {nodes - 1}, and none sends to itself")
        said = _pairs([word for at, word in enumerate(words) if not (at and words[at - 1] == "msg" and word.isdigit())],
                      _WORDS, ("msg",))  # fmt: skip
        if ("start" in said) == ("trigger" in said):
            raise ValueError("a flow has a start or a trigger, and not both")
        size = _whole("size", said.get("size", ""))
        if not 1 <= size <= MAX_BYTES:
            raise ValueError(f"a flow has from 1 to {MAX_BYTES:,} bytes, not {size:,}")
        start_s = _seconds(said.get("start", "0"))
        of_pair = self._lanes[src, dst]
        name = _whole("id", said["id"]) if "id" in said else -1 - len(of_pair)
        self.rows.append((src, dst, size, start_s, of_pair.setdefault(name, len(of_pair))))
        for word in ("trigger", *_DONE):
            if word in said and (trigger := _whole(word, said[word])):
                (self.waiting if word == "trigger" else self.firing)[trigger].append(flow)
                self._line.setdefault(trigger, number)

    def graph(self, name: str) -> FlowGraph:
        """The graph, or _Wrong."""
        for what, there in (("Connections", len(self.rows)), ("Triggers", len(self.kinds))):
            if self.header.get(what, 0) != there:
                raise _Wrong(f" says {what} {self.header.get(what, 0):,}, and has {there:,}")
        if not self.rows:
            raise _Wrong(" has no connection")
        src, dst, size, start_s, lane = (list(column) for column in zip(*self.rows, strict=True))
        edges: list[tuple[int, int]] = []
        for trigger, waiting in self.waiting.items():
            kind, count = self.kinds.get(trigger, ("", None))
            firing, where = self.firing[trigger], f" line {self._line[trigger]}: trigger {trigger}"
            if not kind:
                raise _Wrong(f"{where} is named and described nowhere")
            if not firing:
                raise _Wrong(f"{where} is fired by no flow, so what waits for it would never start")
            if kind == "barrier" and count != len(firing):
                raise _Wrong(f"{where} waits for {count} flows, and {len(firing)} fire it")
            if (kind != "barrier" and len(firing) > 1) or (kind == "multishot" and len(waiting) > 1):
                raise _Wrong(f"{where} goes by the order in which flows end, which is not simulated")
            bounded(name, len(self.rows), len(edges) + len(waiting) * len(firing))
            edges += [(late, early) for late in waiting for early in firing]
        late, early = zip(*edges, strict=True) if edges else ((), ())
        return FlowGraph.of(name, self.header["Nodes"], src, dst, size, start_s, late, early, lane)


def _pairs(words: list[str], keys: tuple[str, ...], alone: tuple[str, ...]) -> dict[str, str]:
    """Words that are followed by their value, without those that stand alone; ValueError for any other."""
    said: dict[str, str] = {}
    left = iter([word for word in words if word not in alone])
    for word in left:
        if word not in keys or word in said:
            raise ValueError(f"{short(word)} has no place here; the words are {', '.join((*keys, *alone))}, each once")
        said[word] = next(left, "")
    return said


def _whole(what: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,16}", text):
        raise ValueError(f"{what} is a whole number, not {short(text)}")
    return int(text)


def _seconds(picoseconds: str) -> float:
    try:
        start_s = float(picoseconds) / 1e12
    except ValueError:
        start_s = math.nan
    if not 0 <= start_s <= MAX_DELAY_S:
        raise ValueError(f"a flow cannot start at {short(picoseconds)} picoseconds")
    return start_s
