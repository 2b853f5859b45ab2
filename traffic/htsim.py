"""Graphs of flows as connection matrices of htsim, the packet simulator of the Ultra Ethernet Consortium.

    Nodes 16
    Connections 2
    0->5 id 1 start 0 size 2000000
    5->9 id 2 start 2500000 size 2000000

``start`` is in picoseconds, ``size`` in bytes. Those of the same hosts and id are one connection, all others have one
each. ``prio`` and ``msg`` are read and not used.
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
    r"((?: (?:id|size|prio) [0-9]{1,15}| start [0-9]{1,18}(?:\.[0-9]{1,9})?(?:e[0-9]{1,2})?| msg(?: [0-9]{1,9})?)*)"
)


def read_htsim(path: str | Path, name: str) -> FlowGraph:
    """The graph of a file, ``name`` in sentences about it; its hosts are the nodes.

    Raises ValueError, one sentence, with the line where there is one, for what is no such matrix, is cut short, too
    large, or has failures or triggers, which are not read.
    """
    head, text = dict[str, int](), read_text(Path(path), MAX_FILE_BYTES)
    rows: list[tuple[int, int, int, float, int]] = []
    lanes: defaultdict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    try:
        for number, line in enumerate(text.split("\n"), start=1):  # noqa: B007, which is in the sentence below
            words = " ".join(line.partition("#")[0].split())
            if found := _HEAD.fullmatch(words):
                head[found[1]] = int(found[2])
                if found[1] in ("Triggers", "Failures") and head[found[1]]:
                    raise ValueError("triggers and failures are not read: give waits as goal:FILE, failures by --fail")
                if not 2 <= head.get("Nodes", 2) <= MAX_HOSTS:
                    raise ValueError(f"there are from 2 to {MAX_HOSTS:,} nodes")
            elif found := _FLOW.fullmatch(words):
                rows.append(_flow(found, head.get("Nodes", 0), lanes))
                bounded(name, len(rows) if len(rows) > MAX_NODES else 0, 0)
            elif words:
                raise ValueError(f"{short(words)} is neither SRC->DST with start, size and id nor a part of the head")
    except ValueError as error:
        raise ValueError(f"{path} line {number}: {error}") from None
    if head.get("Connections", 0) != len(rows) or not rows:
        raise ValueError(f"{path} says Connections {head.get('Connections', 0):,}, and has {len(rows):,}")
    src, dst, size, start_s, lane = zip(*rows, strict=True)
    return FlowGraph.of(name, head["Nodes"], src, dst, size, start_s, lane=lane)


def _flow(
    found: re.Match[str], nodes: int, lanes: defaultdict[tuple[int, int], dict[str, int]]
) -> tuple[int, int, int, float, int]:
    """Sender, receiver, bytes, seconds until the start, and lane, or ValueError."""
    src, dst, said = int(found[1]), int(found[2]), dict(re.findall(r"([a-z]+) ([0-9.e]+)", found[3]))
    if max(src, dst) >= nodes or src == dst:
        raise ValueError(f"a flow from {src} to {dst}: there are {nodes} nodes, and none sends to itself")
    if "start" not in said or int(said.get("size", 0)) == 0:
        raise ValueError("a flow has a start, and a size above 0")
    of_pair = lanes[src, dst]
    lane = of_pair.setdefault(said.get("id", f"own {len(of_pair)}"), len(of_pair))
    return src, dst, int(said["size"]), float(said["start"]) / 1e12, lane
