"""Max-min fair rates of flows on given paths, by progressive filling (Bertsekas and Gallager, section 6.5.2).

All rates grow together until a link is full; its flows stop there, and the others continue. The next link to
fill is the one with the least room per flow still growing. This share can only grow as flows stop, so the heap
of links may hold outdated shares: a link that comes up too early is put back with its present share.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from heapq import heapify, heappop, heappush
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from topos.arrays import Float64, Int32
from topos.links import path_links
from topos.network import Network

PLAIN_CALLS, PLAIN_ENTRIES = 200, 2000
"""So many of a process's calls, of paths with so few entries (6 a flow), are not compiled: importing Numba takes
longer, and of a guest's processor time a second."""
MAX_CHOICES = 200_000
"""Flows times paths up to which `most_possible` is computed; more would take minutes."""


def max_min_rates(links: ArrayLike, capacity: ArrayLike) -> Float64:
    """The max-min fair rate of each flow, float64 (flows,), in the unit of ``capacity``.

    ``links`` is int (flows, L): the directed links of each flow's path, each at most once, with -1 where a
    path is shorter. ``capacity`` is float (links,), not negative. A flow without any link has rate infinity.
    Raises ValueError for other shapes or a negative capacity, IndexError for a link without a capacity.
    """
    paths = np.ascontiguousarray(links, dtype=np.int32)
    limits = np.ascontiguousarray(capacity, dtype=np.float64)
    if paths.ndim != 2 or limits.ndim != 1:
        raise ValueError(f"paths must be of shape (flows, L), not {paths.shape}")
    if limits.size and not limits.min() >= 0:
        raise ValueError("a link's capacity must be a number that is not negative")
    if paths.size and (paths.min() < -1 or paths.max() >= limits.size):
        raise IndexError(f"a path uses a link that is not one of the {limits.size} links")
    if "numba" in sys.modules or paths.size > PLAIN_ENTRIES or next(_calls) >= PLAIN_CALLS:
        return _compiled_fill()(paths, limits)
    return _fill(paths, limits)


_calls = count()


@cache
def _compiled_fill() -> Callable[[Int32, Float64], Float64]:
    from hedera.compiled import compiled

    return compiled(_fill)


def _fill(paths: Int32, capacity: Float64) -> Float64:
    flows = paths.shape[0]
    first = np.zeros(capacity.size + 1, dtype=np.int64)  # flows of link l are members[first[l] : first[l + 1]]
    for flow in range(flows):
        for link in paths[flow]:
            if link >= 0:
                first[link + 1] += 1
    for link in range(capacity.size):
        first[link + 1] += first[link]
    growing = np.diff(first)
    members = np.empty(first[-1], dtype=np.int32)
    end = first[:-1].copy()
    for flow in range(flows):
        for link in paths[flow]:
            if link >= 0:
                members[end[link]] = flow
                end[link] += 1

    rate = np.full(flows, np.inf)
    room = capacity.copy()
    heap = [(0.0, np.int64(0)) for _ in range(0)]
    for link in range(capacity.size):
        if growing[link]:
            heap.append((room[link] / growing[link], np.int64(link)))
    heapify(heap)
    while heap:
        share, link = heappop(heap)
        if not growing[link]:
            continue
        present = room[link] / growing[link]
        if present > share:
            heappush(heap, (present, link))
            continue
        for flow in members[first[link] : first[link + 1]]:
            if rate[flow] == np.inf:
                rate[flow] = share
                for other in paths[flow]:
                    if other >= 0:
                        room[other] = max(0.0, room[other] - share)
                        growing[other] -= 1
    return rate


def most_possible(network: Network, src: ArrayLike, dst: ArrayLike, capacity: Float64) -> float | None:
    """The largest sum of rates that the links can carry, in the unit of ``capacity`` (links,).

    An exact upper bound, by linear programming: every flow may be split over all its paths in any ratio, and
    fairness is not required. So no placement of whole flows with fair shares can exceed it, and most reach
    less. ``src`` and ``dst`` are host numbers, shape (flows,); a flow without a path has rate 0. None when
    there are more than `MAX_CHOICES` flows times paths.
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]
    from scipy.sparse import csr_array  # type: ignore[import-untyped]

    s, d = np.asarray(src), np.asarray(dst)
    cores = network.num_cores
    if s.size * cores > MAX_CHOICES:
        return None
    if not s.size:
        return 0.0
    links = path_links(network, np.repeat(s, cores), np.repeat(d, cores), np.tile(np.arange(cores), s.size))
    # Below one switch all cores name the same path; one column is enough.
    links = np.unique(links, axis=0)
    path, tier = np.nonzero(links >= 0)
    use = csr_array((np.ones(path.size), (links[path, tier], path)), shape=(capacity.size, links.shape[0]))
    found = linprog(-np.ones(links.shape[0]), A_ub=use, b_ub=capacity, method="highs")
    return float(-found.fun)
