"""How long each placement takes, and what it leaves exceeded, at scale.

Times are of one call of ``place``, with all flows on random hashed paths, as at a scheduler's first period. The
exceeded capacity is the energy of section 4.4, in links; of flows as large as a NIC the edge colouring leaves none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.row import Row
from hedera.clos import ClosColouring
from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, Placement, exceeded_capacity
from hedera.simulated_annealing import SimulatedAnnealing
from paper.table_5 import placement_input
from paper.timing import time_calls
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
SECONDS = 0.5
"""Spent on measuring each."""


def permutation(k: int, seed: int = 1) -> tuple[FatTree, LargeFlows, LinkState]:
    tree, rng = FatTree(k), np.random.default_rng(seed)
    dst = rng.permutation(tree.num_hosts).astype(np.int32)
    src = np.flatnonzero(dst != np.arange(tree.num_hosts)).astype(np.int32)
    hashed = rng.integers(0, tree.num_cores, src.size).astype(np.int32)
    flows = LargeFlows(src.astype(np.int64), src, dst[src], np.ones(src.size), hashed, hashed)
    return tree, flows, LinkState(tree)


def timed(
    build: Callable[[FatTree], Placement], tree: FatTree, flows: LargeFlows, links: LinkState
) -> tuple[float, Cores]:
    """The median time of a placement's first period, ms, and the cores that it answers with."""
    made: list[Placement] = []
    answers: list[Cores] = []

    def prepare() -> None:
        made[:] = [build(tree)]

    def call() -> None:
        answers[:] = [made[0].place(flows, links)]

    return time_calls(call, prepare, SECONDS).median_ms, answers[0]


def rows(whole: bool) -> Iterator[Row]:
    cases = [(f"k={k}, permutation", permutation(k)) for k in ((16, 32, 48) if whole else (48,))]
    cases += [(f"k={k}, random", placement_input(k, flows)) for k, flows in (SIZES if whole else SIZES[-2:])]
    for what, (tree, flows, links) in cases:
        for name, build in PLACEMENTS.items():
            took_ms, core = timed(build, tree, flows, links)
            case = f"{name}, {what}, {flows.key.size:,} flows"
            yield Row(f"{case}: a call", took_ms, "ms")
            exceeded = exceeded_capacity(tree, flows.src, flows.dst, flows.demand, core, links)
            yield Row(f"{case}: exceeded", exceeded, "links")
