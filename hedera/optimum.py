"""The most that flows could receive together, by any paths: an upper bound for every scheme."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from topos.arrays import Float64
from topos.links import path_links
from topos.network import Network

MAX_CHOICES = 200_000
"""Flows times paths up to which the bound is computed; more would take minutes."""


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
