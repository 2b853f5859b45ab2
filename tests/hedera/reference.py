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
