"""TCP source ports drawn from the seed, so that hash-based routing chooses the same paths every time.

iperf clients are bound to these ports. Were they left to the kernel, every repetition of a run would see
other ECMP paths; were they consecutive, a weak hash would look better or worse than it is.
"""

from __future__ import annotations

import numpy as np

from topos.arrays import Int32
from traffic.flows import Matrix
from traffic.streams import Stream, generator

FIRST_PORT = 20_000
LAST_PORT = 59_999
SERVER_PORT = 5001
"""Where iperf servers listen."""

# Where flows that last are joined by others, these have the ports from here.
_MIDDLE = (FIRST_PORT + LAST_PORT + 1) // 2


def source_ports(matrix: Matrix, seed: int, *, beside_others: bool = False) -> Int32:
    """A source port for every flow, int32 of shape (flows,), from 20000 to 59999, no two alike on one host.

    ``beside_others``: leave the upper half to a `PortCycle`. Raises ValueError when a host sends more flows than half
    of the ports there are: 20,000, or 10,000.
    """
    end = _MIDDLE if beside_others else LAST_PORT + 1
    most = (end - FIRST_PORT) // 2  # redrawing clashes then ends quickly
    busiest = int(np.bincount(matrix.src).max())
    if busiest > most:
        raise ValueError(f"a host sends {busiest} flows, but has source ports for {most} only")
    rng = generator(seed, Stream.SOURCE_PORTS)
    ports = rng.integers(FIRST_PORT, end, len(matrix), dtype=np.int64)
    src = matrix.src.astype(np.int64)
    while True:
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
        rng = generator(seed, Stream.PORT_CYCLE)
        first = _MIDDLE if beside_others else FIRST_PORT
        self._ports: Int32 = rng.permutation(np.arange(first, LAST_PORT + 1, dtype=np.int32))
        self._next = rng.integers(0, self._ports.size, num_hosts)

    def ports(self, src: Int32, given: Int32) -> Int32:
        """The next port of each flow's host, int32 (flows,); those that are ``given`` (not 0) stay."""
        asking = np.flatnonzero(given == 0)
        hosts = src[asking]
        order = np.argsort(hosts, kind="stable")
        _, first, count = np.unique(hosts[order], return_index=True, return_counts=True)
        turn = np.empty(hosts.size, dtype=np.int64)  # the how-manieth of its host each one is
        turn[order] = np.arange(hosts.size) - np.repeat(first, count)
        ports: Int32 = given.copy()
        ports[asking] = self._ports[(self._next[hosts] + turn) % self._ports.size]
        np.add.at(self._next, hosts, 1)
        return ports
