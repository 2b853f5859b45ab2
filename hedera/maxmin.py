"""Max-min fair rates of flows on given paths, by progressive filling (Bertsekas and Gallager, section 6.5.2).

All rates grow together until a link is full; its flows stop there, and the others continue. The next link to
fill is the one with the least room per flow still growing. This share can only grow as flows stop, so the heap
of links may hold outdated shares: a link that comes up too early is put back with its present share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import ArrayLike

from hedera.linkstate import LinkState
from topos.arrays import Float64, Int32
from topos.links import NO_LINK, link_rates, path_links
from topos.network import Network

# Plain Python fills so few sooner than Numba is imported.
PLAIN_ENTRIES = 100_000
"""Up to so many entries of paths (6 a flow and call) are filled by plain Python."""
# More would take minutes.
MAX_CHOICES = 200_000
"""Flows times paths up to which `bound_total` is computed."""


def compute_max_min_rates(
    links: ArrayLike, capacity: ArrayLike, part: ArrayLike | None = None, *, calls: int | None = None
) -> Float64:
    """The max-min fair rate of each flow, float64 (flows,), in the unit of ``capacity``.

    ``links`` is int (flows, L): the directed links of each flow's path, with -1 where a path is shorter. ``capacity``
    is float (links,), not negative. ``part``, float (flows, L), is the share of a flow's rate that each entry of its
    row carries (all of it unless given). A flow without any link has rate infinity. ``calls``: how often it will be
    asked about flows like these; for few, the loop is not compiled, and Numba not imported.
    """
    paths = np.ascontiguousarray(links, dtype=np.int32)
    limits = np.ascontiguousarray(capacity, dtype=np.float64)
    parts = np.ones(paths.shape) if part is None else np.ascontiguousarray(part, dtype=np.float64)
    plain = calls is not None and paths.size * calls <= PLAIN_ENTRIES
    fill = _fill if plain else _load_compiled_fill()
    return fill(paths, limits, parts)


def find_sprayed_paths(links: LinkState, src: Int32, dst: Int32) -> tuple[Int32, Float64]:
    """The links of flows that go in equal parts by all their paths that work, and the part of a flow that each carries.

    int32 and float64 (flows, L): each link of a row once, with -1 where a row is shorter; a flow without a path has
    none. ``src`` and ``dst``: int32 (flows,).
    """
    tree = links.tree
    usable = links.usable_cores(src, dst) & links.connected(src, dst)[:, None]
    count, cores = usable.sum(axis=1), tree.num_cores
    paths = path_links(tree, np.repeat(src, cores), np.repeat(dst, cores), np.tile(np.arange(cores), src.size))
    paths = np.sort(np.where(usable.reshape(-1, 1), paths, NO_LINK).reshape(src.size, -1), axis=1)
    # Behind each other now, so that the entries of a link are counted from its first to that of the next one.
    flow, entry = np.nonzero(np.diff(paths, axis=1, prepend=NO_LINK) != 0)
    times = np.diff(flow * paths.shape[1] + entry, append=paths.size)
    last = np.flatnonzero(np.diff(flow, append=src.size))
    times[last] = paths.shape[1] - entry[last]
    column = np.arange(flow.size) - np.searchsorted(flow, flow)
    rows = np.full((src.size, int(column.max(initial=0)) + 1), NO_LINK, dtype=np.int32)
    part = np.zeros(rows.shape)
    rows[flow, column], part[flow, column] = paths[flow, entry], times / count[flow]
    return rows, part


def compute_sprayed_rates(
    links: LinkState, src: Int32, dst: Int32, link_mbps: float, *, calls: int | None = None
) -> Float64:
    """Max-min fair rates, Mb/s, of flows that go in equal parts by all their paths that work: float64 (flows,).

    A flow without a path has none. ``src`` and ``dst``: int32 (flows,). ``calls``: as for `compute_max_min_rates`.
    """
    paths, part = find_sprayed_paths(links, src, dst)
    rates = compute_max_min_rates(paths, link_mbps * link_rates(links.tree), part, calls=calls)
    return np.where((paths != NO_LINK).any(axis=1), rates, 0.0)


def compute_alone_rates(
    network: Network, src: ArrayLike, dst: ArrayLike, core: ArrayLike, link_mbps: float, *, sprayed: bool = False
) -> Float64:
    """What each flow would have alone on its path, or ``sprayed`` over all of them, Mb/s: float64 (flows,)."""
    if not sprayed:
        links = path_links(network, src, dst, core)
        rates: Float64 = np.where(links == NO_LINK, np.inf, link_mbps * link_rates(network)[links]).min(axis=1)
        return rates
    hosts, whole = network.num_hosts, LinkState(network)
    pairs, number = np.unique(np.asarray(src, dtype=np.int64) * hosts + np.asarray(dst), return_inverse=True)
    each = [
        compute_sprayed_rates(whole, *np.divmod([pair], hosts), link_mbps, calls=pairs.size)[0]
        for pair in pairs.tolist()
    ]
    return np.array(each, dtype=np.float64)[number]


@cache
def _load_compiled_fill() -> Callable[[Int32, Float64, Float64], Float64]:
    from hedera.compiled import compiled

    return compiled(_fill)


def _fill(paths: Int32, capacity: Float64, part: Float64) -> Float64:
    flows = paths.shape[0]
    first = np.zeros(capacity.size + 1, dtype=np.int64)  # flows of link l are members[first[l] : first[l + 1]]
    for flow in range(flows):
        for link in paths[flow]:
            if link >= 0:
                first[link + 1] += 1
    for link in range(capacity.size):
        first[link + 1] += first[link]
    unsettled = np.diff(first)
    growing = np.zeros(capacity.size)  # how much faster than one flow's rate a link's load grows
    members = np.empty(first[-1], dtype=np.int32)
    end = first[:-1].copy()
    for flow in range(flows):
        for tier in range(paths.shape[1]):
            link = paths[flow, tier]
            if link >= 0:
                members[end[link]] = flow
                end[link] += 1
                growing[link] += part[flow, tier]

    rate = np.full(flows, np.inf)
    room = capacity.copy()
    heap = [(0.0, np.int64(0)) for _ in range(0)]
    for link in range(capacity.size):
        if unsettled[link]:
            heap.append((room[link] / growing[link], np.int64(link)))
    heapify(heap)
    while heap:
        share, link = heappop(heap)
        if not unsettled[link]:
            continue
        present = room[link] / growing[link]
        if present > share:
            heappush(heap, (present, link))
            continue
        for flow in members[first[link] : first[link + 1]]:
            if rate[flow] == np.inf:
                rate[flow] = share
                for tier in range(paths.shape[1]):
                    other = paths[flow, tier]
                    if other >= 0:
                        room[other] = max(0.0, room[other] - share * part[flow, tier])
                        growing[other] -= part[flow, tier]
                        unsettled[other] -= 1
    return rate


def bound_total(network: Network, src: ArrayLike, dst: ArrayLike, capacity: Float64) -> float | None:
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
    optimum = linprog(-np.ones(links.shape[0]), A_ub=use, b_ub=capacity, method="highs")
    return float(-optimum.fun)
