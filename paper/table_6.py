"""Table 6: how long a round of the control loop takes (section 6.4.5).

The paper's model: all switches report their large flows, the scheduler computes, and the new placements go
back to the switches. Messages are OpenFlow's, 72 bytes per flow entry; the last hop to the scheduler is a
10 Gb/s link that is always full; every switch of the control network adds 10 microseconds. Per large flow,
one entry is sent to the scheduler and two are sent back, for the edge and the aggregation switch of the source pod
(section 3.2).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping

import click
import numpy as np

from hedera.options import seeds_option
from paper.study import Row, ports_for, table
from paper.times import timed
from results.published import TABLE_6
from results.tasks import Computing, Runner, in_turn
from topos.fattree import FatTree
from topos.links import canonical_cores
from traffic.patterns import draw as draw_pattern

ENTRY_BYTES = 72
ENTRIES_UP = 1
ENTRIES_DOWN = 2
LAST_HOP_BPS = 10e9
SWITCH_S = 10e-6
CONTROL_PORTS = 48
MEASURED_ROUNDS = 7
ASSUMED_COMPUTATION_S = 0.1
"""The paper's assumption for demand estimation and scheduling."""


def message_s(tree: FatTree, flows_per_host: int) -> float:
    """The time of all messages of a round, seconds: on the last hop, and in the switches both ways."""
    flows = tree.num_hosts * flows_per_host
    bits = flows * (ENTRIES_UP + ENTRIES_DOWN) * ENTRY_BYTES * 8
    return bits / LAST_HOP_BPS + 2 * control_hops(tree) * SWITCH_S


def control_hops(tree: FatTree) -> int:
    """Switches between the farthest data switch and the scheduler, in a tree of 48-port switches."""
    hops, reach = 1, CONTROL_PORTS - 1  # one port leads to the scheduler, or to the switch above
    while reach < tree.num_switches:
        hops, reach = hops + 1, reach * (CONTROL_PORTS - 1)
    return hops


def measure(case: tuple[FatTree, int, int]) -> list[float]:
    """Measure the computing time of scheduling rounds, seconds, one for each of MEASURED_ROUNDS rounds.

    ``case``: a tree, flows per host, and a seed. A round is demand estimation and Simulated Annealing (1,000
    iterations) for a random matrix. The first round of a scheduler is left out: it starts from scratch, while later
    ones start from the placement before, as in operation.
    """
    tree, flows_per_host, seed = case
    from hedera.scheduler import ActiveFlows, Scheduler
    from hedera.simulated_annealing import SimulatedAnnealing

    matrix = draw_pattern("random", tree, seed, flows_per_host)
    flows = len(matrix)
    rng = np.random.default_rng(seed)
    hashed = canonical_cores(tree, matrix.src, matrix.dst, rng.integers(0, tree.num_cores, flows))
    core = hashed.copy()
    scheduler = Scheduler(tree, SimulatedAnnealing(tree, rng))
    spent = []
    for number in range(MEASURED_ROUNDS + 1):
        active = ActiveFlows(np.arange(flows), matrix.src, matrix.dst, np.full(flows, 0.5), core.copy(), hashed)
        before = time.perf_counter()
        decided = scheduler.round(5.0 * number, active)
        spent.append(time.perf_counter() - before)
        for change in decided.changes:
            core[change.key] = change.core
    return spent[1:]


def compute(seeds: int, run: Runner = in_turn, cases: Mapping[tuple[int, int], float] = TABLE_6) -> list[Row]:
    """Each case's length of a round: the paper's, the model with the paper's 100 ms, and with the computing time
    measured here. ``run`` must not run two at once, as they would slow each other down."""
    tasks = [(FatTree(ports_for(size)), flows, seed) for size, flows in cases for seed in range(1, seeds + 1)]
    spent_ms: dict[tuple[int, int], list[float]] = {}
    for (tree, flows, _), rounds in zip(tasks, run(measure, tasks), strict=True):
        spent_ms.setdefault((tree.num_hosts, flows), []).extend(1000 * s for s in rounds)
    rows = []
    for (size, flows), rounds in spent_ms.items():
        messages = 1000 * message_s(FatTree(ports_for(size)), flows)
        computed = statistics.median(rounds)
        rows.append(
            {
                "hosts": size, "flows_per_host": flows, "published_ms": cases[size, flows],
                "model_with_100_ms": messages + 1000 * ASSUMED_COMPUTATION_S,
                "messages_ms": messages, "computed_ms": computed, "loop_ms": messages + computed,
            }
        )  # fmt: skip
    return rows


@click.command()
@seeds_option(1)
@timed
def command(asked: Computing, seeds: int) -> None:
    """Measure how long a round of the control loop takes."""
    rows = compute(seeds, asked.runner("Table 6: measuring"))
    asked.conclude(rows, [table("Table 6: length of the control loop", rows)], [asked.csv("table6", rows)])
