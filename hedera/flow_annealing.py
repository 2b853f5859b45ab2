"""Simulated Annealing with a core per flow: the baseline that section 4.4 compares its own method with.

State: a core for each flow, at first the path the flow is on. A move gives a random flow a random core. The
rest is as in `hedera.simulated_annealing`. The energy is updated incrementally here too, so that an iteration takes
no longer with more flows, as the paper says of its baseline (`hedera explain-sa`).
"""

from __future__ import annotations

import numpy as np

from hedera.compiled import NO_LINK, Four, Way, below, bits, choice_links, compiled, excess_of_links, fraction
from hedera.linkstate import UNIT, LinkState
from hedera.placement import LargeFlows, in_units
from hedera.simulated_annealing import acceptance_constant
from topos.arrays import Int32, Int64
from topos.links import Cores, canonical_cores
from topos.network import Network


class FlowAnnealing:
    """The placement. Its state needs no memory of its own: a flow's core comes back in the next table.

    ``iterations`` as in `SimulatedAnnealing`.
    """

    def __init__(self, tree: Network, rng: np.random.Generator, iterations: int = 1000) -> None:
        self.tree = tree
        self.iterations = iterations
        self.energy = 0.0
        """The exceeded capacity, in link capacities, that the last period ended with."""
        self._rng = rng

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        """The core for each flow, int32 (flows,): see `hedera.placement.Placement`."""
        tree = self.tree
        core = flows.core.copy()
        demand = in_units(flows.demand)
        excess = excess_of_links(tree, flows.src, flows.dst, demand, core, links)
        energy = _anneal(
            flows.src,
            flows.dst,
            core,
            demand,
            excess,
            tree.way,
            tree.num_cores,
            self.iterations,
            acceptance_constant(tree.num_hosts),
            self._rng.integers(2**64, dtype=np.uint64),
        )
        self.energy = energy / UNIT
        return canonical_cores(tree, flows.src, flows.dst, core)


@compiled
def _anneal(
    src: Int32,
    dst: Int32,
    core: Cores,
    demand: Int64,
    excess: Int64,
    way: Way,
    cores: int,
    iterations: int,
    acceptance: float,
    seed: np.uint64,
) -> int:
    """Figure 6 over single flows. Leaves the best state in ``core``; returns its energy."""
    best_core = core.copy()
    moved = np.empty(iterations + 1, dtype=np.int32)  # the flows moved since the best state was left
    since_best = 0
    energy = np.int64(0)
    for link in range(excess.size):
        energy += max(excess[link], 0)
    best = energy
    constant = acceptance * iterations / UNIT
    for temperature in range(iterations, -1, -1):
        if best == 0 or core.size == 0:
            break
        number = np.uint64(4 * temperature)
        flow = below(core.size, bits(seed, number))
        old, new = core[flow], np.int32(below(cores, bits(seed, number + np.uint64(1))))
        before = choice_links(src[flow], dst[flow], old, way)
        after = choice_links(src[flow], dst[flow], new, way)
        change = _reroute(excess, demand[flow], before, after)
        if change > 0 and (
            temperature == 0 or np.exp(-constant * change / temperature) <= fraction(bits(seed, number + np.uint64(2)))
        ):
            _reroute(excess, demand[flow], after, before)
            continue
        core[flow] = new
        energy += change
        moved[since_best] = flow
        since_best += 1
        if energy < best:
            best = energy
            for i in range(since_best):
                best_core[moved[i]] = core[moved[i]]
            since_best = 0
    core[:] = best_core
    return best


@compiled
def _reroute(excess: Int64, demand: int, before: Four, after: Four) -> int:
    """Move one flow from the links ``before`` to those ``after``; returns the change of energy."""
    change = np.int64(0)
    for tier in range(4):
        if before[tier] != NO_LINK:
            change += _add(excess, before[tier], -demand)
        if after[tier] != NO_LINK:
            change += _add(excess, after[tier], demand)
    return change


@compiled
def _add(excess: Int64, link: int, amount: int) -> int:
    before = excess[link]
    excess[link] = before + amount
    return max(before + amount, 0) - max(before, 0)
