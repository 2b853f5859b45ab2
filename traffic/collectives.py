"""Collectives as graphs of flows: what a group of accelerators sends, step by step (SPELLINGS).

All hosts are ranks, in groups of the size asked for (what is left over is idle); all groups are at work at once. A
rank is the host of its number (``compact``), or hosts are drawn from the seed (``random``): what a scheduler of jobs
leaves one with. BYTES is the size of every rank's buffer. A flow waits for what its sender has to get before, and for
the flow that its sender sends before.

A ring takes 2 (GROUP - 1) steps, in each of which every rank sends 1/GROUP of its buffer to the next. Halving and
doubling takes 2 log2(GROUP) steps: partners half the group away exchange half of the buffer, those a quarter away a
quarter, and so on, and back. A pipeline sends as many micro-batches as it has stages. `traffic.traces` reads files.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from topos.network import Network
from traffic.flows import Stream, make_generator
from traffic.graph import FlowGraph, check_size, divide_size, make_all_to_all, make_ring_steps, make_steps
from traffic.traces import READERS

SPELLINGS = {
    "ring:GROUP,BYTES": "all-reduce of BYTES in groups of GROUP hosts, around a ring",
    "halving-doubling:GROUP,BYTES": "the same, between partners that are half a group away, a quarter ...",
    "all-to-all:GROUP,BYTES": "every host sends 1/GROUP of BYTES to every other one of its group",
    "pipeline:STAGES,BYTES": "micro-batches of BYTES go forward through the stages, and back",
    "goal:FILE": "what a file of GOAL text says, the schedules of LogGOPSim and ATLAHS",
    "htsim:FILE.cm": "what a connection matrix of the packet simulator htsim says",
    "chakra:PREFIX": "what Chakra's traces say, as ASTRA-sim runs them: PREFIX.0.et for rank 0 and so on",
}
"""How each is spelled, and what it means."""


def make_collective(
    text: str, network: Network, seed: int, *, placement: str = "compact", compute_s: float = 0.0, repeats: int = 1
) -> FlowGraph:
    """The graph of a spec: ``repeats`` times, with ``compute_s`` of computing before each, on the network's hosts.

    A pipeline computes in every stage instead. Raises ValueError, one sentence, for whatever makes no sense.
    """
    name, _, argument = text.partition(":")
    if name in READERS:
        graph = READERS[name](argument, text)
    else:
        match = re.fullmatch(r"([0-9]{1,9}),([0-9]{1,15})", argument)
        if not match or int(match[2]) == 0:
            spelling = f"{name}:{'STAGES' if name == 'pipeline' else 'GROUP'},BYTES"
            raise ValueError(f"traffic {text!r} is not spelled right: write it as {spelling}, two whole numbers")
        group, size = int(match[1]), int(match[2])
        if not 2 <= group <= network.num_hosts:
            raise ValueError(f"traffic {text!r}: a group has from 2 to {network.num_hosts:,} ranks here, not {group:,}")
        groups = network.num_hosts // group
        if name == "pipeline":
            graph, compute_s = _pipeline(text, group, groups, size, compute_s), 0.0
        else:
            graph = _GRAPHS[name](text, group, groups, size)
    return place_ranks(graph.repeated(repeats, compute_s), network, seed, placement)


def place_ranks(graph: FlowGraph, network: Network, seed: int, placement: str) -> FlowGraph:
    """The graph's ranks on hosts. ValueError, one sentence, for too many, or where nothing is sent between them."""
    if graph.num_hosts > network.num_hosts:
        raise ValueError(
            f"traffic {graph.name!r} has {graph.num_hosts:,} ranks, and the network {network.num_hosts:,} hosts"
        )
    if graph.computes.all():
        raise ValueError(f"traffic {graph.name!r} only computes: no rank sends to another")
    hosts = np.arange(network.num_hosts, dtype=np.int32)
    if placement == "random":
        hosts = make_generator(seed, Stream.RANKS).permutation(hosts)
    return graph.on(hosts, network.num_hosts, graph.name)


def _ring(name: str, group: int, groups: int, size: int) -> FlowGraph:
    return make_ring_steps(name, group, groups, 2 * (group - 1), divide_size(size, group))


def _halving_doubling(name: str, group: int, groups: int, size: int) -> FlowGraph:
    if group & (group - 1):
        raise ValueError(f"traffic {name!r}: its groups are of 2, 4, 8, 16 and so on ranks, not {group:,}")
    halvings = range(1, group.bit_length())
    order = [*halvings, *reversed(halvings)]
    check_size(name, len(order) * group * groups, 2 * (len(order) - 1) * group * groups)
    rank = np.arange(group * groups)
    return make_steps(name, rank.size, [rank ^ (group >> n) for n in order], [divide_size(size, 1 << n) for n in order])


def _pipeline(name: str, stages: int, groups: int, size: int, compute_s: float) -> FlowGraph:
    hops = stages - 1
    check_size(name, 2 * stages * hops * groups, 4 * stages * hops * groups)
    batch, hop = (axis.ravel() for axis in np.mgrid[0:stages, 0:hops])
    forward, backward = batch * hops + hop, batch * hops + hop + stages * hops
    edges = [
        (forward[hop > 0], forward[hop > 0] - 1),  # the stage has got the batch
        (forward[batch > 0], forward[batch > 0] - hops),  # and sent the one before
        (backward[hop < hops - 1], backward[hop < hops - 1] + 1),
        (backward[batch > 0], backward[batch > 0] - hops),
        (backward[[hops - 1]], forward[[-1]]),  # back after the last one has arrived
    ]
    waiting, before = (np.concatenate(ends) for ends in zip(*edges, strict=True))
    src, dst = np.concatenate([hop, hop + 1]), np.concatenate([hop + 1, hop])
    nodes, group = src.size, np.arange(groups)[:, None]
    src, dst = ((ends + group * stages).ravel() for ends in (src, dst))
    waiting, before = ((ends + group * nodes).ravel() for ends in (waiting, before))
    return FlowGraph.of(name, stages * groups, src, dst, size, compute_s, waiting, before)


_GRAPHS: dict[str, Callable[[str, int, int, int], FlowGraph]] = {
    "ring": _ring,
    "halving-doubling": _halving_doubling,
    "all-to-all": make_all_to_all,
}
NAMES = frozenset((*_GRAPHS, "pipeline", *READERS))
"""The part of a spec before its colon; ``all-to-all`` without a size is a pattern that lasts."""
