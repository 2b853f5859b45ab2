"""Table 5: how long Simulated Annealing takes, for the annealing alone and for a whole placement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click
import numpy as np

from paper.study import Row
from paper.table_4 import random_flows
from paper.timing import Timing, conclude_timed, seconds_option, time_calls, timed
from results.published import TABLE_5
from results.tasks import Computing
from topos.fattree import FatTree

if TYPE_CHECKING:
    from hedera.linkstate import LinkState
    from hedera.placement import LargeFlows
    from hedera.simulated_annealing import SimulatedAnnealing

_NOTES = (
    "Annealing is a placement without its set-up; excess is the exceeded capacity, in links, before and after.",
    "One thread: each iteration starts from the state that the one before it left.",
)


def placement_input(k: int, flows: int, seed: int = 1) -> tuple[FatTree, LargeFlows, LinkState]:
    """Flows between random hosts with their estimated demands, and a network without failures."""
    from hedera.demand import estimate_demands
    from hedera.linkstate import LinkState
    from hedera.placement import LargeFlows

    tree = FatTree(k)
    src, dst = random_flows(tree.num_hosts, flows, seed)
    demand = estimate_demands(src, dst, tree.num_hosts)
    hashed = np.random.default_rng(seed).integers(0, tree.num_cores, flows).astype(np.int32)
    return tree, LargeFlows(np.arange(flows), src, dst, demand, hashed, hashed), LinkState(tree)


def compute(seconds: float = 0.5) -> Iterator[Row]:
    """Measure every cell. Each call starts from the first state, so that all do the same amount of work.

    ``annealing_ms`` is without the set-up (grouping flows by destination, loading the links, assigning cores), which
    is measured as a placement with almost no iterations. Ratios are the paper's time over our median.
    ``excess_before`` and ``excess_after``: the exceeded capacity, in link capacities.
    """
    for (k, flows), row in TABLE_5.items():
        tree, large, links = placement_input(k, flows)
        setup_ms = timed_placement(tree, large, links, 0, seconds)[0].median_ms
        for iterations, published_ms in row.items():
            spent, annealing = timed_placement(tree, large, links, iterations, seconds)
            alone_ms = spent.median_ms - setup_ms
            yield {
                "k": k, "flows": flows, "iterations": iterations, "published_ms": published_ms,
                **spent._asdict(), "ratio": published_ms / spent.median_ms,
                "annealing_ms": alone_ms, "annealing_ratio": published_ms / alone_ms,
                "excess_before": annealing.initial_energy, "excess_after": annealing.energy,
            }  # fmt: skip


def timed_placement(
    tree: FatTree, large: LargeFlows, links: LinkState, iterations: int, seconds: float
) -> tuple[Timing, SimulatedAnnealing]:
    """The time of one placement from the first state, measured for about ``seconds``, and the annealing object."""
    from hedera.simulated_annealing import SimulatedAnnealing

    made: list[SimulatedAnnealing] = []

    def prepare() -> None:
        made[:] = [SimulatedAnnealing(tree, np.random.default_rng(1), iterations)]

    return time_calls(lambda: made[0].place(large, links), prepare, seconds), made[0]


@click.command()
@seconds_option
@timed
def command(asked: Computing, seconds: float) -> None:
    """Time Simulated Annealing: the paper's Table 5 and ours, with set-up and without."""
    conclude_timed(asked, "table5", "Table 5: Simulated Annealing, ms per call", compute(seconds), *_NOTES)
