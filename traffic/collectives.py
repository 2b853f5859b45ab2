"""Collectives as graphs of flows: what a group of accelerators sends, step by step.

All hosts are ranks, in groups of the size asked for (what is left over is idle); all groups are at work at once. A
rank is the host of its number (``compact``), or hosts are drawn from the seed (``random``): what a scheduler of jobs
leaves one with. BYTES is the size of every rank's buffer. In all of them a flow waits for what its sender has to get
before, and for the flow that its sender sends before.

* ``ring``: an all-reduce in 2 (GROUP - 1) steps; in each, every rank sends 1/GROUP of the buffer to the next.
* ``halving-doubling``: an all-reduce in 2 log2(GROUP) steps with partners half the group away, a quarter and so on,
  of a half of the buffer, a quarter and so on; and back.
* ``all-to-all``: every rank sends 1/GROUP of its buffer to every other one, all at once.
* ``pipeline``: GROUP stages; as many micro-batches of BYTES go through them forward, and back.
* ``goal:FILE``: what a file of GOAL text says (`traffic.goal`).
* ``chakra:PREFIX``: what Chakra's traces say, PREFIX.0.et for rank 0 and so on (`traffic.chakra`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from topos.network import Network
from traffic.exchanges import all_to_all, in_steps, part, ring
from traffic.graph import FlowGraph, bounded
from traffic.streams import Stream, generator


def is_collective(text: str) -> bool:
    """Whether a traffic's spec is one of these; ``all-to-all`` without a size is a pattern that lasts."""
    name, colon, _ = text.partition(":")
    return (name in _GRAPHS or name in _READERS) and bool(colon)


def collective(
    text: str, network: Network, seed: int, *, placement: str = "compact", compute_s: float = 0.0, repeats: int = 1
) -> FlowGraph:
    """The graph of a spec: ``repeats`` times, with ``compute_s`` of computing before each, on the network's hosts.

    A pipeline computes in every stage instead. Raises ValueError, one sentence, for whatever makes no sense.
    """
    name, _, argument = text.partition(":")
    if name in _READERS:
        return placed(_READERS[name](argument, text).repeated(repeats, compute_s), network, seed, placement)
    group, size = _argument(text, argument)
    if not 2 <= group <= network.num_hosts:
        raise ValueError(f"traffic {text!r}: a group has from 2 to {network.num_hosts:,} ranks here, not {group:,}")
    if name == "pipeline":
        graph = _pipeline(text, group, network.num_hosts // group, size, compute_s).repeated(repeats, 0.0)
    else:
        graph = _GRAPHS[name](text, group, network.num_hosts // group, size).repeated(repeats, compute_s)
    return placed(graph, network, seed, placement)


def placed(graph: FlowGraph, network: Network, seed: int, placement: str) -> FlowGraph:
    """The graph's ranks on hosts. ValueError, one sentence, for too many, or where nothing is sent between them."""
    if graph.num_hosts > network.num_hosts:
        raise ValueError(
            f"traffic {graph.name!r} has {graph.num_hosts:,} ranks, and the network {network.num_hosts:,} hosts"
        )
    if graph.computes.all():
        raise ValueError(f"traffic {graph.name!r} only computes: no rank sends to another")
    hosts = np.arange(network.num_hosts, dtype=np.int32)
    if placement == "random":
        hosts = generator(seed, Stream.RANKS).permutation(hosts)
    return graph.on(hosts, network.num_hosts, graph.name)


def _argument(text: str, argument: str) -> tuple[int, int]:
    name = text.partition(":")[0]
    found = re.fullmatch(r"([0-9]{1,9}),([0-9]{1,15})", argument)
    if not found or int(found[2]) == 0:
        raise ValueError(f"traffic {text!r} is not spelled right: write it as {_SPELLED[name]}, two whole numbers")
    return int(found[1]), int(found[2])


def _ring(name: str, group: int, groups: int, size: int) -> FlowGraph:
    return ring(name, group, groups, 2 * (group - 1), part(size, group))


def _halving_doubling(name: str, group: int, groups: int, size: int) -> FlowGraph:
    if group & (group - 1):
        raise ValueError(f"traffic {name!r}: its groups are of 2, 4, 8, 16 and so on ranks, not {group:,}")
    halvings = range(1, group.bit_length())
    order = [*halvings, *reversed(halvings)]
    rank = np.arange(group * groups)
    return in_steps(name, rank.size, [rank ^ (group >> n) for n in order], [part(size, 1 << n) for n in order])


def _all_to_all(name: str, group: int, groups: int, size: int) -> FlowGraph:
    return all_to_all(name, group, groups, part(size, group))


def _pipeline(name: str, stages: int, groups: int, size: int, compute_s: float = 0.0) -> FlowGraph:
    hops = stages - 1
    bounded(name, 2 * stages * hops * groups, 4 * stages * hops * groups)
    batch, hop = (part.ravel() for part in np.mgrid[0:stages, 0:hops])
    forward, backward = batch * hops + hop, batch * hops + hop + stages * hops
    edges = [
        (forward[hop > 0], forward[hop > 0] - 1),  # the stage has got the batch
        (forward[batch > 0], forward[batch > 0] - hops),  # and sent the one before
        (backward[hop < hops - 1], backward[hop < hops - 1] + 1),
        (backward[batch > 0], backward[batch > 0] - hops),
        (backward[[hops - 1]], forward[[-1]]),  # back after the last one has arrived
    ]
    waiting = np.concatenate([edge[0] for edge in edges])
    before = np.concatenate([edge[1] for edge in edges])
    src, dst = np.concatenate([hop, hop + 1]), np.concatenate([hop + 1, hop])
    nodes, group = src.size, np.arange(groups)[:, None]
    return FlowGraph(
        name,
        stages * groups,
        (src + group * stages).ravel().astype(np.int32),
        (dst + group * stages).ravel().astype(np.int32),
        np.full(nodes * groups, size, dtype=np.int64),
        np.full(nodes * groups, compute_s),
        (waiting + group * nodes).ravel(),
        (before + group * nodes).ravel(),
    )


_GRAPHS: dict[str, Callable[[str, int, int, int], FlowGraph]] = {
    "ring": _ring,
    "halving-doubling": _halving_doubling,
    "all-to-all": _all_to_all,
    "pipeline": _pipeline,
}


def _goal(argument: str, name: str) -> FlowGraph:
    from traffic.goal import read_goal

    return read_goal(argument, name)


def _chakra(argument: str, name: str) -> FlowGraph:
    from traffic.chakra import read_chakra

    return read_chakra(argument, name)


_READERS: dict[str, Callable[[str, str], FlowGraph]] = {"goal": _goal, "chakra": _chakra}
_SPELLED = {name: f"{name}:GROUP,BYTES" for name in _GRAPHS} | {"pipeline": "pipeline:STAGES,BYTES"}
SPELLINGS = {
    "ring:GROUP,BYTES": "all-reduce of BYTES in groups of GROUP hosts, around a ring",
    "halving-doubling:GROUP,BYTES": "the same, between partners that are half a group away, a quarter ...",
    "all-to-all:GROUP,BYTES": "every host sends 1/GROUP of BYTES to every other one of its group",
    "pipeline:STAGES,BYTES": "micro-batches of BYTES go forward through the stages, and back",
    "goal:FILE": "what a file of GOAL text says, the schedules of LogGOPSim and ATLAHS",
    "chakra:PREFIX": "what Chakra's traces say, as ASTRA-sim runs them: PREFIX.0.et for rank 0 and so on",
}
"""How each is spelled, and what it means."""
