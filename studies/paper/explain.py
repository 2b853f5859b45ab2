"""Explanations of what the paper measured: `hedera explain-ecmp`, `explain-gff` and `explain-sa`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import lgamma, log, log10
from pathlib import Path
from typing import Any

import click
import numpy as np

from hedera.hashes import HASHES, parse_hash
from hedera.schemes import CONTROL
from plots import MUTED, picture
from record.options import Command, field_options
from record.published import FIGURE_9, FIGURE_9_SIMULATED
from simulator.config import ENGINES, Config
from studies.paper import KEPT_RULE
from studies.study import (
    Parts,
    Row,
    Rows,
    Study,
    compare_with_paper,
    describe_interval_seeds,
    extract_column,
    group_rows,
    make_table,
    simulate_bisection,
    study,
)
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import NO_LINK, num_links, path_links

# explain-ecmp: which static routing fits the published testbed "ECMP" bars of Figure 9? Section 6.2 says they are a
# hash of the destination address. For every published matrix, each routing in turn is simulated: the tree, and every
# hash that there is, with and without a salt for each switch. One scale factor per routing, fitted by least squares,
# accounts for what the simulator leaves out (headers, timeouts); the remaining errors are compared. Beside it, without
# any fitting, stands how far shares of the control are from the published shares. The testbed's hash functions and
# ports are unknown, so hashed routings are tried with many seeds, where a seed makes a difference.

TREE = "spanning-tree"
HASHED = {
    f"ecmp@{name}:{fields}": f"{name}:{fields}" for name, function in HASHES.items() for fields in function.fields
}
ROUTINGS = {TREE: "spanning tree", **HASHED}
"""The routings to try, by their schemes."""
OURS = ("salted", "unsalted")
"""The functions whose seed makes another function. Of all others a seed draws only the flows' ports."""
PREDICTED_S = 6.0
PANELS = ("spanning tree", "unsalted:edge-pair", "unsalted:5-tuple", "salted:5-tuple")


def is_seed_dependent(scheme: str) -> bool:
    """Whether another seed gives other paths: not under the tree, nor by a fixed function that sees no ports."""
    hash = parse_hash(HASHED[scheme]) if scheme in HASHED else None
    return hash is not None and (hash.function in OURS or hash.salted or hash.fields == "5-tuple")


def predict(case: Config) -> Float64:
    """Bisection bandwidth of every published matrix, Mb/s, float64 (matrices,), without any fitting."""
    return np.array([simulate_bisection(replace(case, traffic=f"published:{name}")) for name in FIGURE_9])


def fit(predicted: Float64, measured: Float64) -> tuple[float, float, float]:
    """The factor by which a prediction (matrices,) fits the measured values best (least squares), the mean relative
    error that remains, as a fraction of what was measured, and Pearson's correlation; nan where either is constant."""
    scale = float(predicted @ measured / (predicted @ predicted))
    error = float(np.mean(np.abs(scale * predicted - measured) / measured))
    # A scale without an offset: what the simulator leaves out (headers, timeouts) takes a share of every rate.
    constant = np.ptp(predicted) == 0 or np.ptp(measured) == 0
    return scale, error, float("nan") if constant else float(np.corrcoef(predicted, measured)[0, 1])


def _make_fit_rows(answers: dict[Config, list[Float64]]) -> Rows:
    """A row for each routing and engine, with a scale fitted to the mean over seeds; and one for each prediction.

    Shares are of the control under the same engine, ``from_published_points`` their mean distance from the published
    ones; of single seeds there are the best and the worst."""
    measured, control = (np.array([bars[name] for bars in FIGURE_9.values()]) for name in ("ecmp", CONTROL))
    predicted: dict[tuple[str, str], list[Float64]] = {}
    full = {case.engine: rates for case, (rates,) in answers.items() if case.scheme == CONTROL}
    for case, (rates,) in answers.items():
        if case.scheme != CONTROL:
            predicted.setdefault((ROUTINGS[case.scheme], case.engine), []).append(rates)
    fits, predictions = [], []
    for (routing, engine), by_seed in predicted.items():
        mean = np.mean(by_seed, axis=0)
        scale, error, correlation = fit(mean, measured)
        errors = [100 * fit(rates, measured)[1] for rates in by_seed]
        points = [100 * float(np.mean(np.abs(rates / full[engine] - measured / control))) for rates in by_seed]
        labels: Row = {"routing": routing, "engine": engine}
        fits.append(
            {
                **labels, "seeds": len(by_seed), "scale": scale, "mean_relative_error_percent": 100 * error,
                "correlation": correlation, "best_single_seed_error_percent": min(errors),
                "worst_single_seed_error_percent": max(errors),
                "mean_share_percent": 100 * float(np.mean(mean / full[engine])),
                "from_published_points": 100 * float(np.mean(np.abs(mean / full[engine] - measured / control))),
                "best_single_seed_points": min(points),
            }
        )  # fmt: skip
        for name, paper, mean_of_matrix in zip(FIGURE_9, measured.tolist(), mean.tolist(), strict=True):
            bars = {"published_mbps": paper, "predicted_mbps": mean_of_matrix, "scaled_mbps": scale * mean_of_matrix}
            predictions.append({"matrix": name, **labels, **bars})
    return {"explain_ecmp": predictions, "explain_ecmp_fits": fits}


def _tabulate_fits(rows: Rows) -> Parts:
    fits = sorted(rows["explain_ecmp_fits"], key=lambda row: float(row["mean_relative_error_percent"]))
    closest = group_rows(rows["explain_ecmp"], "routing", "engine")[fits[0]["routing"], fits[0]["engine"]]
    return [
        make_table(
            "Published testbed ECMP bars against static routings, the closest first",
            [_select_shown(row) for row in fits],
        ),
        make_table("The closest: predictions, and scaled by one factor", closest),
    ]


def _select_shown(row: Row) -> Row:
    """What the terminal has room for."""
    return {name: row[name] for name in ("routing", "engine", "seeds", *SHOWN_OF_FITS)}


SHOWN_OF_FITS = (
    "mean_relative_error_percent", "correlation", "best_single_seed_error_percent", "mean_share_percent",
    "from_published_points",
)  # fmt: skip


def _is_salted(routing: str) -> bool:
    return routing != ROUTINGS[TREE] and parse_hash(routing).salted


def _draw_fits(rows: Rows, path: Path) -> None:
    """Above, published bars against scaled predictions of four routings; below, what error each routing leaves."""
    fits = {row["routing"]: row for row in rows["explain_ecmp_fits"] if row["engine"] == "maxmin"}
    predictions = group_rows(rows["explain_ecmp"], "routing", "engine")
    title = 'Which routing do the published "ECMP" bars look like?'
    with picture(path, 11, 3.2 + 0.24 * len(fits), title) as figure:
        parts: Any = figure.subfigures(2, 1, height_ratios=[2.9, 0.24 * len(fits)])
        above, below = parts
        grid = above.subplots(1, len(PANELS), sharex=True, sharey=True)
        for axes, routing in zip(grid, PANELS, strict=True):
            points = predictions[routing, "maxmin"]
            axes.plot([0, 14], [0, 14], color=MUTED, lw=0.8)
            x, y = extract_column(points, "scaled_mbps") / 1000, extract_column(points, "published_mbps") / 1000
            axes.plot(x, y, "o", ms=4.5, color=_shade(routing), alpha=0.8, mew=0)
            axes.set_title(routing)
            note = "error {mean_relative_error_percent:.1f} %\ncorrelation {correlation:.3f}"
            axes.text(0.05, 0.95, note.format(**fits[routing]), transform=axes.transAxes, va="top", fontsize=8.5)
            axes.set(xticks=(0, 4, 8, 12), yticks=(0, 4, 8, 12), xlim=(0, 14), ylim=(0, 14), aspect="equal")
            axes.grid(axis="x")
        above.supxlabel("predicted (max-min), scaled by one factor [Gb/s]", fontsize=9)
        grid[0].set_ylabel('published testbed\n"ECMP" [Gb/s]')
        axes = below.subplots()
        order = sorted(fits.values(), key=lambda row: float(row["mean_relative_error_percent"]), reverse=True)
        for place, row in enumerate(order):
            shade = _shade(row["routing"])
            ends = [float(row[f"{end}_single_seed_error_percent"]) for end in ("best", "worst")]
            axes.plot(ends, [place, place], color=shade, lw=1.4, alpha=0.5)
            axes.plot(float(row["mean_relative_error_percent"]), place, "o", ms=5, color=shade)
        axes.set(
            yticks=range(len(order)), yticklabels=[row["routing"] for row in order], ylim=(-0.7, len(order) - 0.3),
            xlim=(0, None), xlabel="mean error that one factor leaves, %: of the mean over seeds (dot), "
            "of the best to the worst single seed (line)",
        )  # fmt: skip
        axes.grid(axis="x")
        for name, shade in SHADES.items():
            axes.plot([], [], "o", ms=5, color=shade, label=name)
        axes.legend(loc="upper right", fontsize=8.5)


SHADES = {"one tree": "#d55e00", "one hash for all switches": "#e69f00", "a salt for each switch": "#0072b2"}


def _shade(routing: str) -> str:
    tree, polarised, salted = SHADES.values()
    return tree if routing == ROUTINGS[TREE] else salted if _is_salted(routing) else polarised


def _add_seeds_option(option: str, default: int, engine: str) -> Command:
    text = f"Hash functions to try with the engine {engine}."
    return click.option(option, default=default, type=click.IntRange(1), show_default=True, help=text)


@study(_add_seeds_option("--seeds", 200, "maxmin"), _add_seeds_option("--aimd-seeds", 20, "aimd"))
def explain_ecmp(seeds: int, aimd_seeds: int) -> Study:
    """Find the static routing that the published testbed "ECMP" bars fit best."""
    routings = {"maxmin": ROUTINGS, "aimd": [name for name in ROUTINGS if name == TREE or _is_ours(name)]}
    cases = [
        Config(scheme, "published", seconds=PREDICTED_S, engine=engine, seed=seed)
        for engine, count in (("maxmin", seeds), ("aimd", aimd_seeds))
        for scheme in (CONTROL, *routings[engine])
        # Under the tree the order of flows is drawn, which ideal shares do not have.
        for seed in range(1, 1 + (count if is_seed_dependent(scheme) or (engine == "aimd" and scheme == TREE) else 1))
    ]
    return Study(
        cases, predict, _make_fit_rows, _tabulate_fits, _draw_fits, label="Predicting", main="explain_ecmp_fits"
    )


def _is_ours(scheme: str) -> bool:
    """Whether the hash is one of ours. AIMD takes a hundred times as long as max-min, and is simulated with these
    alone."""
    return scheme in HASHED and parse_hash(HASHED[scheme]).function in OURS


READING = "as read"
"""Global First Fit places flows by estimated demands (section 4.2), in the order of a table, from the first core on."""


def _make_first_fit_row(case: Config, rates: list[float]) -> Row:
    """A matrix under Global First Fit. ``deviations``: (published - mean) / sd, None where sd is below 1 Mb/s."""
    matrix = case.traffic.removeprefix("published:")
    paper, mean = FIGURE_9_SIMULATED[matrix]["hedera-gff"], float(np.mean(rates))
    sd = float(np.std(rates, ddof=1)) if len(rates) > 1 else 0.0
    return {
        "reading": READING, "matrix": matrix, "published_mbps": paper, "mean_mbps": mean, "sd_mbps": sd,
        "lowest_mbps": min(rates), "highest_mbps": max(rates),
        "deviations": (paper - mean) / sd if sd >= 1 else None,
    }  # fmt: skip


def summarise(rows: Sequence[Row], seeds: int) -> Row:
    """Our means relative to the published numbers, with sign (bias) and without; in how many matrices the published
    number is between our lowest and highest, rounded to whole Mb/s; and the largest absolute deviation, if any."""
    gaps = 100 * (extract_column(rows, "mean_mbps") / extract_column(rows, "published_mbps") - 1)
    inside = [round(row["lowest_mbps"]) <= row["published_mbps"] <= round(row["highest_mbps"]) for row in rows]
    deviations = {row["matrix"]: abs(row["deviations"]) for row in rows if row["deviations"] is not None}
    worst_matrix = max(deviations, key=deviations.__getitem__) if deviations else ""
    return {
        "reading": READING, "seeds": seeds, "matrices": len(rows), "bias_percent": float(np.mean(gaps)),
        "error_percent": float(np.mean(np.abs(gaps))), "inside": sum(inside),
        "worst_deviations": deviations.get(worst_matrix), "worst_matrix": worst_matrix,
    }  # fmt: skip


@study(field_options(Config, "tick_s large_flows", large_flows=KEPT_RULE), seeds=30)
def explain_gff(seeds: int, tick_s: float, large_flows: str = KEPT_RULE) -> Study:
    """Set Global First Fit beside the results of the paper's own simulator, for the traffic of Figure 9."""
    cases = [
        Config("hedera-gff", f"published:{matrix}", tick_s=tick_s, large_flows=large_flows)
        for matrix in FIGURE_9_SIMULATED
    ]

    def make_rows(answers: dict[Config, list[float]]) -> Rows:
        fits = [_make_first_fit_row(case, rates) for case, rates in answers.items()]
        return {"explain_gff": fits, "explain_gff_readings": [summarise(fits, seeds)]}

    def make_tables(rows: Rows) -> Parts:
        single = make_table("Global First Fit, the paper's simulator and ours", rows["explain_gff"])
        return [single, make_table("All together", rows["explain_gff_readings"])]

    return Study(
        cases, simulate_bisection, make_rows, make_tables, label="Predicting", seeds=seeds, main="explain_gff_readings"
    )


# explain-sa: section 4.4's claims for a core per destination host, against a core per flow.
#
# Its baseline is annealing over single flows (`hedera.simulated_annealing`). The claim, "a 20% improvement in bisection
# bandwidth and a 10X reduction in computation time", is for 8,192 hosts with 16,000 flows, and does not give the
# iterations, so several are tried. The time is measured in docs/notes/simulator.md.
#
# There are patterns that no assignment of one core to each receiving host can place, although a core per flow can.
# Section 4.4 says, without a proof, that "all communication patterns can be handled if i) the maximum number of large
# flows to or from a host is at most k/2 [...] or ii) the minimum threshold of each large flow is set to 2/k of the link
# capacity". `make_counter_example` is a pattern with both properties. Let h = k/2. Every flow wants 1/h of a link, and
# every receiver named here has h flows, so it wants a whole link. Then no two receivers below one edge switch can share
# an aggregation switch, and an edge switch that sends h^2 flows fills its links upwards, h flows on each.
#
# * Edge switch 1 sends h flows to every host of edge switch X except one, B; h - 1 flows to B; and one to C, which is
#   elsewhere. The other hosts of X fill h - 1 links, so C shares B's aggregation switch.
# * Edge switch 2 sends one flow to B, h - 1 to C, and h - 1 to each of the h hosts of edge switch Z. B and C fill the
#   link to their aggregation switch, but one host of Z uses that switch too. So some link is exceeded.
# * Edge switch 3 sends one flow to each host of Z, so that each wants a whole link.
#
# With a core per flow every pattern of this kind fits: it is the sum of h permutations (König), and a fat-tree carries
# each of them with one flow on every link (`hedera.clos`).

PER_HOST, PER_FLOW = "hedera-sa", "hedera-flow-sa"
COUNTS = (1_000, 10_000, 100_000)
"""So many iterations the simulations have in each round."""
FLOWS_PER_HOST = 2
GAIN = 20.0
"""How many percent more bandwidth the paper reports."""


def compute_gains(rows: Sequence[Row], engine: str, count: int) -> Float64:
    """Percent more bandwidth with a core per host, (seeds,)."""
    cases = group_rows(rows, "engine", "scheme", "iterations")
    per_host, per_flow = (
        extract_column(cases[engine, scheme, count], "percent_of_full") for scheme in (PER_HOST, PER_FLOW)
    )
    return np.asarray(100 * (per_host / per_flow - 1))


def compute_search_space(k: int) -> float:
    """How many powers of ten fewer states there are with a core per host than per flow, with as many flows as
    hosts."""
    cores, hosts = (k // 2) ** 2, FatTree(k).num_hosts
    return hosts * log10(cores) - k * lgamma(cores + 1) / log(10)


Flows = tuple[int, Int32, Int32]
"""A fat-tree's k, and the source and destination of every flow, (flows,); each flow wants 2/k of a link."""


def make_counter_example(k: int) -> Flows:
    """The pattern above. Edge switches 1 and 2 are in pod 0, X (B its first host) and 3 in pod 1, C in 2, Z in 3."""
    tree = FatTree(k)
    half, pod = tree.half, tree.num_cores
    b, c, z = pod, 2 * pod, 3 * pod + np.arange(half)
    first = [*np.repeat(b + 1 + np.arange(half - 1), half), *[b] * (half - 1), c]
    second = [b, *[c] * (half - 1), *np.repeat(z, half - 1)]
    senders = (np.repeat(np.arange(half), half), np.repeat(half + np.arange(half), half), pod + half + np.arange(half))
    return k, np.concatenate(senders).astype(np.int32), np.array([*first, *second, *z], dtype=np.int32)


def draw_pattern(k: int, seed: int) -> Flows:
    """Every host sends k/2 flows and receives as many: k/2 bijections without self-flows, added together."""
    tree, rng = FatTree(k), np.random.default_rng(seed)
    hosts = np.arange(tree.num_hosts, dtype=np.int32)
    # Permutations with a host that sends to itself are drawn again: such a flow would load no link.
    receivers: list[Int32] = []
    while len(receivers) < tree.half:
        permutation = rng.permutation(hosts)
        if (permutation != hosts).all():
            receivers.append(permutation)
    return k, np.tile(hosts, tree.half), np.concatenate(receivers)


def minimise_excess(flows: Flows) -> float:
    """The least sum of exceeded capacity, in links, over all assignments of cores to hosts: an integer program."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # type: ignore[import-untyped]
    from scipy.sparse import csr_array, eye_array, hstack, kron  # type: ignore[import-untyped]

    k, src, dst = flows
    tree = FatTree(k)
    hosts, cores = tree.num_hosts, tree.num_cores
    core = np.tile(np.arange(cores), src.size)
    receiver = np.repeat(dst, cores)
    links = path_links(tree, np.repeat(src, cores), receiver, core)[:, 1:-1]
    path, tier = np.nonzero(links != NO_LINK)
    chosen = (receiver * cores + core)[path]  # the variable: that host receives by this core
    shape = (num_links(tree), hosts * cores)
    load = csr_array((np.full(path.size, 1 / tree.half), (links[path, tier], chosen)), shape=shape)
    one_core = kron(eye_array(hosts), np.ones((1, cores)))  # to each host by one core
    solution = milp(
        np.r_[np.zeros(shape[1]), np.ones(shape[0])],
        constraints=[
            LinearConstraint(hstack([load, -eye_array(shape[0])]), ub=1),
            LinearConstraint(hstack([one_core, csr_array((hosts, shape[0]))]), lb=1, ub=1),
        ],
        integrality=np.r_[np.ones(shape[1]), np.zeros(shape[0])],
        bounds=Bounds(0, np.r_[np.ones(shape[1]), np.full(shape[0], np.inf)]),
    )
    if solution.status != 0:
        raise RuntimeError(f"the least excess of a pattern was not found: {solution.message}")
    return round(float(solution.fun), 6) + 0.0


def simulate_per_flow(flows: Flows) -> float:
    from hedera.clos import ClosColouring
    from hedera.linkstate import LinkState
    from hedera.placement import LargeFlows, exceeded_capacity

    k, src, dst = flows
    tree = FatTree(k)
    demand, hashed = np.full(src.size, 1 / tree.half), np.zeros(src.size, dtype=np.int32)
    links = LinkState(tree)
    core = ClosColouring(tree).place(LargeFlows(np.arange(src.size), src, dst, demand, hashed, hashed), links)
    return exceeded_capacity(tree, src, dst, demand, core, links)


@dataclass(frozen=True)
class Pattern:
    """The counter-example (``seed`` is None), or a random pattern."""

    k: int
    seed: int | None = None

    @property
    def flows(self) -> Flows:
        return make_counter_example(self.k) if self.seed is None else draw_pattern(self.k, self.seed)


def measure(case: Config | Pattern) -> Row:
    """The row of one case. Of a simulation: ``iterations`` in every round, None without annealing. Of a pattern:
    ``least_excess_links``, the exact minimum of exceeded capacity, in links, over all choices of one core per receiving
    host; ``per_flow_links``, the capacity that edge colouring leaves exceeded with a core for each flow."""
    if isinstance(case, Config):
        return {
            "engine": case.engine, "scheme": case.scheme,
            "iterations": None if case.scheme == "nonblocking" else case.iterations,
            "seed": case.seed, "percent_of_full": 100 * simulate_bisection(case) / case.capacity_mbps,
        }  # fmt: skip
    name = "counter-example" if case.seed is None else f"random, seed {case.seed}"
    excess = {"least_excess_links": minimise_excess(case.flows), "per_flow_links": simulate_per_flow(case.flows)}
    return {"k": case.k, "pattern": name, "flows": case.flows[1].size, **excess}


def _tabulate_gains(tree: FatTree, seeds: int, rows: Rows) -> Parts:
    bandwidth, patterns = rows.values()
    many = f"{tree.num_hosts:,} hosts, {FLOWS_PER_HOST * tree.num_hosts:,} flows, {describe_interval_seeds(seeds)}"
    gained = [
        compare_with_paper(f"{engine}, {count:,} iterations", GAIN, compute_gains(bandwidth, engine, count))
        for engine in ENGINES
        for count in COUNTS
    ]
    random_rows = [row for row in patterns if row["pattern"].startswith("random")]
    other_rows = [row for row in patterns if row not in random_rows]
    unplaced = sum(row["least_excess_links"] > 0 for row in random_rows)
    return [
        make_table(f"A core per host over a core per flow, {many}: percent more bandwidth", gained),
        make_table("Capacity exceeded with a core per host, at least, and per flow, links", other_rows),
        f"So it is with {unplaced} of {len(random_rows)} random patterns. 27,648 hosts with as many flows: a search "
        f"space 10^{compute_search_space(48):,.0f} times smaller (the paper: 10^12,000).",
    ]


@study(
    field_options(Config, "k seconds tick_s large_flows", k=32, tick_s=0.01, large_flows=KEPT_RULE),
    click.option("--random-patterns", default=40, show_default=True, help="Random patterns of 16 hosts."),
    seeds=5,
)
def explain_sa(seeds: int, random_patterns: int, **fields: Any) -> Study:
    """Measure what a core per destination host gains over a core per flow, and what it cannot place (section 4.4)."""
    base = Config("ecmp", "random", flows_per_host=FLOWS_PER_HOST, **fields)
    simulations = [
        replace(base, engine=engine, scheme=scheme, iterations=count, seed=seed)
        for engine in ENGINES
        for scheme, counts in (("nonblocking", (1,)), (PER_HOST, COUNTS), (PER_FLOW, COUNTS))
        for count in counts
        for seed in range(1, seeds + 1)
    ]
    # Larger patterns would take too long.
    patterns = [*map(Pattern, (4, 6, 8)), *(Pattern(4, seed) for seed in range(1, random_patterns + 1))]

    def make_rows(answers: dict[Config | Pattern, list[Row]]) -> Rows:
        all_rows = [row for (row,) in answers.values()]
        return {
            f"explain_sa_k{base.k}": all_rows[: len(simulations)],
            "explain_sa_patterns": all_rows[len(simulations) :],
        }

    tables = partial(_tabulate_gains, base.tree, seeds)
    return Study([*simulations, *patterns], measure, make_rows, tables, label=f"Section 4.4, k={base.k}")
