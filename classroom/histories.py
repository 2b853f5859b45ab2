"""Small histories to test schedulers with: flows that arrive and end, and links that fail, period by period."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.arrays import Int32
from topos.fattree import FatTree
from topos.links import canonical_cores, links_between


class HistoryFlow(NamedTuple):
    """A flow that exists from period ``born`` until before period ``gone``. ``demand`` None: an equal share of its
    busier end, which is no answer to a milestone."""

    src: int
    dst: int
    hashed: int
    demand: float | None = None
    born: int = 0
    gone: int = 9


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

    def question(self, seed: int = 1, iterations: int = 1000) -> dict[str, Any]:
        """What a scheduler is asked that is made anew with this seed (`classroom.answering`)."""
        return {"k": self.k, "search": (seed, iterations), "history": asdict(self)}

    def __str__(self) -> str:
        lines = [f"k = {self.k}, {self.periods} period{'s' * (self.periods > 1)}"]
        for n, flow in enumerate(self.flows):
            when = f", from period {flow.born + 1}" if flow.born else ""
            when += f", gone in period {flow.gone + 1}" if flow.gone < self.periods else ""
            size = "" if flow.demand is None else f", demand {flow.demand:g}"
            lines.append(f"flow {n}: host {flow.src} to host {flow.dst}{size}, hashed to core {flow.hashed}{when}")
        lines += [f"{one} - {other} is down in period {self.periods}" for one, other in self.cables]
        return "\n".join(lines)


def walk(history: History, place: Callable[[LargeFlows, LinkState], Int32]) -> list[dict[int, int]]:
    """The cores of flows by key that ``place`` answers with, period by period; each starts with those of the last.

    As in the real loop, no flow is given with a broken path if it has one that works.
    """
    links, found = LinkState(FatTree(history.k)), list[dict[int, int]]()
    for period in range(history.periods):
        if period == history.periods - 1:
            for one, other in history.cables:
                links.fail(links_between(links.tree, one, other))
        flows = {n: flow for n, flow in enumerate(history.flows) if flow.born <= period < flow.gone}
        src, dst, hashed = np.array([flow[:3] for flow in flows.values()], dtype=np.int32).reshape(-1, 3).T
        hashed = links.detour(src, dst, canonical_cores(links.tree, src, dst, hashed))
        on = found[-1] if found else {}
        core = np.array([on.get(n, int(h)) for n, h in zip(flows, hashed, strict=True)], dtype=np.int32)
        shares = 1.0 / np.maximum(np.bincount(src)[src], np.bincount(dst)[dst])
        demand = [one if f.demand is None else f.demand for f, one in zip(flows.values(), shares, strict=True)]
        key, core = np.array(list(flows), dtype=np.int64), links.detour(src, dst, core)
        core = place(LargeFlows(key, src, dst, np.array(demand, dtype=float), core, hashed), links)
        found.append(dict(zip(flows, np.asarray(core).tolist(), strict=True)))
    return found


def flows_of(told: dict[str, Any]) -> LargeFlows:
    """Of a case: each is on its hashed path."""
    src, dst, hashed = (np.array(told[name], dtype=np.int32) for name in ("src", "dst", "hashed"))
    demand = np.array(told["demand"], dtype=float)
    return LargeFlows(np.arange(src.size), src, dst, demand, hashed.copy(), hashed)
