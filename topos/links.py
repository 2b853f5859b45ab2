"""Directed links as numbers: what schedulers, the simulator and the max-min solver index their arrays with.

The 6 H directed links of a fat-tree of H = k^3/4 hosts fall into six blocks of H, in the order in which a
packet meets them. Within its block a link's offset is

    0  host up          host number
    1  edge up          edge * k/2 + aggregation index      (edge = pod * k/2 + edge within the pod)
    2  aggregation up   pod * (k/2)^2 + core
    3  core down        pod * (k/2)^2 + core                (pod of the destination)
    4  aggregation down edge * k/2 + aggregation index      (edge of the destination)
    5  host down        host number

so a link id is block * H + offset, and a path is at most one link of each block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topos.fattree import FatTree
from topos.nonblocking import NonBlocking

NO_LINK = -1
"""Stands in a path for a tier the path does not reach."""


def num_links(topo: FatTree | NonBlocking) -> int:
    """The number of directed links."""
    return 6 * topo.num_hosts if isinstance(topo, FatTree) else 2 * topo.num_hosts


def path_links(
    topo: FatTree | NonBlocking, src: ArrayLike, dst: ArrayLike, core: ArrayLike
) -> NDArray[np.int32]:
    """The directed links of each flow's path, int32 of shape (flows, 6) ((flows, 2) on a NonBlocking).

    ``src``, ``dst`` and ``core`` are integer arrays of shape (flows,). Tiers that a path does not reach
    hold NO_LINK. Nothing is checked: hosts and cores must exist and differ.
    """
    s = np.asarray(src, dtype=np.int64)
    d = np.asarray(dst, dtype=np.int64)
    hosts = topo.num_hosts
    if isinstance(topo, NonBlocking):
        return np.stack([s, hosts + d], axis=1).astype(np.int32)
    c = np.broadcast_to(np.asarray(core, dtype=np.int64), s.shape)
    half, cores = topo.half, topo.num_cores
    up = c // half
    leaves_edge = s // half != d // half
    leaves_pod = s // cores != d // cores
    links = np.empty((s.size, 6), dtype=np.int32)
    links[:, 0] = s
    links[:, 1] = np.where(leaves_edge, hosts + s // half * half + up, NO_LINK)
    links[:, 2] = np.where(leaves_pod, 2 * hosts + s // cores * cores + c, NO_LINK)
    links[:, 3] = np.where(leaves_pod, 3 * hosts + d // cores * cores + c, NO_LINK)
    links[:, 4] = np.where(leaves_edge, 4 * hosts + d // half * half + up, NO_LINK)
    links[:, 5] = 5 * hosts + d
    return links


def link_ends(topo: FatTree | NonBlocking, link: int) -> tuple[str, str]:
    """The names of the nodes a directed link leaves and enters; IndexError when there is no such link."""
    if not 0 <= link < num_links(topo):
        raise IndexError(f"there is no directed link {link}")
    block, offset = divmod(link, topo.num_hosts)
    if isinstance(topo, NonBlocking):
        ends = (topo.host_name(offset), topo.SWITCH)
        return ends if block == 0 else ends[::-1]
    half, cores = topo.half, topo.num_cores
    if block in (0, 5):
        ends = (topo.host_name(offset), topo.edge_of(offset))
    elif block in (1, 4):
        edge, up = divmod(offset, half)
        pod, e = divmod(edge, half)
        ends = (topo.edge_name(pod, e), topo.aggregation_name(pod, up))
    else:
        pod, core = divmod(offset, cores)
        ends = (topo.aggregation_name(pod, core // half), topo.core_name(core))
    return ends if block < 3 else ends[::-1]


def links_between(topo: FatTree | NonBlocking, a: str, b: str) -> tuple[int, int]:
    """The directed link ids from a to b and from b to a; KeyError when no cable joins the two."""
    for lower, upper in ((a, b), (b, a)):
        up = _link_up(topo, lower, upper)
        if up is not None:
            block, offset = divmod(up, topo.num_hosts)
            last = num_links(topo) // topo.num_hosts - 1
            down = (last - block) * topo.num_hosts + offset
            return (up, down) if lower == a else (down, up)
    raise KeyError((a, b))


def _link_up(topo: FatTree | NonBlocking, lower: str, upper: str) -> int | None:
    """The directed link from a node to the one above it; None when there is none."""
    if isinstance(topo, NonBlocking):
        return topo.hosts.index(lower) if upper == topo.SWITCH and lower in topo.hosts else None
    below, above = _place(topo, lower), _place(topo, upper)
    if below is None or above is None:
        return None
    (layer, pod, index, position), (upper_layer, upper_pod, upper_index, core) = below, above
    half, hosts = topo.half, topo.num_hosts
    edge = pod * half + index
    if (layer, upper_layer) == ("host", "edge") and (pod, index) == (upper_pod, upper_index):
        return edge * half + position
    if (layer, upper_layer) == ("edge", "aggregation") and pod == upper_pod:
        return hosts + edge * half + upper_index
    if (layer, upper_layer) == ("aggregation", "core") and index == upper_index:
        return 2 * hosts + pod * topo.num_cores + index * half + core
    return None


def _place(tree: FatTree, name: str) -> tuple[str, int, int, int] | None:
    """Layer, pod, index within the pod and layer, and last number (of a host below its switch, of a core among
    those above one aggregation index), each from 0; None when there is no such node."""
    words = name.split("_")
    if len(words) != 3 or not all(word.isascii() and word.isdecimal() and len(word) < 4 for word in words):
        return None
    pod, index, last = map(int, words)
    half = tree.half
    if f"{pod}_{index}_{last}" != name:
        return None
    if pod == tree.k:
        return ("core", pod, index - 1, last - 1) if 1 <= index <= half and 1 <= last <= half else None
    if pod > tree.k or last < 1:
        return None
    if last == 1 and index < tree.k:
        return ("edge", pod, index, 0) if index < half else ("aggregation", pod, index - half, 0)
    return ("host", pod, index, last - 2) if index < half and last < half + 2 and last > 1 else None


def has_node(tree: FatTree, name: str) -> bool:
    """Whether a host or switch has this name."""
    return _place(tree, name) is not None


def links_of_switch(topo: FatTree | NonBlocking, name: str) -> list[int]:
    """Every directed link that enters or leaves a switch, in order; KeyError when there is no such switch."""
    if isinstance(topo, NonBlocking):
        if name not in topo.switches:
            raise KeyError(name)
        return list(range(num_links(topo)))
    place = _place(topo, name)
    if place is None or place[0] == "host":
        raise KeyError(name)
    layer, pod, index, _ = place
    half = range(topo.half)
    if layer == "edge":
        cables = [(topo.host_name(topo.host_index(pod, index, h)), name) for h in half]
        cables += [(name, topo.aggregation_name(pod, a)) for a in half]
    elif layer == "aggregation":
        cables = [(topo.edge_name(pod, e), name) for e in half]
        cables += [(name, topo.core_name(index * topo.half + j)) for j in half]
    else:
        cables = [(topo.aggregation_name(p, index), name) for p in range(topo.k)]
    return sorted(link for cable in cables for link in links_between(topo, *cable))
