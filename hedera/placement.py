"""The input and output of a placement algorithm (Hedera section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from hedera.linkstate import UNIT, LinkState
from topos.arrays import Float64, Int32, Int64
from topos.links import NO_LINK, Cores, num_links, path_links
from topos.network import Network
from traffic.user_files import running_own_code


def in_units(demand: ArrayLike) -> Int64:
    """Demands (fractions of the NIC rate) in whole units, rounded down.

    Whole numbers add up exactly in any order, so a load can be updated forever without drifting. Rounding down
    keeps feasible demands feasible: three demands of 1/3, or one of 1.0, fill a link exactly and never exceed it
    by a rounding error.
    """
    return np.floor(np.asarray(demand, dtype=np.float64) * UNIT).astype(np.int64)


@dataclass(frozen=True, eq=False)
class LargeFlows:
    """The flows to place: arrays of one shape (flows,).

    ``key`` int64 names a flow across periods; ``src`` and ``dst`` int32 are host numbers; ``demand`` float64
    is the estimated demand as a fraction of the NIC rate, feasible at every NIC; ``core`` int32 is the path
    the flow is on, ``hashed`` int32 the one it got from its hash; ``rate`` float64 is its measured rate as a fraction
    of the NIC rate, or, where nothing is measured, its demand.
    """

    key: Int64
    src: Int32
    dst: Int32
    demand: Float64
    core: Int32
    hashed: Int32
    rate: Float64 = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if vars(self)["rate"] is None:
            object.__setattr__(self, "rate", self.demand)


class Placement(Protocol):
    """An algorithm that assigns paths to large flows, and remembers what it needs from period to period."""

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        """The core for each flow, int32 (flows,). A flow that is absent has expired."""
        ...


class OwnPlacement:
    """What a user's class makes, as a `Placement`; ValueError, one sentence that begins with ``subject``, where it
    fails."""

    def __init__(self, subject: str, made: Any) -> None:
        self.subject = subject
        self._made = made

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        # Views, as the scheduler goes on with the arrays themselves: a path that is written into them would count as
        # the one that the flow was on, and no change would be seen.
        views = {name: getattr(flows, name).view() for name in LargeFlows.__dataclass_fields__}
        for view in views.values():
            view.flags.writeable = False
        with running_own_code(self.subject):
            answer: Cores = self._made.place(LargeFlows(**views), links)
            return answer


def exceeded_capacity(
    tree: Network, src: ArrayLike, dst: ArrayLike, demand: ArrayLike, core: ArrayLike, links: LinkState
) -> float:
    """The energy of section 4.4: demand beyond capacity, summed over the links that cores decide on.

    ``src``, ``dst``, ``demand`` (fractions of the NIC rate) and ``core`` have shape (flows,); the result is in
    link capacities. A failed link has capacity 0. Computed from scratch, for reports and checks.
    """
    paths = path_links(tree, src, dst, core)[:, 1:-1]
    load = np.zeros(num_links(tree), dtype=np.int64)
    amount = np.repeat(in_units(demand), paths.shape[1]).reshape(paths.shape)
    np.add.at(load, paths[paths != NO_LINK], amount[paths != NO_LINK])
    return int(np.maximum(load - np.where(links.up, links.capacity, 0), 0).sum()) / UNIT
