"""Numbers of directed links: the array indices of schedulers, the simulator and the max-min solver.

A directed link is one direction of a cable. The links of a fat-tree of H = k^3/4 hosts form six blocks of H, in
the order in which a packet meets them: three up, numbered as their cables are, and three down, with the blocks of
cables in reverse order. Within its block a link's offset is

    0  host up          host number
    1  edge up          edge * k/2 + aggregation index      (edge = pod * k/2 + edge within the pod)
    2  aggregation up   pod * (k/2)^2 + core
    3  core down        pod * (k/2)^2 + core                (pod of the destination)
    4  aggregation down edge * k/2 + aggregation index      (edge of the destination)
    5  host down        host number

so a link id is block * H + offset, and a path has at most one link of each block. Only `tier_links` and `climb`
know this numbering; they are plain arithmetic, for numbers as well as arrays, and `hedera.compiled` has them
compiled. In a topology of one's own (`topos.network`) all cables come upwards first, and then all downwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.network import Network, Own

NO_LINK = -1
"""The entry of a path for a tier that the path does not reach."""

Cores = Int32


def tier_links(src: Any, dst: Any, core: Any, half: int) -> tuple[Any, Any, Any, Any, Any, Any]:
    """The links of a path in a fat-tree of k = 2 ``half`` that climbs all the way to its core, one per tier."""
    hosts, pod = 2 * half * half * half, half * half
    up = core // half
    return (
        src,
        hosts + src // half * half + up,
        2 * hosts + src // pod * pod + core,
        3 * hosts + dst // pod * pod + core,
        4 * hosts + dst // half * half + up,
        5 * hosts + dst,
    )


def climb(src: Any, dst: Any, half: int) -> Any:
    """How far up a path goes: 0 when both hosts share an edge switch, 1 when they share a pod, 2 to a core."""
    return 1 * (src // half != dst // half) + 1 * (src // (half * half) != dst // (half * half))


def num_links(network: Network) -> int:
    return 2 * network.num_cables


def link_rates(network: Network) -> Float64:
    """The rate of each directed link over that of the hosts' links: float64 (links,)."""
    if isinstance(network, Own):
        return np.tile(network.rates, 2)
    rates = np.full((6, network.num_hosts), network.uplink)
    rates[[0, 5]] = 1.0
    return rates.ravel()


def edge_numbers(topo: Network, hosts: NDArray[Any]) -> NDArray[Any]:
    """The place of each host's edge switch among the network's switches, which edge switches begin."""
    return hosts // topo.half if isinstance(topo, FatTree) else topo.edge[hosts]


def path_links(network: Network, src: ArrayLike, dst: ArrayLike, core: ArrayLike) -> Int32:
    """The directed links of each flow's path, int32 of shape (flows, 6) ((flows, 2) on a NonBlocking).

    ``src``, ``dst`` and ``core`` are integer arrays of shape (flows,). Tiers that a path does not reach
    hold NO_LINK. Nothing is checked: hosts and cores must exist, and the two hosts differ.
    """
    s, d = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
    if isinstance(network, Own):
        middle = network.middle[network.edge[s], network.edge[d], np.asarray(core)]
        return np.hstack([s[:, None], middle, network.num_cables + d[:, None]]).astype(np.int32)
    half = network.half
    climbed = climb(s, d, half)
    links = np.empty((s.size, 6), dtype=np.int32)
    for tier, column in enumerate(tier_links(s, d, np.asarray(core, dtype=np.int64), half)):
        needed = min(tier, 5 - tier)  # how far up a path must go to have a link of this tier
        links[:, tier] = np.where(climbed >= needed, column, NO_LINK) if needed else column
    return links


def canonical_cores(tree: Network, src: ArrayLike, dst: ArrayLike, core: ArrayLike) -> Cores:
    """The core number that represents each flow's path, as in `FatTree.path_cores`: int32 (flows,).

    Inside a pod only the aggregation switch matters, and below one edge switch there is no choice, so several
    core numbers mean the same path there. Arguments have shape (flows,).
    """
    s, d, c = (np.asarray(x, dtype=np.int32) for x in (src, dst, core))
    if isinstance(tree, Own):
        return (c % tree.count[tree.edge[s], tree.edge[d]]).astype(np.int32)
    climbed = climb(s, d, tree.half)
    return np.where(climbed == 2, c, np.where(climbed == 1, c - c % tree.half, 0)).astype(np.int32)


def link_ends(network: Network, link: int) -> tuple[str, str]:
    """The names of the nodes a directed link leaves and enters; IndexError when there is no such link."""
    if not 0 <= link < num_links(network):
        raise IndexError(f"there is no directed link {link}")
    up = link < num_links(network) // 2
    cable = network.cable(link if up else _opposite(network, link))
    return (cable.lower, cable.upper) if up else (cable.upper, cable.lower)


def links_between(network: Network, a: str, b: str) -> tuple[int, int]:
    """The directed link ids from a to b and from b to a; KeyError when no cable joins the two."""
    for up in network.cables_at(a):
        cable, down = network.cable(up), _opposite(network, up)
        if (cable.lower, cable.upper) == (a, b):
            return up, down
        if (cable.lower, cable.upper) == (b, a):
            return down, up
    raise KeyError((a, b))


def sending_ports(network: Network) -> list[str]:
    """The sending port of each directed link, in the order of the links' numbers, by its name in results."""
    links = range(num_links(network))
    up, down = links[: len(links) // 2], links[len(links) // 2 :]
    return [network.cable(link).lower_end for link in up] + [
        network.cable(_opposite(network, link)).upper_end for link in down
    ]


def links_of_switch(network: Network, name: str) -> list[int]:
    """Every directed link that enters or leaves a switch, in order; KeyError when there is no such switch."""
    if network.layer(name) == "host":
        raise KeyError(name)
    up = network.cables_at(name)
    return sorted([*up, *(_opposite(network, link) for link in up)])


def _opposite(network: Network, link: int) -> int:
    if isinstance(network, Own):
        return (link + network.num_cables) % num_links(network)
    block, offset = divmod(link, network.num_hosts)
    return (5 - block) * network.num_hosts + offset
