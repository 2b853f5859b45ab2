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
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np

from hedera.options import seeds_option
from paper.study import PUBLISHED, Row, column, picture, ports_for, table
from paper.timing import timed
from plots.style import INK
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
        table = ActiveFlows(
            key=np.arange(flows, dtype=np.int64),
            src=matrix.src,
            dst=matrix.dst,
            rate=np.full(flows, 0.5),
            core=core.copy(),
            hashed=hashed,
        )
        before = time.perf_counter()
        decided = scheduler.round(5.0 * number, table)
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
        ours = {"messages_ms": messages, "computed_ms": computed, "loop_ms": messages + computed}
        known = {"published_ms": cases[size, flows]}
        known["model_with_100_ms"] = messages + 1000 * ASSUMED_COMPUTATION_S
        rows.append({"hosts": size, "flows_per_host": flows, **known, **ours})
    return rows


def draw(rows: Sequence[Row], path: Path) -> Path:
    many = [(row["hosts"], row["flows_per_host"]) for row in rows]
    labels = [f"{hosts:,} hosts,\n{flows} flow{'s' * (flows > 1)} each" for hosts, flows in many]
    x, messages, computed = np.arange(len(rows)), column(rows, "messages_ms"), column(rows, "computed_ms")
    with picture(path, 9.6, 4.4, "Table 6: how long a round of the control loop takes") as figure:
        axes = figure.subplots()
        axes.bar(x - 0.2, messages, 0.36, color="#56b4e9", label="messages (model)")
        axes.bar(x - 0.2, computed, 0.36, bottom=messages, color="#0072b2", label="computation, measured here")
        axes.bar(x + 0.2, messages, 0.36, color="#56b4e9", alpha=0.6)
        axes.bar(x + 0.2, 100.0, 0.36, bottom=messages, color=PUBLISHED, label="computation, 100 ms assumed")
        published = column(rows, "published_ms")
        axes.plot(x + 0.2, published, "_", color=INK, ms=19, mew=1.6, label="paper's Table 6")
        for n, height in enumerate(messages + computed):
            at = (n - 0.2, height)
            axes.annotate(f"{height:.1f}", at, xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8)
        axes.set_xticks(x, labels, fontsize=8)
        axes.set_ylabel("length of a round [ms]")
        axes.set_ylim(0, 175)
        axes.legend(ncols=2, loc="upper left")
    return path


@click.command()
@seeds_option(1)
@timed
def command(asked: Computing, seeds: int) -> None:
    """Measure how long a round of the control loop takes."""
    rows = compute(seeds, asked.runner("Table 6: measuring"))
    files = [asked.csv("table6", rows), draw(rows, asked.png("table6"))]
    asked.conclude(rows, [table("Table 6: length of the control loop", rows)], files)
