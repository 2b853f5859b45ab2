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

import re
from collections import defaultdict
from pathlib import Path

from traffic.graph import MAX_FILE_BYTES, MAX_NODES, FlowGraph, bounded
from traffic.textfile import read_text, short

MAX_HOSTS = 1_000_000

_HEAD = re.compile(r"(Nodes|Connections|Triggers|Failures) ([0-9]{1,9})")
_FLOW = re.compile(
    r"([0-9]{1,9})->([0-9]{1,9})"
    r"((?: (?:id|size|trigger|prio|send_done_trigger|recv_done_trigger) [0-9]{1,15}|"
    r" start [0-9]{1,18}(?:\.[0-9]{1,9})?(?:e[0-9]{1,2})?| msg(?: [0-9]{1,9})?)*)"
)
_TRIGGER = re.compile(r"trigger id ([0-9]{1,9})(?: (oneshot|multishot|barrier)| count ([0-9]{1,9}))+")
_FORM = "is no line of a connection matrix: SRC->DST with start or trigger, size, id; trigger; or a part of its head"


def read_htsim(path: str | Path, name: str) -> FlowGraph:
    """The graph of a file, ``name`` in sentences about it; its hosts are the nodes.

    Raises ValueError, one sentence, with the line where there is one, for what is no such matrix, is cut short, too
    large, or says what cannot be simulated: failures, and triggers that fire in the order in which flows end.
    """
    matrix, number, text = _Matrix(), 0, read_text(Path(path), MAX_FILE_BYTES)
    try:
        for number, line in enumerate(text.split("\n"), start=1):
            if words := " ".join(line.partition("#")[0].split()):
                matrix.take(number, words)
                bounded(name, len(matrix.rows) if len(matrix.rows) > MAX_NODES else 0, 0)
        number = 0
        return matrix.graph(name)
    except ValueError as error:
        raise ValueError(f"{path} line {number}: {error}" if number else f"{path} {error}") from None


class _Matrix:
    """A file as it is read. ``rows``: sender, receiver, bytes, seconds until the start, lane. By trigger: flows that
    wait for it, flows that fire it, its kind and count, and the line that has it first."""

    def __init__(self) -> None:
        self.head: dict[str, int] = {}
        self.rows: list[tuple[int, int, int, float, int]] = []
        self.waiting, self.firing = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        self.kinds: dict[int, tuple[str, str | None]] = {}
        self.lines: dict[int, int] = {}
        self._lanes: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)

    def take(self, number: int, line: str) -> None:
        """A line, or ValueError."""
        if found := _HEAD.fullmatch(line):
            self.head[found[1]] = int(found[2])
            if self.head.get("Failures"):
                raise ValueError("failures of a connection matrix are not read; say them with --fail")
            if not 2 <= self.head.get("Nodes", 2) <= MAX_HOSTS:
                raise ValueError(f"there are from 2 to {MAX_HOSTS:,} nodes")
        elif (found := _TRIGGER.fullmatch(line)) and found[2]:
            self.lines.setdefault(int(found[1]), number)
            self.kinds[int(found[1])] = found[2], found[3]
        elif found := _FLOW.fullmatch(line):
            self._flow(number, int(found[1]), int(found[2]), dict(re.findall(r"([a-z_]+) ([0-9.e]+)", found[3])))
        else:
            raise ValueError(f"{short(line)} {_FORM}")

    def _flow(self, number: int, src: int, dst: int, said: dict[str, str]) -> None:
        nodes, of_pair = self.head.get("Nodes", 0), self._lanes[src, dst]
        if max(src, dst) >= nodes or src == dst:
            raise ValueError(f"a flow from {src} to {dst}: there are {nodes} nodes, and none sends to itself")
        if ("start" in said) == ("trigger" in said) or int(said.get("size", 0)) == 0:
            raise ValueError("a flow has a size above 0, and either a start or a trigger")
        lane = of_pair.setdefault(said.get("id", f"own {len(of_pair)}"), len(of_pair))
        for word, flows in (
            ("trigger", self.waiting),
            ("send_done_trigger", self.firing),
            ("recv_done_trigger", self.firing),
        ):
            if trigger := int(said.get(word, 0)):
                flows[trigger].append(len(self.rows))
                self.lines.setdefault(trigger, number)
        self.rows.append((src, dst, int(said["size"]), float(said.get("start", 0)) / 1e12, lane))

    def graph(self, name: str) -> FlowGraph:
        """The graph, or ValueError."""
        for what, there in (("Connections", len(self.rows)), ("Triggers", len(self.kinds))):
            if self.head.get(what, 0) != there or not self.rows:
                raise ValueError(f"says {what} {self.head.get(what, 0):,}, and has {there:,}")
        edges: list[tuple[int, int]] = []
        for trigger, waiting in self.waiting.items():
            firing, (kind, count) = self.firing[trigger], self.kinds.get(trigger, ("", None))
            if not kind or not firing or (kind == "barrier" and int(count or 0) != len(firing)):
                told = f"{kind or 'described nowhere'}, count {count or 'none'}, fired by {len(firing)} flows"
                raise ValueError(f"line {self.lines[trigger]}: trigger {trigger} would never fire as it says ({told})")
            if (kind != "barrier" and len(firing) > 1) or (kind == "multishot" and len(waiting) > 1):
                raise ValueError(
                    f"line {self.lines[trigger]}: trigger {trigger} goes by who ends first, which is not simulated"
                )
            bounded(name, len(self.rows), len(edges) + len(waiting) * len(firing))
            edges += [(late, early) for late in waiting for early in firing]
        src, dst, size, start_s, lane = zip(*self.rows, strict=True)
        late, early = zip(*edges, strict=True) if edges else ((), ())
        return FlowGraph.of(name, self.head["Nodes"], src, dst, size, start_s, late, early, lane)
