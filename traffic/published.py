"""The 20 published traffic matrices: the flows behind each bar of the paper's Figure 9 (k = 4, 16 hosts)."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np

from traffic.matrix import Matrix

NUM_HOSTS = 16
_FILE = Path(__file__).with_name("published.csv")


@cache
def _receivers() -> dict[str, tuple[tuple[int, ...], ...]]:
    """For each matrix, the receivers of host 0, of host 1, and so on."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(line for line in file if not line.startswith("#"))
        next(rows)
        return {name: tuple(tuple(int(host) for host in cell.split()) for cell in cells) for name, *cells in rows}


PUBLISHED: tuple[str, ...] = tuple(_receivers())
"""The names of the matrices, in the order of Figure 9."""


def published(name: str) -> Matrix:
    """One published matrix, its flows in the order of their senders.

    ``name`` is one of PUBLISHED, for example ``stag0(0.2,0.3)``. Raises ValueError, listing the names.
    """
    try:
        receivers = _receivers()[name]
    except KeyError:
        raise ValueError(
            f"there is no published traffic matrix {name!r}; the names are {' '.join(PUBLISHED)}"
        ) from None
    src = np.repeat(np.arange(NUM_HOSTS, dtype=np.int32), [len(hosts) for hosts in receivers])
    dst = np.array([host for hosts in receivers for host in hosts], dtype=np.int32)
    return Matrix(src, dst, NUM_HOSTS, f"published:{name}")
