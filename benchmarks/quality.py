"""How close the placements come to the best possible one: ``python -m benchmarks.quality``.

The best possible *total* is the largest sum of rates that flows can have if each takes one path, no link
carries more than its capacity, and no flow has more than its natural demand; a solver finds it.
Where the solver's time runs out, what it proved that no choice of paths can exceed stands in, so the ratios are then
too low rather than too high. A placement's total is the sum of the max-min fair rates on the paths it chose, no
flow above its demand; its ratio to the best is at most 1, up to GAP.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

import click
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]

from hedera.clos import ClosColouring
from hedera.demand import estimate_demands
from hedera.flow_annealing import FlowAnnealing
from hedera.global_first_fit import GlobalFirstFit
from hedera.maxmin import max_min_rates
from hedera.placement import Placement
from hedera.routing import Ecmp
from hedera.scheduler import ActiveFlows, Scheduler
from hedera.simulated_annealing import SimulatedAnnealing
from results.output import plain_table, wide_console
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import num_links, path_links
from traffic.matrix import Matrix
from traffic.patterns import draw
from traffic.ports import source_ports
from traffic.published import PUBLISHED

TREE = FatTree(4)
GAP = 1e-6  # relative, at which the solver stops
COLUMNS = ("ECMP", "GFF", "SA", "SA, 10 periods", "SA per flow", "colouring")


def best_total(matrix: Matrix, demand: Float64, seconds: float) -> tuple[float, float]:
    """The best total that the solver found within ``seconds``, and what it proved that none can exceed.

    A mixed-integer program with two columns per flow and path: whether the flow takes it, and its rate there.
    """
    paths = [TREE.path_cores(s, d) for s, d in zip(matrix.src.tolist(), matrix.dst.tolist(), strict=True)]
    flow = np.repeat(np.arange(demand.size), [len(cores) for cores in paths])
    core = np.array([c for cores in paths for c in cores])
    n = flow.size
    links = path_links(TREE, matrix.src[flow], matrix.dst[flow], core)[:, 1:5]
    on_link = np.zeros((num_links(TREE), n))
    on_link[links[links >= 0], np.repeat(np.arange(n), 4).reshape(n, 4)[links >= 0]] = 1
    of_flow = (flow == np.arange(demand.size)[:, None]).astype(float)
    nothing = np.zeros_like
    rules = [
        LinearConstraint(np.hstack([of_flow, nothing(of_flow)]), 1, 1),  # one path per flow
        LinearConstraint(np.hstack([-np.diag(demand[flow]), np.eye(n)]), -np.inf, 0),  # no rate elsewhere
        LinearConstraint(np.hstack([nothing(on_link), on_link]), -np.inf, 1),  # capacity
    ]
    solved = milp(
        c=np.concatenate([np.zeros(n), -np.ones(n)]),
        constraints=rules,
        integrality=np.concatenate([np.ones(n), np.zeros(n)]),
        bounds=Bounds(0, np.concatenate([np.ones(n), demand[flow]])),
        options={"time_limit": seconds, "mip_rel_gap": GAP},
    )
    if solved.x is None:
        raise click.ClickException(f"the solver found no placement within {seconds} s; allow it more")
    return -solved.fun, -solved.mip_dual_bound


def total(matrix: Matrix, demand: Float64, core: Int32) -> float:
    """The sum of the max-min fair rates on these paths, each flow being held to its demand by a link of its own."""
    paths = path_links(TREE, matrix.src, matrix.dst, core)
    own = num_links(TREE) + np.arange(demand.size, dtype=np.int32)
    capacity = np.concatenate([np.ones(num_links(TREE)), demand])
    return float(max_min_rates(np.column_stack([paths, own]), capacity).sum())


def totals(matrix: Matrix, demand: Float64, seed: int) -> dict[str, float]:
    hashed = Ecmp(TREE, seed).cores(matrix.src, matrix.dst, source_ports(matrix, seed), 5001)

    def placed(placement: Placement, periods: int = 1) -> float:
        scheduler = Scheduler(TREE, placement, threshold=0.0)
        core = hashed
        key = np.random.default_rng(seed).permutation(matrix.src.size)  # first fit goes by the table's order
        for period in range(periods):
            table = ActiveFlows(key, matrix.src[key], matrix.dst[key], demand[key], core[key], hashed[key])
            core = core.copy()
            for changed, to in scheduler.round(period, table).changes:
                core[changed] = to
        return total(matrix, demand, core)

    def rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    reached = (
        total(matrix, demand, hashed),
        placed(GlobalFirstFit(TREE)),
        placed(SimulatedAnnealing(TREE, rng())),
        placed(SimulatedAnnealing(TREE, rng()), periods=10),
        placed(FlowAnnealing(TREE, rng())),
        placed(ClosColouring(TREE)),
    )
    return dict(zip(COLUMNS, reached, strict=True))


def rows(trials: int, matrices: int, seconds: float) -> Iterator[dict[str, Any]]:
    """The 20 published matrices, then ``matrices`` random ones of each of 1 to 4 flows per host: totals in link
    capacities, ratios to ``bound`` by column, median over trials. The best total is from ``found`` to ``bound``."""
    specs = [(f"published:{name}", 1, 1) for name in PUBLISHED]
    specs += [("random", per_host, seed) for per_host in (1, 2, 3, 4) for seed in range(1, matrices + 1)]
    for spec, per_host, seed in specs:
        matrix = draw(spec, TREE, seed, flows_per_host=per_host)
        demand = estimate_demands(matrix.src, matrix.dst, TREE.num_hosts)
        found, bound = best_total(matrix, demand, seconds)
        results = [totals(matrix, demand, trial) for trial in range(trials)]
        name = spec if spec.startswith("published") else f"random, {per_host} per host, seed {seed}"
        yield {"name": name, "demand": float(demand.sum()), "found": found, "bound": bound} | {
            column: statistics.median(result[column] for result in results) / bound for column in COLUMNS
        }


@click.command()
@click.option("--trials", type=click.IntRange(1), default=21, show_default=True, help="Seeds per matrix.")
@click.option("--matrices", type=click.IntRange(0), default=3, show_default=True, help="Random ones of each kind.")
@click.option(
    "--seconds", type=click.FloatRange(0.1), default=20.0, show_default=True, help="Solver's limit per matrix."
)
def main(trials: int, matrices: int, seconds: float) -> None:
    """Compare the placements with the best possible one, at k=4."""
    title = "Total rate over the best possible, k=4 (median over trials; totals in links)"
    table = plain_table(title, "matrix", "demand", "optimum", *COLUMNS)
    parts: dict[str, list[dict[str, Any]]] = {"published": [], "random": []}
    for row in rows(trials, matrices, seconds):
        parts["published" if row["name"].startswith("published") else "random"].append(row)
        low, high = "{found:.2f} {bound:.2f}".format(**row).split()
        optimum = high if low == high else f"{low} to {high}"
        table.add_row(row["name"], f"{row['demand']:.2f}", optimum, *(f"{row[name]:.3f}" for name in COLUMNS))
    table.add_section()
    for label, part in parts.items():
        if part:
            means = (f"{statistics.mean(row[name] for row in part):.3f}" for name in COLUMNS)
            table.add_row(f"mean, {label}", "", "", *means)
    wide_console().print(table)


if __name__ == "__main__":
    main()
