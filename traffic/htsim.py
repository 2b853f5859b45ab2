"""Graphs of flows as connection matrices of csg-htsim (Broadcom): text that its `ConnectionMatrix::load` reads.

    Nodes 4
    Connections 2
    Triggers 1
    0->1 id 1 start 0 size 1000 send_done_trigger 1
    1->2 id 2 trigger 1 size 1000
    trigger id 1 oneshot

A flow that waits for one other has a ``oneshot`` trigger, one that waits for several a ``barrier`` with their number;
flows that wait for the same ones share it. Its loader wants ids above 0, a flow's id before its trigger, sizes in 31
bits, starts in picoseconds, and the numbers of the header. It knows no computing. A flow there sets off one trigger:
its loader reads ``recv_done_trigger`` as well, and no transport of csg-htsim fires it. So a flow that is waited for
in several ways sets off relays, flows of one byte on its own way, each of which sets off one of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from traffic.graph import FlowGraph, bounded
from traffic.textfile import write_lines

MAX_SIZE = 2**31 - 1


def write_matrix(path: str | Path, graph: FlowGraph) -> None:
    """A graph as a connection matrix. Raises ValueError, one sentence, for what such a matrix cannot say."""
    groups = _groups(graph)
    triggers = {group: number for number, group in enumerate(sorted({g for g in groups.values() if g}), 1)}
    sets_off: dict[int, list[int]] = {}
    for group, trigger in triggers.items():
        for flow in group:
            sets_off.setdefault(flow, []).append(trigger)
    flows: list[str] = []
    relays: list[str] = []
    kinds: list[str] = []
    for number, (flow, group) in enumerate(groups.items(), 1):
        src, dst, size = int(graph.src[flow]), int(graph.dst[flow]), int(graph.size_bytes[flow])
        if size > MAX_SIZE:
            raise _cannot(graph, flow, f"has {size:,} bytes, and {MAX_SIZE:,} are the most there")
        start = f"trigger {triggers[group]}" if group else f"start {round(float(graph.delay_s[flow]) * 1e12)}"
        mine = sets_off.get(flow, [])
        if len(mine) > 1:
            relay = len(triggers) + len(kinds) + 1
            kinds.append(f"trigger id {relay} oneshot")
            for trigger in mine:
                own = len(groups) + len(relays) + 1
                relays.append(f"{src}->{dst} id {own} trigger {relay} size 1 send_done_trigger {trigger}")
            mine = [relay]
        ends = f" send_done_trigger {mine[0]}" if mine else ""
        flows.append(f"{src}->{dst} id {number} {start} size {size}{ends}")
    told = [
        f"trigger id {trigger} {'oneshot' if len(group) == 1 else f'barrier count {len(group)}'}"
        for group, trigger in triggers.items()
    ]
    head = [
        f"Nodes {graph.num_hosts}",
        f"Connections {len(flows) + len(relays)}",
        f"Triggers {len(triggers) + len(kinds)}",
    ]
    write_lines(Path(path), [*head, *flows, *relays, *told, *kinds])


def _groups(graph: FlowGraph) -> dict[int, tuple[int, ...]]:
    """For whom each flow waits, ascending; computing that takes no time stands for those that it waits for."""
    before: dict[int, list[int]] = {}
    for waiting, one in zip(graph.waiting.tolist(), graph.before.tolist(), strict=True):
        before.setdefault(waiting, []).append(one)
    computes, delay = graph.computes.tolist(), graph.delay_s.tolist()
    behind: dict[int, tuple[int, ...]] = {}
    groups, edges = {}, 0
    for node in np.argsort(graph.level, kind="stable").tolist():
        if delay[node] and (computes[node] or node in before):
            raise _cannot(graph, node, "computes or waits for a time, which there is no word for there")
        ones = before.get(node, ())
        group = tuple(sorted({flow for one in ones for flow in (behind[one] if computes[one] else (one,))}))
        edges += len(group)
        bounded(graph.name, len(graph), edges)
        if computes[node]:
            behind[node] = group
        else:
            groups[node] = group
    return dict(sorted(groups.items()))


def _cannot(graph: FlowGraph, flow: int, why: str) -> ValueError:
    return ValueError(
        f"traffic {graph.name!r} is no connection matrix of csg-htsim: flow {flow}, from host {graph.src[flow]} to "
        f"{graph.dst[flow]}, {why}"
    )
