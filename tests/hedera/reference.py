"""Plain, slow, exact counterparts of the compiled algorithms, written from their definitions."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction


def plain_max_min(paths: list[list[int]], capacity: list[Fraction]) -> list[Fraction]:
    """Progressive filling in fractions: raise all rates together, freeze the flows of each link that fills."""
    rate = [Fraction(0)] * len(paths)
    growing = {flow for flow, path in enumerate(paths) if path}
    while growing:
        users = defaultdict(list)
        for flow in growing:
            for link in paths[flow]:
                users[link].append(flow)
        room = {
            link: capacity[link] - sum((rate[f] for f, path in enumerate(paths) if link in path), Fraction(0))
            for link in users
        }
        step = min(room[link] / len(users[link]) for link in users)
        for flow in growing:
            rate[flow] += step
        growing -= {f for link in users if room[link] == step * len(users[link]) for f in users[link]}
    return rate


def nic_max_min(flows: list[tuple[int, int]], num_hosts: int) -> list[Fraction]:
    """Max-min fair rates on a non-blocking switch: the only links are the two directions of each NIC."""
    return plain_max_min([[s, num_hosts + d] for s, d in flows], [Fraction(1)] * (2 * num_hosts))


def figure_7(
    flows: list[tuple[int, int]], num_hosts: int, passes: int = 1000, inner_passes: int = 1000
) -> list[float]:
    """ESTIMATE-DEMANDS line by line. Fewer ``passes`` or ``inner_passes`` give the mistakes people made."""
    demand = [0.0] * len(flows)
    converged = [False] * len(flows)
    for _ in range(passes):
        before = list(demand)
        for host in range(num_hosts):  # EST-SRC
            mine = [f for f, (src, _) in enumerate(flows) if src == host]
            free = [f for f in mine if not converged[f]]
            fixed = sum(demand[f] for f in mine if converged[f])
            for f in free:
                demand[f] = (1.0 - fixed) / len(free)
        for host in range(num_hosts):  # EST-DST
            mine = [f for f, (_, dst) in enumerate(flows) if dst == host]
            if sum(demand[f] for f in mine) <= 1.0 + 1e-12:
                continue
            limited, share = set(mine), 1.0 / len(mine)
            for _ in range(inner_passes):
                slow = {f for f in limited if demand[f] < share - 1e-12}
                if not slow:
                    break
                limited -= slow
                share = (1.0 - sum(demand[f] for f in mine if f not in limited)) / len(limited)
            for f in limited:
                demand[f], converged[f] = share, True
        if max((abs(a - b) for a, b in zip(before, demand, strict=True)), default=0.0) < 1e-13:
            break
    return demand
