"""TCP source ports drawn from the seed, so that hash-based routing chooses the same paths every time.

iperf clients are bound to these ports. Were they left to the kernel, every repetition of a run would see
other ECMP paths; were they consecutive, a weak hash would look better or worse than it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from traffic.matrix import Matrix

FIRST_PORT = 20_000
LAST_PORT = 59_999
SERVER_PORT = 5001
"""Where iperf servers listen."""

_STREAM = 2  # keeps these draws apart from those of traffic.patterns for the same seed
_MOST = (LAST_PORT - FIRST_PORT + 1) // 2  # half of the range: redrawing clashes then ends quickly


def source_ports(matrix: Matrix, seed: int) -> NDArray[np.int32]:
    """A source port for every flow, int32 of shape (flows,), from 20000 to 59999, no two alike on one host.

    Raises ValueError when a host sends more than 20,000 flows.
    """
    busiest = int(np.bincount(matrix.src).max())
    if busiest > _MOST:
        raise ValueError(f"a host sends {busiest} flows, but has source ports for {_MOST} only")
    rng = np.random.default_rng((seed, _STREAM))
    ports = rng.integers(FIRST_PORT, LAST_PORT + 1, len(matrix), dtype=np.int64)
    src = matrix.src.astype(np.int64)
    while True:
        key = src * 65_536 + ports
        _, first = np.unique(key, return_index=True)
        clash = np.ones(key.size, dtype=bool)
        clash[first] = False
        if not clash.any():
            return ports.astype(np.int32)
        ports[clash] = rng.integers(FIRST_PORT, LAST_PORT + 1, int(clash.sum()))
