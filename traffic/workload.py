"""Workloads: who sends what to whom, and when. One description for every backend.

A spec is a pattern (`traffic.patterns`), ``poisson:SIZES,LOAD``, or several joined by ``+``:

    stride:4                                     lasting flows: all start at once and send until the run ends
    shuffle:1000000                              turns: a host's next flow starts when the one before has ended
    poisson:web-search,0.5                       arrivals at load 0.5, to any other host
    poisson:fixed:10000,0.2 to stride:4          the same, to the receivers of a pattern
    stride:4 + poisson:fixed:10000,0.05          mice beside elephants
    file:flows.csv                               starts and sizes of one's own (`traffic.flowfile`)
    ring:16,1000000                              a collective: flows that wait for each other (`traffic.collectives`)

`make_workload` reads one, and refuses what makes no sense before anything is drawn. What comes back is a small object
that can be pickled; nothing of its arrivals is kept in memory, and every walk over it gives the same flows:

    work = workload("stride:4 + poisson:web-search,0.3", FatTree(4), seed=1, seconds=20.0, link_mbps=10.0)
    for flow in work:                            # in the order of their starts, as plain numbers
        print(flow.number, flow.start_s, flow.src, flow.dst, flow.src_port, flow.size_bytes, flow.after)
    for block in work.blocks():                  # the same as arrays, some thousand flows at a time
        print(len(block), block.start_s[0], block.size_bytes.sum())
    work.expected_flows                          # how many; `work.matrix` is None unless it says it all

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

from topos.network import Network, NonBlocking
from traffic import collectives, flowfile, patterns, poisson
from traffic.flows import FIRST_PORT, LASTING, NOTHING, Flow, Flows, Matrix, PortCycle, draw_source_ports, join_flows
from traffic.graph import MAX_FILE_BYTES, FlowGraph
from traffic.poisson import Arrivals
from traffic.traces import find_traces
from traffic.user_files import read_bytes, read_text, suggest_nearest

SPELLINGS: dict[str, str] = {
    **patterns.SPELLINGS,
    **collectives.SPELLINGS,
    poisson.SPELLING: "Poisson arrivals; SIZES: web-search, data-mining, facebook-hadoop, alibaba-storage, "
    "google-rpc, exponential:BYTES, fixed:BYTES, a file; followed by ' to PATTERN': to that pattern's receivers",
    flowfile.OWN_SPELLING: "a function of your own",
    "A + B": "several at once",
}
"""How each workload is spelled, and what it means."""

Part = Matrix | FlowGraph | Flows | Arrivals
"""What a term of a spec becomes: flows that last or take turns, a collective, the flows of a file that have starts or
sizes of their own, Poisson arrivals."""


@dataclass(frozen=True, eq=False)
class Workload:
    """The flows of one run of ``seconds``; made by `make_workload`.

    ``name``: as the user spelled it. ``size_scale``: what sizes of ``poisson`` were multiplied by. ``parts``: what the
    terms of the spec became, a collective (there is one at most) first. ``standing``: the flows that are there from
    the start, all of a collective and those that last or take turns; ``listed``: those of files with starts or sizes.
    """

    name: str
    num_hosts: int
    seed: int
    seconds: float
    size_scale: float
    parts: tuple[Part, ...]
    standing: Flows
    listed: Flows

    @property
    def matrix(self) -> Matrix | None:
        """Who sends to whom, when that says it all, as all flows last, or take turns; else None."""
        return self.parts[0] if len(self.parts) == 1 and isinstance(self.parts[0], Matrix) else None

    @property
    def graph(self) -> FlowGraph | None:
        """Flows of which each may wait for many: the first of `standing`, in its order."""
        return self.parts[0] if isinstance(self.parts[0], FlowGraph) else None

    @property
    def expected_flows(self) -> float:
        """How many flows there are, those of Poisson arrivals on average."""
        return sum(part.expected(self.seconds) if isinstance(part, Arrivals) else len(part) for part in self.parts)

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
        sources = [part.blocks(self.seconds) for part in self.parts if isinstance(part, Arrivals)]
        if len(self.listed):
            sources.append(iter([self.listed]))
        ports_are_kept = bool(len(self.standing) or self.listed.src_port.any())
        cycle = PortCycle(self.num_hosts, self.seed, beside_others=ports_are_kept)
        for block in _merge_in_order(sources):
            yield replace(block, src_port=cycle.ports(block.src, block.src_port), first=number)
            number += len(block)


def make_workload(
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
    ``compute_s`` and ``repeats`` are those of `traffic.collectives.make_collective`, and mean its collective, whose
    flows are split into ``subflows`` each.
    Raises ValueError, one sentence, for whatever makes no sense, be it the spec, a file or an option.
    """
    network = NonBlocking(topology) if isinstance(topology, int) else topology
    scale = compute_size_scale(link_mbps, scale_sizes)
    as_drawn = flows_per_host == 1 and keep == 1
    parts: list[Part] = []
    for text in _split_terms(spec):
        name, colon, argument = text.partition(":")
        if colon and name in collectives.NAMES:
            if not as_drawn or any(isinstance(part, FlowGraph) for part in parts):
                raise ValueError(
                    f"traffic {text!r}: there is one collective at a time, with 1 flow per host and keep 1"
                )
            collective = collectives.make_collective(
                text, network, seed, placement=placement, compute_s=compute_s, repeats=repeats
            )
            parts.insert(0, collective.split(subflows))
        elif name == "poisson":
            number = sum(isinstance(part, Arrivals) for part in parts)
            parts.append(_make_arrivals(text, argument, network, seed, number, link_mbps, scale))
        elif name in patterns.NAMES and name != "file":
            parts.append(patterns.draw(text, network, seed, flows_per_host, keep))
        elif name == "file" or flowfile.find_own_file(text):
            parts.append(_load_file(text, network, seed, seconds, flows_per_host, keep))
        else:
            spelled = {spelling.partition(":")[0]: spelling for spelling in SPELLINGS}
            meant = suggest_nearest(name, spelled) if name not in spelled else ""
            raise ValueError(f"there is no traffic pattern {text!r}{meant}; traffic is spelled {'  '.join(SPELLINGS)}")
    return Workload(spec, network.num_hosts, seed, seconds, scale, tuple(parts), *_with_ports(parts, seed))


def read_files(spec: str, network: Network, seed: int) -> dict[str, str]:
    """What a job takes along for `traffic.user_files.job_files`: the files that a spec names, and the rows of own
    patterns.

    ValueError, one sentence, where one cannot be read.
    """
    files: dict[str, str] = {}
    for text in _split_terms(spec):
        name, _, argument = text.partition(":")
        if name in patterns.NAMES and name != "file":
            continue  # our own patterns read no file of the user's
        if flowfile.find_own_file(text):
            files[text] = flowfile.call_own_function(text, network, seed)
        elif name == "chakra":
            files |= {str(path): read_bytes(path, MAX_FILE_BYTES).decode("latin-1") for path in find_traces(argument)}
        elif name in ("file", "goal", "htsim"):
            files[str(Path(argument))] = read_text(Path(argument), MAX_FILE_BYTES)
        elif name == "poisson":
            files |= {str(path): read_text(path, MAX_FILE_BYTES) for path in poisson.find_files(argument)}
    return files


def _split_terms(spec: str) -> list[str]:
    return [text.strip() for text in re.split(r"\s\+\s", spec)]


def compute_size_scale(link_mbps: float, scale_sizes: bool = True) -> float:
    """What sizes of ``poisson`` are multiplied by on links of ``link_mbps``."""
    return link_mbps / poisson.REFERENCE_MBPS if scale_sizes else 1.0


def _make_arrivals(
    text: str, argument: str, network: Network, seed: int, part: int, link_mbps: float, scale: float
) -> Arrivals:
    try:
        sizes, load, pattern = poisson.parse_poisson(argument)
    except ValueError as error:
        raise ValueError(f"traffic {text!r}: {error}") from None
    matrix = patterns.draw(pattern, network, seed) if pattern else None
    if matrix is not None and matrix.sequential:
        raise ValueError(f"traffic {text!r}: {pattern} takes turns, and arrivals wait for nobody")
    # The load counts payload: headers come on top, so at a load of 1 a link would be overfull.
    flows_per_s = load * link_mbps * 1e6 / 8 / (sizes.mean_bytes * scale)
    return Arrivals(network.num_hosts, matrix, sizes, scale, flows_per_s, seed, part)


def _load_file(
    text: str, network: Network, seed: int, seconds: float, flows_per_host: int, keep: float
) -> Matrix | Flows:
    """The flows of a file or of the user's function; a matrix when none of them has a start or a size."""
    own = flowfile.find_own_file(text) is not None
    flows = (
        flowfile.load_own_flows(text, network, seed) if own else flowfile.read_listed(text.partition(":")[2], network)
    )
    lasting = not flows.start_s.any() and (flows.size_bytes == LASTING).all()
    if (own or not lasting) and (flows_per_host, keep) != (1, 1):
        raise ValueError(
            f"traffic {text!r}: it decides itself how many flows there are, so 1 flow per host and keep 1 "
            "are the only choice"
        )
    if not lasting:
        # Stable: flows that start at one moment stay in the file's order, on every machine.
        return flows.take(np.argsort(flows.start_s, kind="stable")[: int((flows.start_s < seconds).sum())])
    if own:
        return Matrix(flows.src, flows.dst, network.num_hosts, text)
    return patterns.draw(text, network, seed, flows_per_host, keep)


def _with_ports(parts: list[Part], seed: int) -> tuple[Flows, Flows]:
    """The standing flows and the listed ones; those that last, take turns or wait have got their source ports.

    All flows of a collective from one host to another are one connection, with one port, as libraries of collectives
    have it. Raises ValueError where a host has not got so many ports.
    """
    standing, flows_before = [NOTHING], 0
    for part in parts:
        if isinstance(part, Matrix | FlowGraph):
            standing.append(part.flows().numbered_from(flows_before))
            flows_before += len(part)
    early = join_flows(standing)
    timed = join_flows([NOTHING, *_merge_in_order([iter([part]) for part in parts if isinstance(part, Flows)])])
    lasting = np.flatnonzero(timed.size_bytes == LASTING)
    senders = np.concatenate([early.src, timed.src[lasting]])
    connection = np.arange(senders.size)
    if isinstance(parts[0], FlowGraph):
        nodes = len(parts[0])
        of_graph, number = parts[0].connections()
        senders = np.concatenate([of_graph, senders[nodes:]])
        connection = np.concatenate([number, connection[nodes:] - nodes + of_graph.size])
    if senders.size:
        alone = len(parts) == 1 and isinstance(parts[0], Matrix)
        ports = draw_source_ports(senders, seed, beside_others=not alone)
        # Computing has no connection, but a port of 0 would ask for one.
        port = np.where(connection >= 0, ports[connection], FIRST_PORT)
        early.src_port[:], timed.src_port[lasting] = port[: len(early)], port[len(early) :]
    return early, timed


def _merge_in_order(sources: list[Iterator[Flows]]) -> Iterator[Flows]:
    """Several streams of flows as one, each of which is in the order of starts, without reading far ahead."""
    pending: list[tuple[Flows, Iterator[Flows]]] = []
    for source in sources:
        pending += [(block, source) for block in [next(source, None)] if block is not None]
    while pending:
        # No stream can still bring a flow that starts before the earliest last start of what is read of each.
        horizon = min(block.start_s[-1] for block, _ in pending)
        ready: list[Flows] = []
        still_pending: list[tuple[Flows, Iterator[Flows]]] = []
        for block, source in pending:
            count = int(np.searchsorted(block.start_s, horizon, side="right"))
            ready.append(block.take(slice(count)))
            rest = block.take(slice(count, None)) if count < len(block) else next(source, None)
            if rest is not None:
                still_pending.append((rest, source))
        pending = still_pending
        together = ready[0] if len(ready) == 1 else join_flows(ready)
        yield together.take(np.argsort(together.start_s, kind="stable"))
