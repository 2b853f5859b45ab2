"""ESTIMATE-DEMANDS as the paper prints it (Hedera section 4.2, Figure 7), for reading and for testing the fast
method.

Schedulers call `hedera.demand.estimate_demands`, which computes the same demands directly.
"""

from __future__ import annotations

from collections.abc import Sequence

TOLERANCE = 1e-12
"""Two demands closer than this, as fractions of a NIC's rate, are the same."""


def estimate_demands(src: Sequence[int], dst: Sequence[int], num_hosts: int) -> list[float]:
    """Each flow's natural demand as a fraction of the NIC rate, in the order of the flows.

    ``src`` and ``dst`` are host numbers below ``num_hosts``, one of each per flow. Every pass takes time in
    proportion to hosts times flows.
    """
    demand = [0.0] * len(src)
    converged = [False] * len(src)
    while True:
        before = list(demand)
        for host in range(num_hosts):
            _est_src([f for f in range(len(src)) if src[f] == host], demand, converged)
        for host in range(num_hosts):
            _est_dst([f for f in range(len(dst)) if dst[f] == host], demand, converged)
        if all(abs(a - b) < TOLERANCE for a, b in zip(before, demand, strict=True)):
            return demand


def _est_src(flows: list[int], demand: list[float], converged: list[bool]) -> None:
    """A sender shares what its converged flows leave equally among the others."""
    free = [f for f in flows if not converged[f]]
    used = sum(demand[f] for f in flows if converged[f])
    for f in free:
        demand[f] = (1.0 - used) / len(free)


def _est_dst(flows: list[int], demand: list[float], converged: list[bool]) -> None:
    """An oversubscribed receiver limits its largest flows to an equal share each; they have converged.

    Flows that want less than this share are not limited by this receiver, which leaves more to the others.
    """
    if sum(demand[f] for f in flows) <= 1.0 + TOLERANCE:
        return
    limited, share = flows, 1.0 / len(flows)
    while small := [f for f in limited if demand[f] < share - TOLERANCE]:
        limited = [f for f in limited if f not in small]
        share = (1.0 - sum(demand[f] for f in flows if f not in limited)) / len(limited)
    for f in limited:
        demand[f], converged[f] = share, True
