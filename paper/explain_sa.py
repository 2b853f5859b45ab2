"""The command `hedera explain-sa`: section 4.4's claims for a core per destination host, against a core per flow.

Its baseline is annealing over single flows (`hedera.flow_annealing`). The claim, "a 20% improvement in bisection
bandwidth and a 10X reduction in computation time", is for 8,192 hosts with 16,000 flows, and does not give the
iterations. So times are compared for equally good placements, and for equally many iterations.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from math import lgamma, log, log10
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.options import field_options, seeds_option
from paper.one_core import patterns
from paper.study import Row, column, compared, grouped, over_seeds, table, told_seeds
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import ENGINES, Config
from topos.arrays import Float64
from topos.fattree import FatTree

if TYPE_CHECKING:
    from rich.table import Table

PER_HOST, PER_FLOW = "hedera-sa", "hedera-flow-sa"
COUNTS = (1_000, 10_000, 100_000)
"""Iterations per round in simulations."""
SEARCHED = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Iterations of single searches."""
FLOWS_PER_HOST = 2
GAIN, LESS_TIME = 20.0, 10.0
"""Published: percent more bandwidth, and the ratio of times."""


def simulated(base: Config, seeds: int, run: Runner = in_turn) -> list[Row]:
    """``base`` with random receivers under both schemes and the non-blocking network: a row for each seed.
    ``iterations``: of every round; None of the non-blocking network."""
    from simulator.driver import bisection_mbps

    cases = [
        replace(base, engine=engine, scheme=scheme, iterations=count)
        for engine in ENGINES
        for scheme, counts in (("nonblocking", (1,)), (PER_HOST, COUNTS), (PER_FLOW, COUNTS))
        for count in counts
    ]
    return [
        {
            "engine": case.engine, "scheme": case.scheme,
            "iterations": None if case.scheme == "nonblocking" else case.iterations,
            "seed": seed, "percent_of_full": 100 * value / case.capacity_mbps,
        }
        for case, values in zip(cases, over_seeds(run, bisection_mbps, cases, seeds), strict=True)
        for seed, value in enumerate(values, start=1)
    ]  # fmt: skip


def searches(task: tuple[int, int]) -> list[Row]:
    """For a fat-tree's k and a seed: both placements with every number of iterations, from the same random hashed
    paths: the capacity still exceeded, and the processor time without set-up."""
    from hedera.flow_annealing import FlowAnnealing
    from hedera.placement import exceeded_capacity
    from hedera.simulated_annealing import SimulatedAnnealing
    from paper.table_5 import placement_input

    k, seed = task
    tree, flows, links = placement_input(k, FLOWS_PER_HOST * FatTree(k).num_hosts, seed)
    found = []
    for scheme, build in ((PER_HOST, SimulatedAnnealing), (PER_FLOW, FlowAnnealing)):
        spent = {}
        for count in (0, 0, *SEARCHED):  # twice: the first call may compile
            placement = build(tree, np.random.default_rng(seed), count)
            start = time.thread_time()
            core = placement.place(flows, links)
            spent[count] = 1e3 * (time.thread_time() - start)
            if count:
                excess = exceeded_capacity(tree, flows.src, flows.dst, flows.demand, core, links)
                took = {"excess_links": excess, "search_ms": spent[count] - spent[0]}
                found.append({"scheme": scheme, "iterations": count, "seed": seed, **took})
    return found


def gains(rows: Sequence[Row], engine: str, count: int) -> Float64:
    """Percent more bandwidth with a core per host, (seeds,)."""
    cases = grouped(rows, "engine", "scheme", "iterations")
    ours, theirs = (column(cases[engine, scheme, count], "percent_of_full") for scheme in (PER_HOST, PER_FLOW))
    return np.asarray(100 * (ours / theirs - 1))


def times_less(rows: Sequence[Row], count: int) -> tuple[Float64, Float64]:
    """How many times the iterations, and the processor time, (seeds,), a core per flow needs for as little excess as
    a core per host has after ``count`` iterations. Interpolated between the numbers tried, by their logarithms. The
    time of an iteration is that in the longest search."""
    more, longer = [], []
    for same in grouped(rows, "seed").values():
        own = {(row["scheme"], row["iterations"]): row for row in same}
        left = [-own[PER_FLOW, tried]["excess_links"] for tried in SEARCHED]  # which rises, as np.interp wants it
        needed = np.exp(np.interp(-own[PER_HOST, count]["excess_links"], left, np.log(SEARCHED))) / count
        more.append(needed)
        longer.append(needed * own[PER_FLOW, SEARCHED[-1]]["search_ms"] / own[PER_HOST, SEARCHED[-1]]["search_ms"])
    return np.array(more), np.array(longer)


def search_space(k: int) -> float:
    """How many powers of ten fewer states there are with a core per host than per flow, with as many flows as
    hosts."""
    cores, hosts = (k // 2) ** 2, FatTree(k).num_hosts
    return hosts * log10(cores) - k * lgamma(cores + 1) / log(10)


@click.command("explain-sa")
@field_options(Config, "k seconds tick_s", k=32, tick_s=0.01)
@seeds_option(5)
@click.option("--random-patterns", "drawn", default=40, show_default=True, help="Random patterns of 16 hosts.")
@computed
def command(asked: Computing, seeds: int, drawn: int, **fields: Any) -> None:
    """Measure what a core per destination host gains over a core per flow, and what it cannot place (section 4.4)."""
    base = Config("ecmp", "random", flows_per_host=FLOWS_PER_HOST, **fields)
    rows = simulated(base, seeds, asked.runner(f"Section 4.4, k={base.k}"))
    every = [(base.k, seed) for seed in range(1, seeds + 1)]
    found = [row for some in asked.runner("Searching")(searches, every) for row in some]
    kept = patterns(drawn, asked.runner("Patterns"))
    files = [
        asked.csv(f"explain_sa_k{base.k}", rows),
        asked.csv(f"explain_sa_search_k{base.k}", found),
        asked.csv("explain_sa_patterns", kept),
    ]
    bandwidth = [
        compared(f"{engine}, {count:,} iterations", GAIN, gains(rows, engine, count))
        for engine in ENGINES
        for count in COUNTS
    ]
    work = []
    for count in COUNTS:
        more, longer = times_less(found, count)
        aim = f"until the excess of {count:,} iterations per host"
        work += [compared(f"iterations {aim}", None, more), compared(f"processor time {aim}", LESS_TIME, longer)]
    drawn_ones = [row for row in kept if row["pattern"].startswith("random")]
    left = sum(row["least_excess_links"] > 0 for row in drawn_ones)
    many = f"{base.tree.num_hosts:,} hosts, {FLOWS_PER_HOST * base.tree.num_hosts:,} flows, {told_seeds(seeds)}"
    told: list[Table | str] = [
        table(f"A core per host over a core per flow, {many}: percent more bandwidth", bandwidth),
        table(f"A core per flow over a core per host, {many}: times the work", work),
        table("Capacity exceeded with a core per host, at least, and per flow, links", kept[: -drawn or None]),
        f"So it is with {left} of {len(drawn_ones)} random patterns. 27,648 hosts with as many flows: a search space "
        f"10^{search_space(48):,.0f} times smaller (the paper: 10^12,000).",
    ]
    asked.conclude(rows, told, files)
