"""Global First Fit (Hedera section 4.3, Figure 5).

Each period, flows that are already assigned reserve first, in the order of the table, and keep their paths.
Then every other flow, in the same order, gets the first path whose links all have room for its demand, paths
being searched in ascending order of `FatTree.path_cores`. A flow that fits nowhere keeps its hashed path,
reserves nothing, and is tried again in the next period.

An assigned flow keeps its path even if its demand changes (Figure 5, line 1), but its reservation follows the demand:
it shrinks at once, and grows as far as its links have room. The paper leaves this open. If the first value were kept,
then after other flows come or go it would block room that is unused, or promise room that is taken. So reservations
are made afresh from the assignments in each period, and none can outlive its flow. A flow loses its assignment when
it expires, is no longer large, or its path fails.

Links between hosts and edge switches are not checked: demands are feasible at every NIC.

With random numbers, new flows go in a random order instead, and each begins its search at a random path, wrapping
around: section 4.3 does not say where a search begins (`hedera explain-gff`).
"""

from __future__ import annotations

import numpy as np

from hedera.compiled import compiled
from hedera.linkstate import LinkState
from hedera.paths import NO_LINK, choice_links
from hedera.placement import UNIT, LargeFlows, in_units
from topos.arrays import Float64, Int32, Int64
from topos.fattree import FatTree
from topos.links import Cores, canonical_cores, num_links

UNASSIGNED = -1
_FAILED = -1  # the room of a failed link: not even a flow of demand 0 fits


class GlobalFirstFit:
    """The placement, with the assignments it keeps between periods. ``rng``: for a random order, see above."""

    def __init__(self, tree: FatTree, rng: np.random.Generator | None = None) -> None:
        self.tree = tree
        self._rng = rng
        self.assigned: Int64 = np.empty(0, dtype=np.int64)
        """The keys of the flows that hold a path, ascending."""
        self.reserved: Float64 = np.zeros(num_links(tree))
        """float64 (links,): the capacity reserved on each directed link, as a fraction of the link's."""
        self._cores: Cores = np.empty(0, dtype=np.int32)

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        """The core for each flow, int32 (flows,): see `hedera.placement.Placement`."""
        capacity = np.where(links.up, UNIT, _FAILED)
        room = capacity.copy()
        core = self._recall(flows.key)
        order, begin = np.arange(core.size), np.zeros(core.size, dtype=np.int32)
        if self._rng is not None:
            order = self._rng.permutation(core.size)
            begin = self._rng.integers(self.tree.num_cores, size=core.size, dtype=np.int32)
        _first_fit(flows.src, flows.dst, in_units(flows.demand), core, order, begin, room, self.tree.half)
        self.reserved = (capacity - room) / UNIT
        holding = np.flatnonzero(core != UNASSIGNED)
        holding = holding[np.argsort(flows.key[holding])]
        self.assigned, self._cores = flows.key[holding], core[holding]
        return canonical_cores(self.tree, flows.src, flows.dst, np.where(core == UNASSIGNED, flows.hashed, core))

    def _recall(self, key: Int64) -> Cores:
        if not self.assigned.size:
            return np.full(key.size, UNASSIGNED, dtype=np.int32)
        at = np.minimum(np.searchsorted(self.assigned, key), self.assigned.size - 1)
        return np.where(self.assigned[at] == key, self._cores[at], UNASSIGNED).astype(np.int32)


@compiled
def _first_fit(
    src: Int32, dst: Int32, demand: Int64, core: Int32, order: Int64, begin: Int32, room: Int64, half: int
) -> None:
    """Fill ``core`` in place: kept where assigned and working, else the first fit, else UNASSIGNED.

    ``order`` (flows,) is the order of flows without an assignment, ``begin`` (flows,) the core where each begins its
    search. ``room`` (links,) is the room on each link; assigned demands are subtracted from it.
    """
    for flow in range(src.size):
        if core[flow] != UNASSIGNED:
            links = choice_links(src[flow], dst[flow], core[flow], half)
            least = demand[flow]
            for link in links:
                if link != NO_LINK:
                    least = min(least, room[link])
            if least == _FAILED:
                core[flow] = UNASSIGNED
            else:
                take(room, links, least)
                demand[flow] = _SETTLED
    for flow in order:
        if demand[flow] != _SETTLED:
            core[flow] = first_path(src[flow], dst[flow], demand[flow], begin[flow], room, half)


_SETTLED = -1  # stands in for the demand of a flow whose reservation has been made


@compiled
def first_path(src: int, dst: int, demand: int, begin: int, room: Int64, half: int) -> int:
    """The first core by which ``demand`` fits, taken from ``room`` (links,); UNASSIGNED when there is none.

    The search begins at core ``begin``, and goes through the cores above one aggregation switch after the other.
    """
    # The links by way of core 0. Edge links of higher aggregation indices and core links of higher cores follow them.
    edge_up, core_up, core_down, edge_down = choice_links(src, dst, 0, half)
    if edge_up == NO_LINK:
        return 0
    up_begin = begin // half
    core_begin = begin - up_begin * half
    for i in range(half):
        up = up_begin + i if up_begin + i < half else up_begin + i - half
        # An edge link without room rules out all cores above that aggregation switch.
        if room[edge_up + up] >= demand and room[edge_down + up] >= demand:
            if core_up == NO_LINK:
                take(room, (edge_up + up, NO_LINK, NO_LINK, edge_down + up), demand)
                return up * half
            for j in range(half):
                core = up * half + core_begin + j
                if core_begin + j >= half:
                    core -= half
                if room[core_up + core] >= demand and room[core_down + core] >= demand:
                    take(room, (edge_up + up, core_up + core, core_down + core, edge_down + up), demand)
                    return core
    return UNASSIGNED


@compiled
def take(room: Int64, links: tuple[int, int, int, int], amount: int) -> None:
    """Take ``amount`` from the ``room`` of each of the links of a path."""
    for link in links:
        if link != NO_LINK:
            room[link] -= amount
