"""Links that fail in a simulation (section 4.6): which flows they hit, and what is left of the bandwidth.

Switches and schedulers learn of a failure within the tick: how long that takes in reality is for the emulation
to measure. Each scheme does what its controller does (controllers/core.py): a flow whose path is broken goes by
its static path among those that work, all others stay, and Hedera's next round may move any.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedera.experiment import phases
from hedera.linkstate import LinkState
from hedera.maxmin import most_possible
from results.parts import Failure, Phase
from simulator.config import Config
from topos.arrays import Float64, Int32
from topos.faults import Fault, cables, links_down, moments
from topos.links import NO_LINK, link_rates, num_links, path_links
from topos.network import Network


class Breakage:
    """The failures of one simulation. ``links`` is what routing and scheduler know; it is kept up to date.

    A flow whose path is broken and that has no other is put on ``nowhere``, a link that carries nothing.
    """

    def __init__(self, faults: Sequence[Fault], links: LinkState) -> None:
        self._faults = faults
        self.links = links
        self.nowhere = num_links(links.tree)
        self.moments = moments(faults)
        self.failures: list[Failure] = []

    def paths(self, src: Int32, dst: Int32, core: Int32) -> Int32:
        """The links of each flow's path as in `topos.links.path_links`, or ``nowhere`` alone: int32 (flows, 6)."""
        rows = path_links(self.links.tree, src, dst, core)
        rows[~self.links.carries(src, dst, core)] = [self.nowhere, *[NO_LINK] * 5]
        return rows

    def strike(self, t: float, src: Int32, dst: Int32, core: Int32) -> None:
        """Break and mend what is due at ``t``; of the flows under way: int32 (flows,)."""
        tree = self.links.tree
        before = frozenset(np.flatnonzero(~self.links.up).tolist())
        now = links_down(self._faults, tree, t)
        hit = np.isin(path_links(tree, src, dst, core), list(now - before)).any(axis=1)
        self.links.restore(before - now)
        self.links.fail(now - before)
        connected = self.links.connected(src, dst)
        self.failures.append(
            Failure(
                t=t,
                broken=_names(tree, now - before),
                mended=_names(tree, before - now),
                affected=int(hit.sum()),
                cut_off=int((hit & ~connected).sum()),
                rerouted_s=None,
                moving_s=None,
            )
        )


def phases_of(
    config: Config, network: Network, flows: tuple[Int32, Int32] | None, total_mbps: Float64
) -> tuple[Phase, ...]:
    """What arrived before, during and after each failure, and the most that could have.

    ``flows``: sources and destinations of flows that last for the run; None when they come and go, which has no
    such bound. ``total_mbps``: the sum of rates in every tick, float64 (ticks,).
    """
    tick_s = config.tick_s
    faults = config.faults if network.num_cores > 1 else ()
    begin, end = config.window_ticks
    records = []
    for a, b in phases(moments(faults), (begin * tick_s, end * tick_s), config.seconds):
        links = links_down(faults, config.topo, a)
        capacity = config.link_mbps * link_rates(network)
        capacity[list(links)] = 0.0
        best = None if flows is None else most_possible(network, *flows, capacity)
        first = round(a / tick_s)
        mean = float(total_mbps[first : max(round(b / tick_s), first + 1)].mean())
        best = None if best is None else round(best, 3)
        down = _names(config.topo, links)
        records.append(Phase(from_s=a, to_s=b, down=down, mbps=round(mean, 3), best_mbps=best))
    return tuple(records)


def _names(tree: Network, links: frozenset[int]) -> tuple[str, ...]:
    return tuple("-".join(cable) for cable in cables(tree, links))
