"""How long each placement takes, and what it leaves exceeded: ``python -m benchmarks.placements``.

Times are of one call of ``place``, with all flows on random hashed paths, as at a scheduler's first period. The
exceeded capacity is the energy of section 4.4, in links; of flows as large as a NIC the edge colouring leaves none.
"""

from __future__ import annotations

from collections.abc import Callable

import click
import numpy as np
from rich.console import Console

from hedera.clos import ClosColouring
from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, Placement, exceeded_capacity
from hedera.simulated_annealing import SimulatedAnnealing
from paper.table_5 import placement_input
from paper.timing import Timing, time_calls
from results.output import plain_table
from topos.fattree import FatTree
from topos.links import Cores

SIZES = ((16, 5_000), (32, 25_000), (48, 100_000), (48, 250_000))
"""k, and flows between random hosts."""
PLACEMENTS: dict[str, Callable[[FatTree], Placement]] = {
    "edge colouring": ClosColouring,
    "Global First Fit": GlobalFirstFit,
    "annealing, 1,000": lambda tree: SimulatedAnnealing(tree, np.random.default_rng(1), 1_000),
    "annealing, 100,000": lambda tree: SimulatedAnnealing(tree, np.random.default_rng(1), 100_000),
}


def permutation(k: int, seed: int = 1) -> tuple[FatTree, LargeFlows, LinkState]:
    """A flow as large as a NIC from every host, to another's."""
    tree, rng = FatTree(k), np.random.default_rng(seed)
    dst = rng.permutation(tree.num_hosts).astype(np.int32)
    src = np.flatnonzero(dst != np.arange(tree.num_hosts)).astype(np.int32)
    hashed = rng.integers(0, tree.num_cores, src.size).astype(np.int32)
    return (
        tree,
        LargeFlows(src.astype(np.int64), src, dst[src], np.ones(src.size), hashed, hashed),
        LinkState(tree),
    )


def timed(
    build: Callable[[FatTree], Placement], tree: FatTree, flows: LargeFlows, links: LinkState, seconds: float
) -> tuple[Timing, Cores]:
    """The time of a placement's first period, and the cores that it answers with."""
    made: list[Placement] = []
    answers: list[Cores] = []

    def prepare() -> None:
        made[:] = [build(tree)]

    def call() -> None:
        answers[:] = [made[0].place(flows, links)]

    return time_calls(call, prepare, seconds), answers[0]


@click.command()
@click.option("--seconds", default=0.5, show_default=True, help="Spent on measuring each cell.")
def main(seconds: float) -> None:
    """Time the placements at scale."""
    table = plain_table("One placement", "flows", "placement", "median ms", "best ms", "exceeded", left=2)
    cases = [(f"k={k}, permutation", permutation(k)) for k in (16, 32, 48)]
    cases += [(f"k={k}, random", placement_input(k, flows)) for k, flows in SIZES]
    for what, (tree, flows, links) in cases:
        for name, build in PLACEMENTS.items():
            spent, core = timed(build, tree, flows, links, seconds)
            exceeded = exceeded_capacity(tree, flows.src, flows.dst, flows.demand, core, links)
            case = f"{what}, {flows.key.size:,}"
            table.add_row(case, name, f"{spent.median_ms:.2f}", f"{spent.best_ms:.2f}", f"{exceeded:,.1f}")
    console = Console()
    (console if console.is_terminal else Console(width=110)).print(table)


if __name__ == "__main__":
    main()
