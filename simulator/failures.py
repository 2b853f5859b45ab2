"""Links that fail in a simulation (section 4.6): which flows they hit, where those go, what is left of the bandwidth.

Switches learn of it and hosts' packets turn within the tick: what the control plane takes in reality is for
the emulation to measure. Each scheme does what its controller does (controllers/core.py): a flow whose path is
broken goes by its static path among those that work, all others stay, and Hedera's next round may move any.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedera.linkstate import LinkState
from hedera.optimum import most_possible
from topos.faults import Fault, cables, links_down, moments, phases
from topos.fattree import FatTree
from topos.links import NO_LINK, num_links, path_links

Links = NDArray[np.int32]
Hosts = NDArray[np.int32]


@dataclass
class Failure:
    """What one moment of failing or mending did; times in seconds. ``waiting``: flows that are still to move."""

    t: float
    broken: list[str]
    mended: list[str]
    affected: int
    cut_off: int
    waiting: NDArray[np.int32] = field(repr=False)
    moving_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        """As in a run of the emulation (docs/results.md)."""
        return {
            "t": self.t,
            "broken": self.broken,
            "mended": self.mended,
            "affected": self.affected,
            "cut_off": self.cut_off,
            "moving_s": self.moving_s,
        }


class Breakage:
    """The failures of one simulation. ``links`` is what routing and scheduler know; it is kept up to date.

    A flow whose path is broken and that has no other is put on ``nowhere``, a link that carries nothing.
    """

    def __init__(self, faults: Sequence[Fault], links: LinkState) -> None:
        self.faults = faults
        self.links = links
        self.nowhere = num_links(links.tree)
        self.moments = moments(faults)
        self.failures: list[Failure] = []

    def paths(self, src: Hosts, dst: Hosts, core: NDArray[np.int32]) -> Links:
        """The links of each flow's path, as in `topos.links.path_links`, or ``nowhere`` alone; int32 (flows, 6)."""
        rows = path_links(self.links.tree, src, dst, core)
        rows[~self.links.carries(src, dst, core)] = [self.nowhere, *[NO_LINK] * 5]
        return rows

    def strike(self, t: float, src: Hosts, dst: Hosts, core: NDArray[np.int32], active: NDArray[np.int32]) -> None:
        """Break and mend what is due at ``t``, and note which of the ``active`` flows it concerns."""
        tree = self.links.tree
        before = frozenset(np.flatnonzero(~self.links.up).tolist())
        now = links_down(self.faults, tree, t)
        rows = path_links(tree, src[active], dst[active], core[active])
        hit = np.isin(rows, list(now - before)).any(axis=1)
        was_connected = self.links.connected(src[active], dst[active])
        self.links.restore(before - now)
        self.links.fail(now - before)
        connected = self.links.connected(src[active], dst[active])
        self.failures.append(
            Failure(
                t,
                broken=_names(tree, now - before),
                mended=_names(tree, before - now),
                affected=int(hit.sum()),
                cut_off=int((hit & ~connected).sum()),
                waiting=active[(hit | ~was_connected) & connected],
            )
        )

    def look(self, now: float, rates: NDArray[np.float64]) -> bool:
        """Note which flows move again by the rates of the tick that ends ``now``; whether some still do not."""
        if not self.failures:
            return False
        last = self.failures[-1]
        if last.waiting.size:
            last.waiting = last.waiting[rates[last.waiting] <= 0]
            if not last.waiting.size:
                last.moving_s = round(now - last.t, 9)
        return bool(last.waiting.size)


def phase_records(
    faults: Sequence[Fault],
    tree: FatTree,
    hosts: tuple[Hosts, Hosts] | None,
    total_mbps: NDArray[np.float64],
    tick_s: float,
    link_mbps: float,
    window_s: tuple[float, float],
) -> list[dict[str, Any]]:
    """What arrived before, during and after each failure, and the most that could have.

    ``hosts``: sources and destinations of flows that last; None when flows come and go, and there is no bound.
    """
    records = []
    seconds = total_mbps.size * tick_s
    for a, b in phases(moments(faults), window_s, seconds):
        down = links_down(faults, tree, a)
        capacity = np.full(num_links(tree), link_mbps)
        capacity[list(down)] = 0.0
        best = None if hosts is None else most_possible(tree, *hosts, capacity)
        mean = float(total_mbps[round(a / tick_s) : max(round(b / tick_s), round(a / tick_s) + 1)].mean())
        records.append(
            {
                "from_s": a,
                "to_s": b,
                "down": _names(tree, down),
                "mbps": round(mean, 3),
                "best_mbps": None if best is None else round(best, 3),
            }
        )
    return records


def _names(tree: FatTree, links: frozenset[int]) -> list[str]:
    return ["-".join(cable) for cable in cables(tree, links)]
