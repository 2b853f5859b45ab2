"""Directed links by number, and their failures.

Numbers are the array indices of schedulers, the simulator and the max-min solver.

A directed link is one direction of a cable. The links of a fat-tree of H = k^3/4 hosts form six blocks of H, in
the order in which a packet meets them: three up, numbered as their cables are, and three down, with the blocks of
cables in reverse order. Within its block a link's offset is

    0  host up          host number
    1  edge up          edge * k/2 + aggregation index      (edge = pod * k/2 + edge within the pod)
    2  aggregation up   pod * (k/2)^2 + core
    3  core down        pod * (k/2)^2 + core                (pod of the destination)
    4  aggregation down edge * k/2 + aggregation index      (edge of the destination)
    5  host down        host number

so a link id is block * H + offset, and a path has at most one link of each block. Only `compute_tier_links` and `climb`
know this numbering; they are plain arithmetic, for numbers as well as arrays, and `hedera.compiled` has them
compiled. In a topology of one's own (`topos.network`) all cables come upwards first, and then all downwards.

Links and switches that fail during a run, in the notation of ``--fail`` (Hedera section 4.6).

``link:A-B@SECONDS`` cuts the cable between two switches, ``switch:NAME@SECONDS`` all cables of one switch. With
``:UNTIL`` appended they work again from then on. Seconds count from the start of the traffic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.network import Network, PlannedNetwork

NO_LINK = -1
"""The entry of a path for a tier that the path does not reach."""

Cores = Int32


def compute_tier_links(src: Any, dst: Any, core: Any, half: int) -> tuple[Any, Any, Any, Any, Any, Any]:
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
    if isinstance(network, PlannedNetwork):
        return np.tile(network.rates, 2)
    rates = np.full((6, network.num_hosts), network.uplink)
    rates[[0, 5]] = 1.0
    return rates.ravel()


def find_edge_numbers(topo: Network, hosts: NDArray[Any]) -> NDArray[Any]:
    """The place of each host's edge switch among the network's switches, which edge switches begin."""
    return hosts // topo.half if isinstance(topo, FatTree) else topo.edge[hosts]


def path_links(network: Network, src: ArrayLike, dst: ArrayLike, core: ArrayLike) -> Int32:
    """The directed links of each flow's path, int32 of shape (flows, 6); on a PlannedNetwork (flows,
    2 + BETWEEN), on a NonBlocking (flows, 2).

    ``src``, ``dst`` and ``core`` are integer arrays of shape (flows,). Tiers that a path does not reach
    hold NO_LINK. Nothing is checked: hosts and cores must exist, and the two hosts differ.
    """
    s, d = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
    if isinstance(network, PlannedNetwork):
        middle = network.middle[network.edge[s], network.edge[d], np.asarray(core)]
        return np.hstack([s[:, None], middle, network.num_cables + d[:, None]]).astype(np.int32)
    half = network.half
    climbed = climb(s, d, half)
    links = np.empty((s.size, 6), dtype=np.int32)
    for tier, column in enumerate(compute_tier_links(s, d, np.asarray(core, dtype=np.int64), half)):
        needed = min(tier, 5 - tier)  # how far up a path must go to have a link of this tier
        links[:, tier] = np.where(climbed >= needed, column, NO_LINK) if needed else column
    return links


def find_canonical_cores(tree: Network, src: ArrayLike, dst: ArrayLike, core: ArrayLike) -> Cores:
    """The core number that represents each flow's path, as in `FatTree.path_cores`: int32 (flows,).

    Inside a pod only the aggregation switch matters, and below one edge switch there is no choice, so several
    core numbers mean the same path there. Arguments have shape (flows,).
    """
    s, d, c = (np.asarray(x, dtype=np.int32) for x in (src, dst, core))
    if isinstance(tree, PlannedNetwork):
        return (c % tree.count[tree.edge[s], tree.edge[d]]).astype(np.int32)
    climbed = climb(s, d, tree.half)
    return np.where(climbed == 2, c, np.where(climbed == 1, c - c % tree.half, 0)).astype(np.int32)


def link_ends(network: Network, link: int) -> tuple[str, str]:
    """The names of the nodes a directed link leaves and enters; IndexError when there is no such link."""
    if not 0 <= link < num_links(network):
        raise IndexError(f"there is no directed link {link}")
    up = link < num_links(network) // 2
    cable = network.cable(link if up else _reverse_link(network, link))
    return (cable.lower, cable.upper) if up else (cable.upper, cable.lower)


def find_links_between(network: Network, a: str, b: str) -> tuple[int, int]:
    """The directed link ids from a to b and from b to a; KeyError when no cable joins the two."""
    for up in network.cables_at(a):
        cable, down = network.cable(up), _reverse_link(network, up)
        if (cable.lower, cable.upper) == (a, b):
            return up, down
        if (cable.lower, cable.upper) == (b, a):
            return down, up
    raise KeyError((a, b))


def list_sending_ports(network: Network) -> list[str]:
    """The sending port of each directed link, in the order of the links' numbers, by its name in results."""
    links = range(num_links(network))
    up, down = links[: len(links) // 2], links[len(links) // 2 :]
    return [network.cable(link).lower_end for link in up] + [
        network.cable(_reverse_link(network, link)).upper_end for link in down
    ]


def list_links_of_switch(network: Network, name: str) -> list[int]:
    """Every directed link that enters or leaves a switch, in order; KeyError when there is no such switch."""
    if network.layer(name) == "host":
        raise KeyError(name)
    up = network.cables_at(name)
    return sorted([*up, *(_reverse_link(network, link) for link in up)])


def _reverse_link(network: Network, link: int) -> int:
    if isinstance(network, PlannedNetwork):
        return (link + network.num_cables) % num_links(network)
    # The blocks of the way down are those of the way up in reverse order, with the same offsets: that is what makes the
    # other direction of a cable one subtraction.
    block, offset = divmod(link, network.num_hosts)
    return (5 - block) * network.num_hosts + offset


# --- failures ---

_FORM = re.compile(r"(?P<kind>link|switch):(?P<what>[^@:]+)@(?P<at>[^@:]+)(:(?P<until>[^@:]+))?", re.DOTALL | re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
FAULT_SPELLING = "a failure is link:A-B@SECONDS or switch:NAME@SECONDS, with :UNTIL appended if it is repaired"


@dataclass(frozen=True)
class Fault:
    """A cable (two ``ends``) or a switch (one) that is out of service from ``at`` until ``until``, seconds.

    ``until`` is infinity for what stays broken. Raises ValueError when it would end before it begins.
    """

    ends: tuple[str, ...]
    at: float
    until: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.at < self.until:
            raise ValueError(
                f"a failure must begin at 0 s or later, and end after it begins: {self.name} from {self.at:g} s "
                f"to {self.until:g} s does not"
            )

    @property
    def name(self) -> str:
        """``link:A-B`` or ``switch:NAME``."""
        return f"{'link' if len(self.ends) == 2 else 'switch'}:{'-'.join(self.ends)}"

    def links(self, tree: Network) -> frozenset[int]:
        """The directed links that it takes out of service, by the numbers of `topos.links`."""
        if len(self.ends) == 2:
            return frozenset(find_links_between(tree, *self.ends))
        return frozenset(list_links_of_switch(tree, self.ends[0]))


def parse(text: str, tree: Network, seconds: float) -> Fault:
    """One failure of a run of ``seconds`` on a fat-tree. Raises ValueError, one sentence, for any mistake: an unknown
    switch or cable, a cable to a host, a time outside the run."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{FAULT_SPELLING}, not {_shorten(text)}")
    ends = tuple(match["what"].split("-"))
    if len(ends) != (2 if match["kind"] == "link" else 1):
        raise ValueError(f"{FAULT_SPELLING}, not {_shorten(text)}")
    for name in ends:
        if name in tree and tree.layer(name) == "host":
            raise ValueError(f"{name} is a host; it has only one cable, which nothing can replace")
        if name not in tree:
            like = {tree.layer(switch): switch for switch in reversed(tree.switches)}
            examples = ", ".join(
                f"{like[layer]} ({layer})" for layer in ("edge", "aggregation", "core") if layer in like
            )
            raise ValueError(
                f"there is no switch {_shorten(name)} in this network; its switches are named like {examples}"
            )
    times = [word for word in (match["at"], match["until"]) if word is not None]
    if not all(map(_NUMBER.fullmatch, times)):
        raise ValueError(f"{FAULT_SPELLING}, and SECONDS a number, not {_shorten(text)}")
    if not all(0 <= float(time) < seconds for time in times):
        raise ValueError(f"{_shorten(text)} is outside the run, which lasts from 0 to {seconds:g} s")
    fault = Fault(ends, *map(float, times))
    try:
        fault.links(tree)
    except KeyError:
        raise ValueError(f"there is no cable between {ends[0]} and {ends[1]}") from None
    return fault


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def list_moments(faults: Iterable[Fault]) -> list[float]:
    """The times when something fails or works again, seconds, sorted and each once."""
    # A failure that is never repaired ends at infinity, which is no moment of a run.
    return sorted({t for fault in faults for t in (fault.at, fault.until) if t != math.inf})


def find_links_down(faults: Iterable[Fault], tree: Network, t: float) -> frozenset[int]:
    """The directed links out of service at a time. A failure counts at the time it begins, but not when it ends."""
    # At the moment of a repair the link works again: one failure may begin as another of the same link ends.
    return frozenset().union(*(fault.links(tree) for fault in faults if fault.at <= t < fault.until))


def list_cables(network: Network, links: Iterable[int]) -> list[tuple[str, str]]:
    """The cables of directed links, as (node, node), each once, sorted."""
    return sorted({tuple(sorted(link_ends(network, link))) for link in links})  # type: ignore[misc]
