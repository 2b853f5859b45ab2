"""Graphs of flows as rows of plain numbers, made and told."""

import numpy as np

from traffic.graph import FlowGraph


def graph(*rows, edges=(), hosts=4):
    """Nodes as (src, dst, size, delay), edges as (waiting, before)."""
    src, dst, size, delay = (np.array(column) for column in zip(*rows, strict=True)) if rows else [np.zeros(0)] * 4
    waiting, before = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return FlowGraph.of("mine", hosts, src, dst, size, delay, waiting, before)


def rows(found):
    columns = (found.src, found.dst, found.size_bytes, found.delay_s)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def edges(found):
    return sorted(zip(found.waiting.tolist(), found.before.tolist(), strict=True))


def same(one, other):
    return (rows(one), edges(one), one.num_hosts) == (rows(other), edges(other), other.num_hosts)


def doing(found):
    """The graph of the nodes that send or take time alone: they wait through those that do neither."""
    idle = found.computes & (found.delay_s == 0)
    before = [set() for _ in idle]
    for node in np.argsort(found.level, kind="stable").tolist():
        for one in found.before[found.waiting == node].tolist():
            before[node] |= before[one] if idle[one] else {one}
    kept = np.flatnonzero(~idle).tolist()
    table = rows(found)
    place = {node: n for n, node in enumerate(kept)}
    waits = [(place[node], place[one]) for node in kept for one in before[node]]
    return graph(*(table[node] for node in kept), edges=waits, hosts=found.num_hosts)
