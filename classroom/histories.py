"""Small histories to test schedulers with: flows that arrive and end, and links that fail, period by period."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.fattree import FatTree
from topos.links import canonical_cores, links_between

Ints = NDArray[np.int32]


class HistoryFlow(NamedTuple):
    """A flow that exists from period ``born`` until before period ``gone``. ``demand`` None: as `shares` says."""

    src: int
    dst: int
    hashed: int
    born: int = 0
    gone: int = 9
    demand: float | None = None


@dataclass(frozen=True)
class History:
    """``flows`` on a fat-tree of this ``k``, over ``periods`` periods; ``cables`` are down in the last period."""

    k: int
    flows: tuple[HistoryFlow, ...]
    periods: int = 1
    cables: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, told: dict[str, Any]) -> History:
        flows = tuple(HistoryFlow(*flow) for flow in told["flows"])
        return cls(told["k"], flows, told["periods"], tuple((one, other) for one, other in told["cables"]))

    def links(self, period: int) -> LinkState:
        links = LinkState(FatTree(self.k))
        if period == self.periods - 1:
            for one, other in self.cables:
                links.fail(links_between(links.tree, one, other))
        return links

    def table(self, period: int, on: dict[int, int]) -> LargeFlows:
        """The flows of a period, as given to a scheduler; ``on``: the present core of each flow.

        As in the real loop, no flow is given with a broken path if it has one that works.
        """
        links = self.links(period)
        there = [n for n, flow in enumerate(self.flows) if flow.born <= period < flow.gone]
        flows = [self.flows[n] for n in there]
        src, dst, hashed = (np.array([getattr(f, x) for f in flows], dtype=np.int32) for x in ("src", "dst", "hashed"))
        hashed = links.detour(src, dst, canonical_cores(links.tree, src, dst, hashed))
        core = np.array([on.get(n, int(h)) for n, h in zip(there, hashed, strict=True)], dtype=np.int32)
        estimated = shares(src, dst, links.tree.num_hosts)
        demand = [e if f.demand is None else f.demand for f, e in zip(flows, estimated, strict=True)]
        key = np.array(there, dtype=np.int64)
        return LargeFlows(key, src, dst, np.array(demand, dtype=float), links.detour(src, dst, core), hashed)

    def __str__(self) -> str:
        lines = [f"k = {self.k}, {self.periods} period{'s' * (self.periods > 1)}"]
        for n, flow in enumerate(self.flows):
            when = f", from period {flow.born + 1}" if flow.born else ""
            when += f", gone in period {flow.gone + 1}" if flow.gone < self.periods else ""
            size = "" if flow.demand is None else f", demand {flow.demand:g}"
            lines.append(f"flow {n}: host {flow.src} to host {flow.dst}{size}, hashed to core {flow.hashed}{when}")
        lines += [f"{one} - {other} is down in period {self.periods}" for one, other in self.cables]
        return "\n".join(lines)


def walk(history: History, place: Callable[[LargeFlows, LinkState], Ints]) -> list[dict[int, int]]:
    """The cores of flows by key that ``place`` answers with, period by period; each starts with those of the last."""
    on: dict[int, int] = {}
    found = []
    for period in range(history.periods):
        flows = history.table(period, on)
        core = place(flows, history.links(period))
        on = dict(zip(flows.key.tolist(), np.asarray(core).tolist(), strict=True))
        found.append(on)
    return found


def shares(src: ArrayLike, dst: ArrayLike, num_hosts: int) -> NDArray[np.float64]:
    """An estimate of demands, float64 (flows,), that is no answer to a milestone: an equal share of the busier end."""
    s, d = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
    busy = np.maximum(np.bincount(s, minlength=num_hosts)[s], np.bincount(d, minlength=num_hosts)[d])
    return np.asarray(1.0 / np.maximum(busy, 1))
