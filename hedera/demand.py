"""Demand estimation (Hedera section 4.2, Figure 7): what each flow would get in a network without a core."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedera.compiled import compiled


def estimate_demands(src: ArrayLike, dst: ArrayLike, num_hosts: int) -> NDArray[np.float64]:
    """Each flow's natural demand as a fraction of the NIC rate: float64 (flows,).

    ``src`` and ``dst`` are int arrays of shape (flows,): host numbers below ``num_hosts``. Several flows may
    join one pair, and hosts may have none. Raises ValueError for other shapes, IndexError for other hosts.
    """
    s = np.ascontiguousarray(src, dtype=np.int32)
    d = np.ascontiguousarray(dst, dtype=np.int32)
    if s.ndim != 1 or s.shape != d.shape:
        raise ValueError(
            f"sources and destinations must be two lists of one length, not {s.shape} and {d.shape}"
        )
    if s.size == 0:
        return np.empty(0)
    if min(s.min(), d.min()) < 0 or max(s.max(), d.max()) >= num_hosts:
        raise IndexError(f"a flow names a host that is not one of the {num_hosts} hosts")
    return _estimate(s, d, num_hosts)


@compiled
def _estimate(src: NDArray[np.int32], dst: NDArray[np.int32], num_hosts: int) -> NDArray[np.float64]:
    """Figure 7 as it stands: flows per source and per destination, demands and converged flags per flow."""
    flows = src.size
    by_src = np.argsort(src, kind="mergesort")
    by_dst = np.argsort(dst, kind="mergesort")
    demand = np.zeros(flows)
    converged = np.zeros(flows, dtype=np.bool_)
    limited = np.zeros(flows, dtype=np.bool_)
    changed = True
    while changed:
        changed = False
        i = 0
        while i < flows:
            host = src[by_src[i]]
            j = i
            fixed = 0.0
            free = 0
            while j < flows and src[by_src[j]] == host:
                f = by_src[j]
                if converged[f]:
                    fixed += demand[f]
                else:
                    free += 1
                j += 1
            if free:
                share = (1.0 - fixed) / free
                for f in by_src[i:j]:
                    if not converged[f] and abs(demand[f] - share) > 1e-12:
                        demand[f] = share
                        changed = True
            i = j
        i = 0
        while i < flows:
            host = dst[by_dst[i]]
            j = i
            total = 0.0
            while j < flows and dst[by_dst[j]] == host:
                limited[by_dst[j]] = True
                total += demand[by_dst[j]]
                j += 1
            if total > 1.0:
                share = 1.0 / (j - i)
                sender = 0.0
                receivers = j - i
                again = True
                while again:
                    again = False
                    receivers = 0
                    for f in by_dst[i:j]:
                        if limited[f]:
                            if demand[f] < share:
                                sender += demand[f]
                                limited[f] = False
                                again = True
                            else:
                                receivers += 1
                    if receivers:
                        share = (1.0 - sender) / receivers
                for f in by_dst[i:j]:
                    if limited[f]:
                        if abs(demand[f] - share) > 1e-12:
                            changed = True
                        demand[f] = share
                        converged[f] = True
            i = j
    return demand
