"""The command `hedera explain-sa`: section 4.4's claims for a core per destination host, against a core per flow.

Its baseline is annealing over single flows (`hedera.simulated_annealing`). The claim, "a 20% improvement in bisection
bandwidth and a 10X reduction in computation time", is for 8,192 hosts with 16,000 flows, and does not give the
iterations, so several are tried. The time is measured in docs/notes/simulator.md.

There are patterns that no assignment of one core to each receiving host can place, although a core per flow can.
Section 4.4 says, without a proof, that "all communication patterns can be handled if i) the maximum number of large
flows to or from a host is at most k/2 [...] or ii) the minimum threshold of each large flow is set to 2/k of the link
capacity". `counter_example` is a pattern with both properties. Let h = k/2. Every flow wants 1/h of a link, and every
receiver named here has h flows, so it wants a whole link. Then no two receivers below one edge switch can share an
aggregation switch, and an edge switch that sends h^2 flows fills its links upwards, h flows on each.

* Edge switch 1 sends h flows to every host of edge switch X except one, B; h - 1 flows to B; and one to C, which is
  elsewhere. The other hosts of X fill h - 1 links, so C shares B's aggregation switch.
* Edge switch 2 sends one flow to B, h - 1 to C, and h - 1 to each of the h hosts of edge switch Z. B and C fill the
  link to their aggregation switch, but one host of Z uses that switch too. So some link is exceeded.
* Edge switch 3 sends one flow to each host of Z, so that each wants a whole link.

With a core per flow every pattern of this kind fits: it is the sum of h permutations (König), and a fat-tree carries
each of them with one flow on every link (`hedera.clos`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lgamma, log, log10
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.options import field_options, seeds_option
from record.tasks import Computing, Runner, computed, in_turn
from simulator.config import ENGINES, Config
from studies.study import Row, column, compared, grouped, over_seeds, table, told_seeds
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import NO_LINK, num_links, path_links

if TYPE_CHECKING:
    from rich.table import Table

PER_HOST, PER_FLOW = "hedera-sa", "hedera-flow-sa"
COUNTS = (1_000, 10_000, 100_000)
"""Iterations per round in simulations."""
FLOWS_PER_HOST = 2
GAIN = 20.0
"""Published: percent more bandwidth."""


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


def gains(rows: Sequence[Row], engine: str, count: int) -> Float64:
    """Percent more bandwidth with a core per host, (seeds,)."""
    cases = grouped(rows, "engine", "scheme", "iterations")
    ours, theirs = (column(cases[engine, scheme, count], "percent_of_full") for scheme in (PER_HOST, PER_FLOW))
    return np.asarray(100 * (ours / theirs - 1))


def search_space(k: int) -> float:
    """How many powers of ten fewer states there are with a core per host than per flow, with as many flows as
    hosts."""
    cores, hosts = (k // 2) ** 2, FatTree(k).num_hosts
    return hosts * log10(cores) - k * lgamma(cores + 1) / log(10)


Flows = tuple[int, Int32, Int32]
"""A fat-tree's k, and the source and destination of every flow, (flows,); each flow wants 2/k of a link."""


def counter_example(k: int) -> Flows:
    """The pattern above. Edge switches 1 and 2 are in pod 0, X (B its first host) and 3 in pod 1, C in 2, Z in 3."""
    tree = FatTree(k)
    half, pod = tree.half, tree.num_cores
    b, c, z = pod, 2 * pod, 3 * pod + np.arange(half)
    first = [*np.repeat(b + 1 + np.arange(half - 1), half), *[b] * (half - 1), c]
    second = [b, *[c] * (half - 1), *np.repeat(z, half - 1)]
    senders = (np.repeat(np.arange(half), half), np.repeat(half + np.arange(half), half), pod + half + np.arange(half))
    return k, np.concatenate(senders).astype(np.int32), np.array([*first, *second, *z], dtype=np.int32)


def random_pattern(k: int, seed: int) -> Flows:
    """Every host sends k/2 flows and receives as many: k/2 bijections without self-flows, added together."""
    tree, rng = FatTree(k), np.random.default_rng(seed)
    hosts = np.arange(tree.num_hosts, dtype=np.int32)
    receivers: list[Int32] = []
    while len(receivers) < tree.half:
        drawn = rng.permutation(hosts)
        if (drawn != hosts).all():
            receivers.append(drawn)
    return k, np.tile(hosts, tree.half), np.concatenate(receivers)


def least_excess(flows: Flows) -> float:
    """The least sum of exceeded capacity, in links, over all assignments of cores to hosts: an integer program."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
    from scipy.sparse import csr_array, eye_array, hstack  # type: ignore[import-untyped]

    k, src, dst = flows
    tree = FatTree(k)
    hosts, cores = tree.num_hosts, tree.num_cores
    core = np.tile(np.arange(cores), src.size)
    receiver = np.repeat(dst, cores)
    links = path_links(tree, np.repeat(src, cores), receiver, core)[:, 1:5]
    path, tier = np.nonzero(links != NO_LINK)
    chosen = (receiver * cores + core)[path]  # the variable: that host receives by this core
    shape = (num_links(tree), hosts * cores)
    load = csr_array((np.full(path.size, 1 / tree.half), (links[path, tier], chosen)), shape=shape)
    one = csr_array(
        (np.ones(shape[1]), (np.repeat(np.arange(hosts), cores), np.arange(shape[1]))), shape=(hosts, shape[1])
    )
    found = milp(
        np.r_[np.zeros(shape[1]), np.ones(shape[0])],
        constraints=[
            LinearConstraint(hstack([load, -eye_array(shape[0])]), ub=1),
            LinearConstraint(hstack([one, csr_array((hosts, shape[0]))]), lb=1, ub=1),
        ],
        integrality=np.r_[np.ones(shape[1]), np.zeros(shape[0])],
        bounds=Bounds(0, np.r_[np.ones(shape[1]), np.full(shape[0], np.inf)]),
    )
    if found.status != 0:
        raise RuntimeError(f"the least excess of a pattern was not found: {found.message}")
    return round(float(found.fun), 6) + 0.0


def per_flow(flows: Flows) -> float:
    from hedera.clos import ClosColouring
    from hedera.linkstate import LinkState
    from hedera.placement import LargeFlows, exceeded_capacity

    k, src, dst = flows
    tree = FatTree(k)
    demand, hashed = np.full(src.size, 1 / tree.half), np.zeros(src.size, dtype=np.int32)
    links = LinkState(tree)
    core = ClosColouring(tree).place(LargeFlows(np.arange(src.size), src, dst, demand, hashed, hashed), links)
    return exceeded_capacity(tree, src, dst, demand, core, links)


def _tried(flows: Flows) -> tuple[float, float]:
    return least_excess(flows), per_flow(flows)


def patterns(drawn: int, run: Runner = in_turn) -> list[Row]:
    """The counter-example for k = 4, 6 and 8, and ``drawn`` random patterns of 16 hosts; more would take too long.

    ``least_excess_links``: the exact minimum of exceeded capacity, in links, over all choices of one core per
    receiving host; ``per_flow_links``: the capacity that edge colouring leaves exceeded with a core for each flow.
    """
    cases = {("counter-example", k): counter_example(k) for k in (4, 6, 8)}
    cases |= {(f"random, seed {seed}", 4): random_pattern(4, seed) for seed in range(1, drawn + 1)}
    rows = []
    for ((name, k), flows), (least, left) in zip(cases.items(), run(_tried, list(cases.values())), strict=True):
        found = {"least_excess_links": least, "per_flow_links": left}
        rows.append({"k": k, "pattern": name, "flows": flows[1].size, **found})
    return rows


@click.command("explain-sa")
@field_options(Config, "k seconds tick_s", k=32, tick_s=0.01)
@seeds_option(5)
@click.option("--random-patterns", "drawn", default=40, show_default=True, help="Random patterns of 16 hosts.")
@computed
def command(asked: Computing, seeds: int, drawn: int, **fields: Any) -> None:
    """Measure what a core per destination host gains over a core per flow, and what it cannot place (section 4.4)."""
    base = Config("ecmp", "random", flows_per_host=FLOWS_PER_HOST, **fields)
    rows = simulated(base, seeds, asked.runner(f"Section 4.4, k={base.k}"))
    kept = patterns(drawn, asked.runner("Patterns"))
    files = [asked.csv(f"explain_sa_k{base.k}", rows), asked.csv("explain_sa_patterns", kept)]
    bandwidth = [
        compared(f"{engine}, {count:,} iterations", GAIN, gains(rows, engine, count))
        for engine in ENGINES
        for count in COUNTS
    ]
    drawn_ones = [row for row in kept if row["pattern"].startswith("random")]
    left = sum(row["least_excess_links"] > 0 for row in drawn_ones)
    many = f"{base.tree.num_hosts:,} hosts, {FLOWS_PER_HOST * base.tree.num_hosts:,} flows, {told_seeds(seeds)}"
    told: list[Table | str] = [
        table(f"A core per host over a core per flow, {many}: percent more bandwidth", bandwidth),
        table("Capacity exceeded with a core per host, at least, and per flow, links", kept[: -drawn or None]),
        f"So it is with {left} of {len(drawn_ones)} random patterns. 27,648 hosts with as many flows: a search space "
        f"10^{search_space(48):,.0f} times smaller (the paper: 10^12,000).",
    ]
    asked.conclude(rows, told, files)
