"""Table 5: how long Simulated Annealing takes, for the annealing alone and for a whole placement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.demand import random_flows
from benchmarks.measure import Timing, time_calls
from hedera.demand import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.simulated_annealing import SimulatedAnnealing
from results.published import TABLE_5
from topos.fattree import FatTree

FIRST_CALL = """
import numpy as np
from benchmarks.annealing import placement_input
from hedera.simulated_annealing import SimulatedAnnealing
tree, flows, links = placement_input(4, 16)
SimulatedAnnealing(tree, np.random.default_rng(1)).place(flows, links)
"""


@dataclass(frozen=True)
class Case:
    """One cell of Table 5. ``energy`` is the exceeded capacity before and after, in link capacities."""

    k: int
    flows: int
    iterations: int
    paper_ms: float
    placement: Timing
    setup: Timing
    energy: tuple[float, float]


def placement_input(k: int, flows: int, seed: int = 1) -> tuple[FatTree, LargeFlows, LinkState]:
    """Flows between random hosts with their estimated demands, and a network without failures."""
    tree = FatTree(k)
    src, dst = random_flows(tree.num_hosts, flows, seed)
    demand = estimate_demands(src, dst, tree.num_hosts)
    hashed = np.random.default_rng(seed).integers(0, tree.num_cores, flows).astype(np.int32)
    return tree, LargeFlows(np.arange(flows), src, dst, demand, hashed, hashed), LinkState(tree)


def cases(seconds: float = 0.5) -> Iterator[Case]:
    """Measure every cell. Each call starts from the first state, so that all do the same amount of work.

    The set-up (grouping flows by destination, loading the links, handing out cores) is what is left of a
    placement when next to no iterations are asked for.
    """
    for (k, flows), row in TABLE_5.items():
        tree, large, links = placement_input(k, flows)
        setup = _time(tree, large, links, 0, seconds)[0]
        for iterations, paper_ms in row.items():
            placement, annealing = _time(tree, large, links, iterations, seconds)
            energy = annealing.initial_energy, annealing.energy
            yield Case(k, flows, iterations, paper_ms, placement, setup, energy)


def _time(
    tree: FatTree, large: LargeFlows, links: LinkState, iterations: int, seconds: float
) -> tuple[Timing, SimulatedAnnealing]:
    made: list[SimulatedAnnealing] = []

    def prepare() -> None:
        made[:] = [SimulatedAnnealing(tree, np.random.default_rng(1), iterations)]

    timing = time_calls(lambda: made[0].place(large, links), prepare, seconds)
    return timing, made[0]
