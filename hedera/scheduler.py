"""The scheduling loop as a state machine: flow statistics in, route changes out (Hedera sections 3 and 4).

The controller and the simulator call the same `Scheduler.round`: the controller with the switches' counters and
real time, the simulator with simulated ones. Nothing here reads a clock or sends a message.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedera.demand import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, OwnPlacement, Placement
from topos.arrays import Float64, Int32, Int64
from topos.links import Cores, find_canonical_cores
from topos.network import Network


@dataclass(frozen=True, eq=False)
class ActiveFlows:
    """All active flows of one period: arrays of one shape (flows,).

    ``key`` int64, unique, names a flow across periods; ``src`` and ``dst`` int32 are host numbers; ``rate``
    float64 is the measured rate as a fraction of the NIC rate; ``core`` int32 is the path the flow is on,
    ``hashed`` int32 the path of its hash. A flow that is absent has expired. Leave out acknowledgement streams
    and idle flows: each would count as wanting a share of two NICs.

    Other integer and float types are converted.
    """

    key: Int64
    src: Int32
    dst: Int32
    rate: Float64
    core: Int32
    hashed: Int32

    def __post_init__(self) -> None:
        types = {"key": np.int64, "rate": np.float64}
        for name in self.__dataclass_fields__:
            column = np.ascontiguousarray(getattr(self, name), dtype=types.get(name, np.int32))
            object.__setattr__(self, name, column)


@dataclass(frozen=True, eq=False)
class Round:
    """The result of one scheduling period.

    ``index`` (positions among the active flows), ``large`` (keys), ``demand`` and ``core`` have one entry per large
    flow. ``changed`` int64 and ``new_core`` int32, of one shape (changes,): the keys of the flows, large or not, whose
    path changes, and their new cores.
    """

    now: float
    index: NDArray[np.intp]
    large: Int64
    demand: Float64
    core: Int32
    changed: Int64
    new_core: Int32


class Scheduler:
    """Finds the large flows, estimates their demands, has them placed, and returns the route changes.

    A flow is large if its *measured* rate is above ``threshold``, a fraction of the NIC rate (section 3.1); with
    ``estimated`` also if its demand among all flows is, for a flow slowed by a collision is large as well (section
    4.2). The demands for placement are then estimated among the large flows alone.

    ``links`` may be shared with a `hedera.routing.Routing`; no path goes through failed ones. A round raises
    ValueError for a placement that does not answer with one core per flow.
    """

    def __init__(
        self,
        tree: Network,
        placement: Placement,
        threshold: float = 0.1,
        links: LinkState | None = None,
        estimated: bool = True,
    ) -> None:
        self.tree = tree
        self.placement = placement
        self.threshold = threshold
        self.estimated = estimated
        self.links = LinkState(tree) if links is None else links

    def round(self, now: float, flows: ActiveFlows) -> Round:
        """One scheduling period at time ``now`` (seconds, any origin) over the flows active in it."""
        index, demand = self._find_large_flows(flows)
        key, src, dst, hashed = flows.key[index], flows.src[index], flows.dst[index], flows.hashed[index]
        large = LargeFlows(key, src, dst, demand, flows.core[index], hashed, flows.rate[index])
        core = find_canonical_cores(self.tree, flows.src, flows.dst, flows.core)
        planned = core.copy()
        planned[index] = self._place(large)
        planned = self._avoid_failures(flows, planned)
        changed = np.flatnonzero(planned != core)
        return Round(now, index, large.key, demand, planned[index], flows.key[changed], planned[changed])

    def _find_large_flows(self, flows: ActiveFlows) -> tuple[NDArray[np.intp], Float64]:
        hosts = self.tree.num_hosts
        demand = estimate_demands(flows.src, flows.dst, hosts)
        above = (np.maximum(flows.rate, demand) if self.estimated else flows.rate) > self.threshold
        index = np.flatnonzero(above)
        if index.size < demand.size:
            demand = estimate_demands(flows.src[index], flows.dst[index], hosts)
        return index, demand

    def _place(self, large: LargeFlows) -> Cores:
        answer = np.asarray(self.placement.place(large, self.links))
        who = self.placement.subject if isinstance(self.placement, OwnPlacement) else type(self.placement).__name__
        if answer.shape != large.key.shape or answer.dtype.kind not in "iu":
            raise ValueError(
                f"{who}: place must answer with one whole number per flow, shape {large.key.shape}, "
                f"not {answer.dtype} of shape {answer.shape}"
            )
        if answer.size and not 0 <= answer.min() <= answer.max() < self.tree.num_cores:
            raise ValueError(
                f"{who}: place answers with cores {answer.min()} to {answer.max()}; "
                f"there are 0 to {self.tree.num_cores - 1}"
            )
        # A scheduler may answer with any core of those that mean the same path. Entries are sent for what differs, so
        # each path has one number from here on.
        return find_canonical_cores(self.tree, large.src, large.dst, answer)

    def _avoid_failures(self, flows: ActiveFlows, core: Cores) -> Cores:
        """Flows with a broken path take their hashed path, or the next one that works."""
        if self.links.intact:
            return core
        # All flows, not only the large ones, as in the controller when a path breaks
        # (`Controller._move_around_failures`).
        broken = ~self.links.usable(flows.src, flows.dst, core)
        return self.links.detour(flows.src, flows.dst, np.where(broken, flows.hashed, core))
