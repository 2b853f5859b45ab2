"""Global First Fit (Hedera section 4.3, Figure 5).

Each period, flows that are already assigned reserve first, in the order of the table, and keep their paths.
Then every other flow, in the same order, gets the first path whose links all have room for its demand, paths
being searched in ascending order of ``path_cores``. A flow that fits nowhere keeps its hashed path,
reserves nothing, and is tried again in the next period.

An assigned flow keeps its path even if its demand changes (Figure 5, line 1), but its reservation follows the demand:
it shrinks at once, and grows as far as its links have room. The paper leaves this open. If the first value were kept,
then after other flows come or go it would block room that is unused, or promise room that is taken. So reservations
are made afresh from the assignments in each period, and none can outlive its flow. A flow loses its assignment when
it expires, is no longer large, or its path fails.

Links between hosts and edge switches are not checked: demands are feasible at every NIC.
"""

from __future__ import annotations

import numpy as np

from hedera.compiled import NO_LINK, Between, Layout, compiled, find_choice_links
from hedera.linkstate import UNIT, LinkState
from hedera.placement import LargeFlows, in_units
from topos.arrays import Float64, Int32, Int64
from topos.links import Cores, find_canonical_cores, num_links
from topos.network import Network

UNASSIGNED = -1
_FAILED = -1  # the room of a failed link: not even a flow of demand 0 fits


class GlobalFirstFit:
    """The placement, with the assignments it keeps between periods."""

    def __init__(self, tree: Network) -> None:
        self.tree = tree
        self.assigned: Int64 = np.empty(0, dtype=np.int64)
        """The keys of the flows that hold a path, ascending."""
        self.reserved: Float64 = np.zeros(num_links(tree))
        """float64 (links,): the capacity reserved on each directed link, as a fraction of a host's link."""
        self._cores: Cores = np.empty(0, dtype=np.int32)

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        """The core for each flow, int32 (flows,): see `hedera.placement.Placement`."""
        capacity = np.where(links.up, links.capacity, _FAILED)
        room = capacity.copy()
        core = self._recall(flows.key)
        _place_first_fit(flows.src, flows.dst, in_units(flows.demand), core, room, self.tree.layout)
        self.reserved = (capacity - room) / UNIT
        holding = np.flatnonzero(core != UNASSIGNED)
        # By key, since `_recall` finds them by bisection.
        holding = holding[np.argsort(flows.key[holding])]
        self.assigned, self._cores = flows.key[holding], core[holding]
        return find_canonical_cores(self.tree, flows.src, flows.dst, np.where(core == UNASSIGNED, flows.hashed, core))

    def _recall(self, key: Int64) -> Cores:
        if not self.assigned.size:
            return np.full(key.size, UNASSIGNED, dtype=np.int32)
        at = np.minimum(np.searchsorted(self.assigned, key), self.assigned.size - 1)
        return np.where(self.assigned[at] == key, self._cores[at], UNASSIGNED).astype(np.int32)


@compiled
def _place_first_fit(src: Int32, dst: Int32, demand: Int64, core: Int32, room: Int64, layout: Layout) -> None:
    """Fill ``core`` in place: kept where assigned and working, else the first fit, else UNASSIGNED.

    ``room`` (links,) is the room on each link; assigned demands are subtracted from it.
    """
    # Flows that hold a reservation come before all new ones: it lasts until the flow expires (section 4.3).
    settled = core != UNASSIGNED
    for flow in range(src.size):
        if core[flow] != UNASSIGNED:
            links = find_choice_links(src[flow], dst[flow], core[flow], layout)
            reserved = demand[flow]
            for link in links:
                if link != NO_LINK:
                    # Demands are estimated anew in every round, and those on a link may have grown beyond it. Who was
                    # there first keeps what is left; the path stays.
                    reserved = min(reserved, room[link])
            settled[flow] = reserved != _FAILED
            if settled[flow]:
                take(room, links, reserved)
    for flow in range(src.size):
        if not settled[flow]:
            core[flow] = find_first_path(src[flow], dst[flow], demand[flow], room, layout)


@compiled
def find_first_path(src: int, dst: int, demand: int, room: Int64, layout: Layout) -> int:
    """The first core by which ``demand`` fits, taken from ``room`` (links,); UNASSIGNED when there is none."""
    if not isinstance(layout, int):
        for core in range(layout[1].shape[2]):
            links = find_choice_links(src, dst, core, layout)
            for link in links:
                if link != NO_LINK and room[link] < demand:
                    break
            else:
                take(room, links, demand)
                return core
        return UNASSIGNED
    # The links by way of core 0. Edge links of higher aggregation indices and core links of higher cores follow them.
    edge_up, core_up, core_down, edge_down = find_choice_links(src, dst, 0, layout)
    if edge_up == NO_LINK:
        return 0
    for up in range(layout):
        # An edge link without room rules out all cores above that aggregation switch.
        if room[edge_up + up] >= demand and room[edge_down + up] >= demand:
            if core_up == NO_LINK:
                take(room, (edge_up + up, NO_LINK, NO_LINK, edge_down + up), demand)
                return up * layout
            for core in range(up * layout, (up + 1) * layout):
                if room[core_up + core] >= demand and room[core_down + core] >= demand:
                    take(room, (edge_up + up, core_up + core, core_down + core, edge_down + up), demand)
                    return core
    return UNASSIGNED


@compiled
def take(room: Int64, links: Between, amount: int) -> None:
    """Take ``amount`` from the ``room`` of each of the links of a path."""
    for link in links:
        if link != NO_LINK:
            room[link] -= amount
