"""Small histories to test schedulers with: flows that arrive and end, and links that fail, period by period."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from random import Random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import NoSuchExample
from numpy.typing import NDArray

from hedera.figure_7 import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.fattree import FatTree
from topos.links import canonical_cores, link_ends, links_between

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class HistoryFlow:
    """A flow that exists from period ``born`` until before period ``gone``."""

    src: int
    dst: int
    hashed: int
    born: int = 0
    gone: int = 9
    demand: float | None = None
    """None: as estimated among the flows of the period."""


@dataclass(frozen=True)
class History:
    """``flows`` on a fat-tree of this ``k``, over ``periods`` periods; ``cables`` are down in the last period."""

    k: int
    flows: tuple[HistoryFlow, ...]
    periods: int = 1
    cables: tuple[tuple[str, str], ...] = ()

    def links(self, period: int) -> LinkState:
        """Which links work in a period."""
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
        demand = np.array(estimate_demands(src.tolist(), dst.tolist(), links.tree.num_hosts))
        told = [f.demand for f in flows]
        demand = np.array([d if t is None else t for t, d in zip(told, demand, strict=True)], dtype=np.float64)
        key = np.array(there, dtype=np.int64)
        return LargeFlows(key, src, dst, demand, links.detour(src, dst, core), hashed)

    def __str__(self) -> str:
        """The history as text."""
        lines = [f"k = {self.k}, {self.periods} period{'s' * (self.periods > 1)}"]
        for n, flow in enumerate(self.flows):
            when = f", from period {flow.born + 1}" if flow.born else ""
            when += f", gone in period {flow.gone + 1}" if flow.gone < self.periods else ""
            size = "" if flow.demand is None else f", demand {flow.demand:g}"
            lines.append(f"flow {n}: host {flow.src} to host {flow.dst}{size}, hashed to core {flow.hashed}{when}")
        lines += [f"{one} - {other} is down in period {self.periods}" for one, other in self.cables]
        return "\n".join(lines)


def walk(history: History, place: Callable[[LargeFlows, LinkState], Ints]) -> list[tuple[LargeFlows, LinkState, Ints]]:
    """The inputs and answers of ``place``, period by period; each period starts with the cores of the last one."""
    on: dict[int, int] = {}
    seen = []
    for period in range(history.periods):
        flows, links = history.table(period, on), history.links(period)
        core = place(flows, links)
        seen.append((flows, links, core))
        on = dict(zip(flows.key.tolist(), np.asarray(core).tolist(), strict=True))
    return seen


def leave_nothing() -> None:
    """Keep hypothesis from creating its folder in the current one, and from reading one that others made there."""
    set_hypothesis_home_dir(os.devnull)


SHRINK_S = 15.0
"""Seconds for making an example simpler."""
_SRC, _DST = attrgetter("src"), attrgetter("dst")


@st.composite
def histories(draw: st.DrawFn, failures: bool = True, most: int = 9, sizes: tuple[float, ...] = ()) -> History:
    """Histories of a few flows; ``sizes``: demands to draw from, instead of estimating them."""
    k = draw(st.sampled_from([4, 4, 4, 6]))
    tree = FatTree(k)
    periods = draw(st.integers(1, 3))
    flows: list[HistoryFlow] = []
    for _ in range(draw(st.integers(0, most))):
        src = draw(st.integers(0, tree.num_hosts - 1))
        dst = (src + draw(st.integers(1, tree.num_hosts - 1))) % tree.num_hosts
        born = draw(st.integers(0, periods - 1))
        gone = born + draw(st.integers(1, 3))
        size = draw(st.sampled_from(sizes)) if sizes else None
        flow = HistoryFlow(src, dst, draw(st.integers(0, tree.num_cores - 1)), born, gone, size)
        busy = [[f.demand or 0.0 for f in (*flows, flow) if end(f) == end(flow)] for end in (_SRC, _DST)]
        if max(map(sum, busy)) <= 1:  # demands never exceed hosts' links
            flows.append(flow)
    cables: list[tuple[str, str]] = []
    if failures:
        inner = range(tree.num_hosts, 3 * tree.num_hosts)
        cables = [link_ends(tree, link) for link in draw(st.lists(st.sampled_from(inner), max_size=2, unique=True))]
    return History(k, tuple(flows), periods, tuple(cables))


def smallest(strategy: st.SearchStrategy[Any], fails: Callable[[Any], bool], seed: int, examples: int) -> Any | None:
    """The simplest failing value among ``examples`` drawn from the seed, and what they shrink to.

    The first failing value is made simpler for at most SHRINK_S.
    """
    known: dict[str, bool] = {}
    limit = float("inf")

    def fails_in_time(value: Any) -> bool:
        """Gives the same answer for the same value, even if the tested code does not."""
        nonlocal limit
        if (verdict := known.get(repr(value))) is not None:
            return verdict
        verdict = known[repr(value)] = time.monotonic() < limit and fails(value)
        if verdict:
            limit = min(limit, time.monotonic() + SHRINK_S)
        return verdict

    quiet = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    try:
        return find(strategy, fails_in_time, settings=quiet, random=Random(seed))
    except NoSuchExample:
        return None
