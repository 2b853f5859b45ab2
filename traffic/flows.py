"""Who sends to whom: a traffic matrix; flows as columns or as plain numbers, what a workload hands out; and TCP source
ports drawn from the seed, so that hash-based routing chooses the same paths every time.

iperf clients are bound to these ports. Were they left to the kernel, every repetition of a run would see other ECMP
paths; were they consecutive, a weak hash would look better or worse than it is.

A seed stands for streams of random numbers: each kind of draw has its own, so none disturbs another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topos.arrays import Bool, Float64, Int32, Int64

MAX_FLOW_BYTES = 10**15
"""No flow is larger, wherever its size comes from."""
LASTING = np.inf
"""The size of a flow that sends until the run ends."""
WAITS = np.inf
"""The start of a flow that begins when another has ended."""
NOBODY = -1
"""Stands in ``after`` for a flow that waits for no other."""


class Stream(IntEnum):
    """What is drawn. The numbers are part of what a seed means: with others, every seed would give other flows."""

    PATTERN = 1
    SOURCE_PORTS = 2
    SIMULATED_ARRIVALS = 3
    PLACEMENT = 4
    POISSON = 5
    PORT_CYCLE = 6
    OWN_PATTERN = 7
    RANKS = 8
    STARTS = 9


def make_generator(seed: int, stream: Stream, *part: int) -> np.random.Generator:
    """The numbers of one stream of a seed, or of one ``part`` of it, from the first."""
    return np.random.default_rng((seed, int(stream), *part))


@dataclass(frozen=True, eq=False)
class Matrix:
    """A traffic matrix: one entry for each flow, among hosts numbered from 0 to ``num_hosts`` - 1.

    ``src``, ``dst``: int32 of shape (flows,); two flows may join the same pair of hosts.
    ``name``: the pattern as the user spelled it.
    ``size_bytes``: int64 of shape (flows,), what each flow transfers; None when every flow lasts for the
    whole run. ``turn``: int32 of shape (flows,), given exactly when ``size_bytes`` is: a host's flow of turn
    t starts when its flow of turn t - 1 has ended, so a host's transfers follow each other (the shuffle of
    section 6.3).
    """

    src: Int32
    dst: Int32
    num_hosts: int
    name: str = ""
    size_bytes: Int64 | None = None
    turn: Int32 | None = None

    def __len__(self) -> int:
        return int(self.src.size)

    @property
    def sequential(self) -> bool:
        """Whether flows have sizes and take turns, instead of lasting for the whole run."""
        return self.size_bytes is not None

    def flows(self) -> Flows:
        """All start at time 0, but those of a later turn, which wait for the one before."""
        size = np.full(len(self), LASTING) if self.size_bytes is None else self.size_bytes.astype(np.float64)
        flows = make_flows(self.src, self.dst, np.zeros(len(self)), size)
        if self.turn is not None:
            order = np.lexsort((self.turn, self.src))
            follows = np.diff(self.src[order]) == 0
            flows.after[order[1:][follows]] = order[:-1][follows]
            flows.start_s[order[1:][follows]] = WAITS
        return flows


class Flow(NamedTuple):
    """One flow. ``size_bytes``: payload, None where it sends until the run ends.

    ``number``: 0, 1, 2 and so on in the order in which a workload tells its flows. ``start_s``: seconds after the
    start of the run; None where the flow begins when the one numbered ``after``, of the same host, has ended.
    """

    number: int
    src: int
    dst: int
    src_port: int
    start_s: float | None
    size_bytes: int | None
    after: int | None


@dataclass(frozen=True, eq=False)
class Flows:
    """Flows as arrays of one shape (flows,).

    ``src``, ``dst``, ``src_port``: int32. ``start_s``: float64, seconds after the start of the run, or WAITS.
    ``size_bytes``: float64, whole bytes of payload, or LASTING. ``after``: int64, the number of the flow whose end
    starts this one, or NOBODY. The first has the number ``first``, the others follow.
    """

    src: Int32
    dst: Int32
    src_port: Int32
    start_s: Float64
    size_bytes: Float64
    after: Int64
    first: int = 0

    def __len__(self) -> int:
        return int(self.src.size)

    def __iter__(self) -> Iterator[Flow]:
        columns = (self.src, self.dst, self.src_port, self.start_s, self.size_bytes, self.after)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for number, (src, dst, port, start, size, after) in enumerate(rows, start=self.first):
            yield Flow(
                number,
                src,
                dst,
                port,
                None if start == WAITS else start,
                None if size == LASTING else int(size),
                None if after == NOBODY else after,
            )

    def numbered_from(self, first: int) -> Flows:
        """The same flows behind ``first`` others: what they wait for is numbered anew."""
        return replace(self, after=np.where(self.after == NOBODY, NOBODY, self.after + first))

    def take(self, positions: NDArray[np.intp] | Bool | slice) -> Flows:
        """The flows at these positions. They are no longer numbered in turn, so ``first`` says nothing then."""
        return replace(self, **{name: getattr(self, name)[positions] for name in COLUMNS})


COLUMNS = tuple(field.name for field in fields(Flows) if field.name != "first")


def join_flows(parts: Sequence[Flows]) -> Flows:
    """Several flows' columns one after the other; ``after`` stays as it is."""
    together: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    return replace(parts[0], **together)


def make_flows(src: Int32, dst: Int32, start_s: Float64, size_bytes: Float64, src_port: Int32 | None = None) -> Flows:
    """Flows that wait for no other; a source port of 0 where none has been given yet."""
    ports = np.zeros(src.size, dtype=np.int32) if src_port is None else src_port
    return Flows(src, dst, ports, start_s, size_bytes, np.full(src.size, NOBODY, dtype=np.int64))


NOTHING = make_flows(*(np.zeros(0, dtype=np.int32),) * 2, *(np.zeros(0),) * 2)
"""No flow."""


FIRST_PORT = 20_000
LAST_PORT = 59_999
SERVER_PORT = 5001
"""Where iperf servers listen."""

# Where flows that last are joined by others, these have the ports from here.
_MIDDLE = (FIRST_PORT + LAST_PORT + 1) // 2


def draw_source_ports(senders: Int32, seed: int, *, beside_others: bool = False) -> Int32:
    """A source port for the flow of each of ``senders``, hosts as int32 (flows,); the same shape.

    Ports go from 20000 to 59999, no two alike on one host. ``beside_others``: leave the upper half to a `PortCycle`.
    Raises ValueError when a host sends more flows than half of the ports there are: 20,000, or 10,000.
    """
    end = _MIDDLE if beside_others else LAST_PORT + 1
    most = (end - FIRST_PORT) // 2  # redrawing clashes then ends quickly
    busiest = int(np.bincount(senders).max())
    if busiest > most:
        raise ValueError(f"a host sends {busiest} flows, but has source ports for {most} only")
    rng = make_generator(seed, Stream.SOURCE_PORTS)
    ports = rng.integers(FIRST_PORT, end, senders.size, dtype=np.int64)
    src = senders.astype(np.int64)
    while True:
        # Two flows of a host with one source port would have one 5-tuple where they have one receiver, and switches
        # could not tell them apart. Only the later of two draws is drawn anew, so the others' ports do not depend on
        # it.
        key = src * 65_536 + ports
        _, first = np.unique(key, return_index=True)
        clash = np.ones(key.size, dtype=bool)
        clash[first] = False
        if not clash.any():
            return ports.astype(np.int32)
        ports[clash] = rng.integers(FIRST_PORT, end, int(clash.sum()))


class PortCycle:
    """Source ports for flows that come and go: every host goes through them in turn, in an order drawn from the seed.

    So a port comes back only when its host has used all others since: 40,000, or 20,000 where flows that keep theirs
    for long are there as well (``beside_others``).
    """

    def __init__(self, num_hosts: int, seed: int, *, beside_others: bool = False) -> None:
        rng = make_generator(seed, Stream.PORT_CYCLE)
        first = _MIDDLE if beside_others else FIRST_PORT
        self._ports: Int32 = rng.permutation(np.arange(first, LAST_PORT + 1, dtype=np.int32))
        self._next = rng.integers(0, self._ports.size, num_hosts)

    def ports(self, src: Int32, ports_given: Int32) -> Int32:
        """The next port of each flow's host, int32 (flows,); those that are ``ports_given`` (not 0) stay."""
        asking = np.flatnonzero(ports_given == 0)
        hosts = src[asking]
        # Stable: the flows of a host get their ports in the order in which they start, on every machine.
        order = np.argsort(hosts, kind="stable")
        _, first, count = np.unique(hosts[order], return_index=True, return_counts=True)
        turn = np.empty(hosts.size, dtype=np.int64)  # the how-manieth of its host each one is
        turn[order] = np.arange(hosts.size) - np.repeat(first, count)
        ports: Int32 = ports_given.copy()
        ports[asking] = self._ports[(self._next[hosts] + turn) % self._ports.size]
        np.add.at(self._next, hosts, 1)
        return ports
