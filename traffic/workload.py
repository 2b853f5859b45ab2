"""Workloads: who sends what to whom, and when. One description for every backend.

A spec is a pattern (`traffic.patterns`), ``poisson:SIZES,LOAD``, or several joined by ``+``:

    stride:4                                     lasting flows: all start at once and send until the run ends
    shuffle:1000000                              turns: a host's next flow starts when the one before has ended
    poisson:web-search,0.5                       arrivals at load 0.5, to any other host
    poisson:fixed:10000,0.2 to stride:4          the same, to the receivers of a pattern
    stride:4 + poisson:fixed:10000,0.05          mice beside elephants
    file:flows.csv                               starts and sizes of one's own (`traffic.flowfile`)
    ring:16,1000000                              a collective: flows that wait for each other (`traffic.collectives`)

`workload` reads one, and refuses what makes no sense before anything is drawn. What comes back is a small object that
can be pickled; nothing of its arrivals is kept in memory, and every walk over it gives the same flows:

    work = workload("stride:4 + poisson:web-search,0.3", FatTree(4), seed=1, seconds=20.0, link_mbps=10.0)
    for flow in work:                            # in the order of their starts, as plain numbers
        print(flow.number, flow.start_s, flow.src, flow.dst, flow.src_port, flow.size_bytes, flow.after)
    for block in work.blocks():                  # the same as arrays, some thousand flows at a time
        print(len(block), block.start_s[0], block.size_bytes.sum())
    work.expected_flows, work.comes_and_goes     # how many, and whether `work.matrix` says it all

Flows come in the order of ``start_s``. Those that wait for another's end (``after``) come first of all, in the block
of the lasting flows. ``src_port`` is fixed by the seed. A host's sized flows take ports in turn, in a random order: a
port comes back only after 40,000 later flows of that host (20,000 beside flows that last or take turns, which have
ports to themselves).

Sizes of ``poisson`` are meant for links of 1 Gb/s. They scale with the links' rate, so that times and arrivals per
second stay, unless ``scale_sizes`` is False: then flows are as large as spelled, and come as often as makes the load.
Bytes that a shuffle or a file names are never scaled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from topos.arrays import Int32, Int64
from topos.network import Network, NonBlocking
from traffic import collectives, flowfile, patterns, poisson
from traffic.flowfile import read_listed
from traffic.flows import (
    FIRST_PORT,
    LASTING,
    NOBODY,
    NOTHING,
    WAITS,
    Flow,
    Flows,
    Matrix,
    PortCycle,
    columns,
    joined,
    source_ports,
)
from traffic.graph import MAX_FILE_BYTES, FlowGraph
from traffic.poisson import Arrivals
from traffic.textfile import read_bytes, read_text

SPELLINGS: dict[str, str] = {
    **patterns.SPELLINGS,
    **collectives.SPELLINGS,
    poisson.SPELLING: "Poisson arrivals; SIZES: web-search, data-mining, exponential:BYTES, fixed:BYTES, a CSV file; "
    "followed by ' to PATTERN': to that pattern's receivers",
    flowfile.OWN_SPELLING: "a function of your own",
    "A + B": "several at once",
}
"""How each workload is spelled, and what it means."""


@dataclass(frozen=True, eq=False)
class Workload:
    """The flows of one run of ``seconds``; made by `workload`.

    ``name``: as the user spelled it. ``size_scale``: what sizes of ``poisson`` were multiplied by. ``matrix``: who
    sends to whom, when that says it all, as all flows last, or take turns; else None. ``standing``: flows that last
    or take turns; ``listed``: flows of files with starts or sizes of their own; ``arrivals``: drawn on the way.
    ``graph``: flows of which each may wait for many; they are the first of the standing ones, in its order.
    """

    name: str
    num_hosts: int
    seed: int
    seconds: float
    size_scale: float
    matrix: Matrix | None
    standing: Flows
    listed: Flows
    arrivals: tuple[Arrivals, ...]
    graph: FlowGraph | None = None

    @property
    def comes_and_goes(self) -> bool:
        """Whether flows start or end in the middle of the run by themselves, so that `matrix` does not say it all."""
        return self.matrix is None

    @property
    def expected_flows(self) -> float:
        """How many flows there are, those of Poisson arrivals on average."""
        drawn = sum(one.flows_per_s * one.senders * self.seconds for one in self.arrivals)
        return len(self.standing) + len(self.listed) + drawn

    def bounded(self, most_flows: int) -> Workload:
        """Itself, for a backend that keeps a record of every flow; ValueError for more flows than it can hold."""
        if self.expected_flows > most_flows:
            raise ValueError(
                f"traffic {self.name!r} would be {self.expected_flows:.3g} flows in {self.seconds:g} s; "
                f"{most_flows:,} is the limit"
            )
        return self

    def __iter__(self) -> Iterator[Flow]:
        for block in self.blocks():
            yield from block

    def blocks(self) -> Iterator[Flows]:
        """All flows in order, as arrays of some thousand at a time; no block is empty."""
        if len(self.standing):
            yield self.standing
        number = len(self.standing)
        sources = [one.blocks(self.seconds) for one in self.arrivals]
        if len(self.listed):
            sources.append(iter([self.listed]))
        cycle = PortCycle(self.num_hosts, self.seed, beside_others=self._some_keep_their_ports)
        for block in _in_order(sources):
            yield replace(block, src_port=cycle.ports(block.src, block.src_port), first=number)
            number += len(block)

    @property
    def _some_keep_their_ports(self) -> bool:
        return bool(len(self.standing) or self.listed.src_port.any())


def workload(
    spec: str,
    topology: Network | int,
    seed: int = 0,
    *,
    seconds: float,
    link_mbps: float = poisson.REFERENCE_MBPS,
    scale_sizes: bool = True,
    flows_per_host: int = 1,
    keep: float = 1.0,
    placement: str = "compact",
    compute_s: float = 0.0,
    repeats: int = 1,
    subflows: int = 1,
) -> Workload:
    """The flows of ``spec`` on a network (or just a number of hosts) whose links carry ``link_mbps``.

    ``flows_per_host`` and ``keep`` are those of `traffic.patterns.draw`, and mean the spec's patterns; ``placement``,
    ``compute_s`` and ``repeats`` are those of `traffic.collectives.collective`, and mean its collective, whose flows
    are split into ``subflows`` each.
    Raises ValueError, one sentence, for whatever makes no sense, be it the spec, a file or an option.
    """
    network = NonBlocking(topology) if isinstance(topology, int) else topology
    scale = size_scale(link_mbps, scale_sizes)
    matrices: list[Matrix] = []
    listed: list[Flows] = []
    arrivals: list[Arrivals] = []
    graph: FlowGraph | None = None
    texts = _parts(spec)
    as_drawn = flows_per_host == 1 and keep == 1
    for text in texts:
        name, _, argument = text.partition(":")
        if collectives.is_collective(text):
            if graph is not None or not as_drawn:
                raise ValueError(
                    f"traffic {text!r}: there is one collective at a time, with 1 flow per host and keep 1"
                )
            graph = collectives.collective(
                text, network, seed, placement=placement, compute_s=compute_s, repeats=repeats
            ).split(subflows)
        elif name == "poisson":
            arrivals.append(_arrivals(text, argument, network, seed, len(arrivals), link_mbps, scale))
        elif name == "file" or flowfile.file_of_own(text):
            found = read_listed(argument, network) if name == "file" else flowfile.own_flows(text, network, seed)
            lasting = not found.start_s.any() and (found.size_bytes == LASTING).all()
            if not as_drawn and (name != "file" or not lasting):
                raise ValueError(
                    f"traffic {text!r}: it decides itself how many flows there are, so 1 flow per host and keep 1 "
                    "are the only choice"
                )
            if lasting and name == "file":
                matrices.append(patterns.draw(text, network, seed, flows_per_host, keep))
            elif lasting:
                matrices.append(Matrix(found.src, found.dst, network.num_hosts, text))
            else:
                before_end = np.argsort(found.start_s, kind="stable")[: int((found.start_s < seconds).sum())]
                listed.append(found.take(before_end))
        elif name in patterns.NAMES:
            matrices.append(patterns.draw(text, network, seed, flows_per_host, keep))
        else:
            raise ValueError(f"there is no traffic pattern {text!r}; traffic is spelled {'  '.join(SPELLINGS)}")
    alone = matrices[0] if len(texts) == len(matrices) == 1 else None
    standing, timed = _with_ports(matrices, listed, seed, alone is not None, graph)
    return Workload(spec, network.num_hosts, seed, seconds, scale, alone, standing, timed, tuple(arrivals), graph)


def read_files(spec: str, network: Network, seed: int) -> dict[str, str]:
    """What a job takes along: `traffic.textfile.given` of the files that a spec names, and the rows of own patterns.

    ValueError, one sentence, where one cannot be read.
    """
    found: dict[str, str] = {}
    for text in _parts(spec):
        name, _, argument = text.partition(":")
        if flowfile.file_of_own(text):
            found[text] = flowfile.own_rows(text, network, seed)
        elif name == "chakra":
            from traffic.chakra import traces_of

            found |= {str(path): read_bytes(path, MAX_FILE_BYTES).decode("latin-1") for path in traces_of(argument)}
        elif name in ("file", "goal", "htsim"):
            found[str(Path(argument))] = read_text(Path(argument), MAX_FILE_BYTES)
        elif name == "poisson":
            found |= {str(path): read_text(path, MAX_FILE_BYTES) for path in poisson.files_of(argument)}
    return found


def _parts(spec: str) -> list[str]:
    return [text.strip() for text in re.split(r"\s\+\s", spec)]


def size_scale(link_mbps: float, scale_sizes: bool = True) -> float:
    """What sizes of ``poisson`` are multiplied by on links of ``link_mbps``."""
    return link_mbps / poisson.REFERENCE_MBPS if scale_sizes else 1.0


def _arrivals(
    text: str, argument: str, network: Network, seed: int, part: int, link_mbps: float, scale: float
) -> Arrivals:
    try:
        sizes, load, pattern = poisson.spelled(argument)
    except ValueError as error:
        raise ValueError(f"traffic {text!r}: {error}") from None
    matrix = patterns.draw(pattern, network, seed) if pattern else None
    if matrix is not None and matrix.sequential:
        raise ValueError(f"traffic {text!r}: {pattern} takes turns, and arrivals wait for nobody")
    flows_per_s = load * link_mbps * 1e6 / 8 / (sizes.mean_bytes * scale)
    return Arrivals(network.num_hosts, matrix, sizes, scale, flows_per_s, seed, part)


def _with_ports(
    matrices: list[Matrix], listed: list[Flows], seed: int, alone: bool, graph: FlowGraph | None
) -> tuple[Flows, Flows]:
    """The standing flows and the listed ones; those that last, or take turns, have got their source ports.

    All flows of a graph from one host to another are one connection, with one port: so do libraries of collectives.
    """
    standing = joined([standing_flows(matrix) for matrix in matrices] or [NOTHING])
    offset = 0
    for matrix in matrices:
        waiting = standing.after[offset : offset + len(matrix)]
        waiting[waiting != NOBODY] += offset
        offset += len(matrix)
    timed = joined(list(_in_order([iter([part]) for part in listed])) or [NOTHING])
    lasting = np.flatnonzero(timed.size_bytes == LASTING)
    src = np.concatenate([standing.src, timed.src[lasting]])
    dst = np.concatenate([standing.dst, timed.dst[lasting]])
    if graph is not None:
        pairs, number = connections(graph)
        src, dst = np.concatenate([pairs[0], src]), np.concatenate([pairs[1], dst])
    if src.size:
        hosts = int(max(src.max(), dst.max())) + 1
        ports = source_ports(Matrix(src, dst, hosts), seed, beside_others=not alone)
        own = ports[src.size - len(standing) - lasting.size :]
        standing.src_port[:], timed.src_port[lasting] = own[: len(standing)], own[len(standing) :]
    if graph is not None:
        start = np.where(graph.level == 0, graph.delay_s, WAITS)
        of_graph = columns(graph.src, graph.dst, start, graph.size_bytes.astype(np.float64))
        flows = np.flatnonzero(number >= 0)
        of_graph.src_port[:] = FIRST_PORT  # computing has none; 0 would ask for one
        of_graph.src_port[flows] = ports[number[flows]]
        after = np.where(standing.after == NOBODY, NOBODY, standing.after + len(graph))
        standing = joined([of_graph, replace(standing, after=after)])
    return standing, timed


def connections(graph: FlowGraph) -> tuple[tuple[Int32, Int32], Int64]:
    """The connections of a graph's flows: senders and receivers, int32 (connections,); and which is each node's.

    int64 (nodes,), -1 for computing. There is one for every pair of hosts, or for every sub-flow of theirs.
    """
    flows = np.flatnonzero(~graph.computes)
    hosts = graph.num_hosts
    key = (graph.lane[flows].astype(np.int64) * hosts + graph.src[flows]) * hosts + graph.dst[flows]
    found, which = np.unique(key, return_inverse=True)
    pairs = found % (hosts * hosts)
    number = np.full(len(graph), -1, dtype=np.int64)
    number[flows] = which
    return ((pairs // graph.num_hosts).astype(np.int32), (pairs % graph.num_hosts).astype(np.int32)), number


def standing_flows(matrix: Matrix) -> Flows:
    """A matrix as flows: all start at time 0, but those of a later turn, which wait for the one before."""
    size = np.full(len(matrix), LASTING) if matrix.size_bytes is None else matrix.size_bytes.astype(np.float64)
    flows = columns(matrix.src, matrix.dst, np.zeros(len(matrix)), size)
    if matrix.turn is not None:
        order = np.lexsort((matrix.turn, matrix.src))
        follows = np.diff(matrix.src[order]) == 0
        flows.after[order[1:][follows]] = order[:-1][follows]
        flows.start_s[order[1:][follows]] = WAITS
    return flows


def _in_order(sources: list[Iterator[Flows]]) -> Iterator[Flows]:
    """Several streams of flows as one, each of which is in the order of starts, without reading far ahead."""
    held: list[tuple[Flows, Iterator[Flows]]] = []
    for source in sources:
        held += [(block, source) for block in [next(source, None)] if block is not None]
    while held:
        # What is known of every stream up to here is complete.
        horizon = min(block.start_s[-1] for block, _ in held)
        ready: list[Flows] = []
        kept: list[tuple[Flows, Iterator[Flows]]] = []
        for block, source in held:
            count = int(np.searchsorted(block.start_s, horizon, side="right"))
            ready.append(block.take(slice(count)))
            rest = block.take(slice(count, None)) if count < len(block) else next(source, None)
            if rest is not None:
                kept.append((rest, source))
        held = kept
        together = ready[0] if len(ready) == 1 else joined(ready)
        yield together.take(np.argsort(together.start_s, kind="stable"))
