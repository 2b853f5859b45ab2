"""Figures 3, 9, 10 and 11 of the paper, by simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import click
import numpy as np
from msgspec import Meta

from hedera.compiled import compiled, draw_below, draw_bits, find_choice_links
from hedera.maxmin import compute_max_min_rates
from hedera.schemes import CONTROL
from plots import INK, MUTED, colour, label_scheme, load_sweep, order_schemes, picture
from plots.summary import FEWEST
from record.options import Command, field_options, options
from record.published import FIGURE_3, FIGURE_9, FIGURE_9_SIMULATED, GAIN_OVER_STATIC, SHARE_OF_OPTIMAL, TESTBED_ALONE
from record.run import Run
from record.spec import Experiment, described, list_options
from simulator.config import MAX_FLOWS, Config
from simulator.driver import simulate
from simulator.result import Result
from studies.paper import ENGINE_LABELS, KEPT_RULE, SCHEMES, engines_option, schemes_option
from studies.study import (
    SHOWN,
    Parts,
    Row,
    Rows,
    Study,
    average_over_seeds,
    compare_schemes_by_seed,
    compare_with_paper,
    compute_half_intervals,
    describe_interval_seeds,
    extract_column,
    group_rows,
    make_one_file,
    make_table,
    simulate_bisection,
    study,
)
from topos.arrays import Int32
from topos.fattree import FatTree
from topos.links import NO_LINK, num_links, path_links
from traffic.flows import Flows, Matrix, Stream, draw_source_ports, make_flows, make_generator

# Figure 3: a Monte Carlo over randomly hashed paths (section 2.2). Every host sends equal shares of its link's rate to
# ``flows_per_host`` random other hosts at once, each flow on a path by its own hash. "Each link is capped" can be read
# in two ways:
#
# * `compute_worst_link_loss`: a link whose flows want more than its rate cuts all of them by the same factor, and a
#   flow runs at the factor of the worst link on its path. It needs no memory per flow, so 27 million flows are fine.
# * `compute_max_min_loss`: other flows may use what a cut flow leaves unused on its other links.
#
# Only the links above the edge switches count: flows that meet at a receiver have not collided by hash.

COUNTS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000)
_STYLES = {
    "worst link": ("#0072b2", "o", "a flow runs at its worst link's share"),
    "max-min": ("#e69f00", "s", "max-min fair rates"),
}
MAX_MIN_FLOWS = 3_000_000
"""With more flows there is no max-min model, because it holds every flow's path in memory."""


@dataclass(frozen=True)
class Collisions:
    """A case of Figure 3; ``model``: one of MODELS."""

    tree: FatTree
    flows_per_host: int
    model: str
    seed: int = 1


def compute_loss(case: Collisions) -> float:
    """The share of all hosts' bandwidth that is lost to collisions, from 0 to 1."""
    return MODELS[case.model](case.tree, case.flows_per_host, case.seed)


def compute_worst_link_loss(tree: FatTree, flows_per_host: int, seed: int) -> float:
    """If a flow runs at its worst link's factor."""
    carried = _sum_of_worst(tree.half, flows_per_host, np.uint64(seed), np.zeros(num_links(tree) + 1, dtype=np.int32))
    return float(1.0 - carried / (tree.num_hosts * flows_per_host))


def compute_max_min_loss(tree: FatTree, flows_per_host: int, seed: int) -> float:
    """If the flows have max-min fair rates, with each host's sending link capped as well."""
    src, dst, core = draw_flows(tree, flows_per_host, seed)
    links = path_links(tree, src, dst, core)
    # The last link leads to the receiver. Flows that meet there have not collided by hash, so it does not limit them.
    links[:, 5] = NO_LINK
    rates = compute_max_min_rates(links, np.ones(num_links(tree)))
    return float(1.0 - rates.sum() / tree.num_hosts)


def draw_flows(tree: FatTree, flows_per_host: int, seed: int) -> tuple[Int32, Int32, Int32]:
    """The drawn flows: senders, receivers and cores, int32 of shape (hosts * flows_per_host,)."""
    flows = np.empty((tree.num_hosts * flows_per_host, 3), dtype=np.int32)
    _fill(tree.half, flows_per_host, np.uint64(seed), flows)
    return flows[:, 0], flows[:, 1], flows[:, 2]


MODELS = {"worst link": compute_worst_link_loss, "max-min": compute_max_min_loss}


@compiled
def _draw_pair(half: int, flows_per_host: int, flow: int, seed: np.uint64) -> tuple[int, int, int]:
    """Sender, receiver and core of a flow, from its number alone: both passes see the same flows."""
    src, hosts = flow // flows_per_host, 2 * half**3
    dst = draw_below(hosts - 1, draw_bits(seed, np.uint64(2 * flow)))
    core = draw_below(half * half, draw_bits(seed, np.uint64(2 * flow + 1)))
    return src, int(dst + (dst >= src)), int(core)


@compiled
def _fill(half: int, flows_per_host: int, seed: np.uint64, flows: Int32) -> None:
    for flow in range(len(flows)):
        flows[flow] = _draw_pair(half, flows_per_host, flow, seed)


@compiled
def _sum_of_worst(half: int, flows_per_host: int, seed: np.uint64, load: Int32) -> float:
    """Of all flows the factors of their worst links. ``load``: zeros, (links + 1,), the last of which is `NO_LINK`."""
    for flow in range(2 * half**3 * flows_per_host):
        src, dst, core = _draw_pair(half, flows_per_host, flow, seed)
        for link in find_choice_links(src, dst, core, half):
            load[link] += 1
    load[NO_LINK] = 0
    carried = 0.0
    for flow in range(2 * half**3 * flows_per_host):
        src, dst, core = _draw_pair(half, flows_per_host, flow, seed)
        max_load = flows_per_host
        for link in find_choice_links(src, dst, core, half):
            max_load = max(max_load, load[link])
        carried += flows_per_host / max_load
    return carried


def _make_loss_row(case: Collisions, shares: list[float]) -> Row:
    lost = [100 * share for share in shares]
    return {
        "model": case.model, "flows_per_host": case.flows_per_host, "loss_percent": float(np.mean(lost)),
        "lowest_percent": min(lost), "highest_percent": max(lost),
        "published_percent": FIGURE_3.get(case.flows_per_host),
    }  # fmt: skip


def _draw_losses(tree: FatTree, rows: Rows, path: Path) -> None:
    """A line per model, its range over seeds, and the two numbers of the paper's text."""
    subtitle = f"{tree.num_hosts:,} hosts (k = {tree.k}), random receivers, each path by its hash; "
    subtitle += "bands: lowest to highest seed"
    max_flows = max(row["flows_per_host"] for row in rows["figure3"])
    with picture(path, 6.8, 4.2, "Figure 3: what hash collisions cost", subtitle) as figure:
        axes = figure.subplots()
        for model, curve in group_rows(rows["figure3"], "model").items():
            shade, marker, text = _STYLES[model]
            names = ("flows_per_host", "loss_percent", "lowest_percent", "highest_percent")
            flows, lost, low, high = (extract_column(curve, name) for name in names)
            axes.fill_between(flows, low, high, color=shade, alpha=0.2, lw=0)
            axes.plot(flows, lost, marker=marker, ms=4, color=shade, label=text)
        published = {n: percent for n, percent in FIGURE_3.items() if n <= max_flows}
        axes.plot(
            list(published), list(published.values()), "x", color=INK, ms=9, mew=2, label="paper's text", zorder=5
        )
        for n, percent in published.items():
            axes.annotate(f"{percent} %", (n, percent), xytext=(9, 7), textcoords="offset points", fontsize=8.5)
        axes.set_xscale("log")
        ticks = [n for n in (1, 10, 100, 1000) if n <= max_flows]
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.minorticks_off()
        axes.set(ylim=(0, 70), xlabel="flows per host, at the same time")
        axes.set_ylabel("bisection bandwidth lost to collisions [%]")
        axes.legend()


@study(
    click.option("-k", "k", default=48, show_default=True, help="Ports per switch."),
    click.option("--max-flows", default=1000, type=click.IntRange(1), show_default=True, help="Per host."),
    seeds=5,
)
def figure_3(k: int, max_flows: int, seeds: int) -> Study:
    """What hash collisions cost, against flows per host (27,648 hosts)."""
    tree = FatTree(k)
    cases = [
        Collisions(tree, flows, model)
        for flows in COUNTS
        for model in MODELS
        if flows <= max_flows and (model != "max-min" or tree.num_hosts * flows <= MAX_MIN_FLOWS)
    ]
    title, draw = f"Figure 3: bisection bandwidth lost to hash collisions, k={k}", partial(_draw_losses, tree)
    return Study(
        cases,
        compute_loss,
        make_one_file("figure3", _make_loss_row),
        title,
        draw,
        label="Figure 3: Monte Carlo",
        seeds=seeds,
    )


# Figure 9. The paper's simulator agrees with ours for the control, Simulated Annealing and ECMP, but not for Global
# First Fit (`hedera explain-gff`). By section 4.3 it should lose nothing where theirs does (stride4: 12,533 Mb/s for
# any order of the flows, but theirs has 11,064).

FIGURE_9_SCHEMES = ("ecmp", "spanning-tree", "hedera-gff", "hedera-sa", "nonblocking")
_PUBLISHED_BARS: dict[str, dict[str, Any]] = {
    "testbed": {"color": "#d4d4d4"},
    "simulator": {"facecolor": "white", "edgecolor": MUTED, "hatch": "////", "linewidth": 0.5},
}
_PANELS = {
    'published "ECMP" against ours: 5-tuple hashing, and a spanning tree': ("ecmp", "spanning-tree"),
    "Global First Fit": ("hedera-gff",),
    "Simulated Annealing": ("hedera-sa",),
    "non-blocking network": ("nonblocking",),
}


def _make_bar(case: Config, rates: list[float]) -> Row:
    """The testbed's "ECMP" is shown beside every static scheme, the simulator's only beside ``ecmp``."""
    name, scheme = case.traffic.removeprefix("published:"), case.scheme
    simulated = None if scheme in TESTBED_ALONE else FIGURE_9_SIMULATED.get(name, {}).get(scheme)
    return {
        "matrix": name, "scheme": scheme, "published_testbed_mbps": FIGURE_9[name].get(scheme),
        "published_simulator_mbps": simulated, "mean_mbps": float(np.mean(rates)),
        "sd_mbps": float(np.std(rates)), "lowest_mbps": min(rates), "highest_mbps": max(rates),
    }  # fmt: skip


def _make_bars_and_seeds(answers: dict[Config, list[float]]) -> Rows:
    """A row for each bar; and, for the table of differences alone, one for each seed of it."""
    by_seed = [
        {"traffic": case.traffic, "scheme": case.scheme, "seed": seed, "mbps": rate}
        for case, rates in answers.items()
        for seed, rate in enumerate(rates, start=1)
    ]
    return {**make_one_file("figure9_simulated", _make_bar)(answers), SHOWN: by_seed}


def _draw_bars(seeds: int, rows: Rows, path: Path) -> None:
    """A panel for each scheduler, and one for the static schemes; published bars are at the left of a group."""
    bars = {(row["matrix"], row["scheme"]): row for row in rows["figure9_simulated"]}
    names, drawn_schemes = (list(dict.fromkeys(keys)) for keys in zip(*bars, strict=True))
    panels = {title: [s for s in schemes if s in drawn_schemes] for title, schemes in _PANELS.items()}
    panel_schemes = [scheme for schemes in _PANELS.values() for scheme in schemes]
    panels |= {label_scheme(s): [s] for s in drawn_schemes if s not in panel_schemes}
    panels = {title: schemes for title, schemes in panels.items() if schemes}
    x = np.arange(len(names))
    with picture(path, 11, 1.2 + 2.0 * len(panels), "Figure 9, simulated: 16 hosts, 1 Gb/s links\n") as figure:
        from matplotlib.patches import Patch

        all_axes = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (title, schemes) in zip(all_axes, panels.items(), strict=True):
            width = 0.84 / (2 + len(schemes))
            left_x = x - 0.42 + width / 2
            for number, (source, style) in enumerate(_PUBLISHED_BARS.items()):
                published = [bars[n, schemes[0]][f"published_{source}_mbps"] or 0 for n in names]
                axes.bar(left_x + number * width, np.array(published) / 1000, width, **style)
            for number, scheme in enumerate(schemes, start=2):
                bars_of_scheme, place = [bars[n, scheme] for n in names], left_x + number * width
                mean, deviation = (
                    extract_column(bars_of_scheme, f"{statistic}_mbps") / 1000 for statistic in ("mean", "sd")
                )
                axes.bar(place, mean, width, color=colour(scheme))
                half = compute_half_intervals(deviation, seeds)
                wide = half > 0.05  # the others would be specks
                axes.vlines(place[wide], (mean - half)[wide], (mean + half)[wide], color=INK, lw=1)
            axes.set(title=title, ylim=(0, 16), yticks=(0, 4, 8, 12, 16), ylabel="Gb/s")
        all_axes[-1].set_xticks(x, names, rotation=40, ha="right", rotation_mode="anchor")
        all_axes[-1].set_xlim(-0.6, len(names) - 0.4)
        handles = [Patch(**style, label=f"published, {source}") for source, style in _PUBLISHED_BARS.items()]
        handles += [Patch(color=colour(s), label=f"simulated, {label_scheme(s)}") for s in drawn_schemes]
        figure.legend(handles=handles, loc="outside upper right", ncols=3, fontsize=8.5)
        note = f"bars: mean of {seeds} seed{'s' * (seeds > 1)}"
        note += "; lines: 95 % interval of the mean, where it is wider than 0.1 Gb/s" if seeds >= FEWEST else ""
        figure.supxlabel(note, fontsize=8.5, color=MUTED)


@study(
    click.option(
        "--simulated", is_flag=True, help="Use the simulator (for the figure of emulated runs: hedera report DIR)."
    ),
    schemes_option(FIGURE_9_SCHEMES),
    field_options(Config, "engine tick_s large_flows", large_flows=KEPT_RULE),
    seeds=10,
)
def figure_9(schemes: Sequence[str], seeds: int, simulated: bool = True, **fields: Any) -> Study:
    """Simulate all published traffic matrices, beside the published results of testbed and simulator."""
    if not simulated:
        raise click.UsageError("`hedera report DIR` draws Figure 9 of emulated runs; to simulate it, add --simulated")
    cases = [Config(scheme, f"published:{name}", **fields) for name in FIGURE_9 for scheme in schemes]
    title = f"Figure 9: the paper's and our simulation ({seeds} seeds)"

    def make_tables(rows: Rows) -> Parts:
        return [make_table(title, rows["figure9_simulated"]), compare_schemes_by_seed(rows[SHOWN], "mbps", "traffic")]

    return Study(
        cases,
        simulate_bisection,
        _make_bars_and_seeds,
        make_tables,
        partial(_draw_bars, seeds),
        label="Figure 9",
        seeds=seeds,
    )


AT_SCALE = ("ecmp", "hedera-gff", "hedera-sa", "hedera-clos", "nonblocking")
"""SCHEMES, and a placement that shows what the network itself allows, which is not in the paper."""


def add_scale_options(k: int) -> Command:
    """The options of Figures 10 and 11 as one decorator; ``k`` is the default."""
    return options(
        schemes_option(AT_SCALE),
        field_options(
            Config,
            "k seconds tick_s interval_s iterations large_flows",
            k=k,
            tick_s=0.01,
            iterations=100_000,
            large_flows=KEPT_RULE,
        ),
    )


def list_patterns(tree: FatTree) -> tuple[str, ...]:
    """The patterns of Hedera section 6.1 and Figure 9, scaled: strides of 1, 2, 4 and 8 hosts at k = 4 become, for
    any k, one host, one edge switch, one pod and half of the network.

    First come patterns in which every host sends and receives one flow, the nearest receivers first; then those in
    which a host may receive many, the most local first, with more and more flows; the hotspot last.
    """
    strides = (1, tree.half, tree.num_cores, tree.num_hosts // 2)
    many = "randbij staggered:0.5,0.3 staggered:0.2,0.3 random randx:2 randx:3 randx:4 hotspot"
    return *(f"stride:{step}" for step in strides), *many.split()


def _make_share_rows(answers: dict[Config, list[float]]) -> Rows:
    rows = [
        {
            "engine": case.engine, "traffic": case.traffic, "scheme": case.scheme, "seed": seed,
            "bisection_mbps": rate, "percent_of_full": 100 * rate / case.capacity_mbps,
        }
        for case, rates in answers.items()
        for seed, rate in enumerate(rates, start=1)
    ]  # fmt: skip
    return {f"figure10_k{next(iter(answers)).k}": rows}


def summarise(rows: Sequence[Row]) -> list[Row]:
    """The numbers in the paper's text on Figure 10, beside ours, which are paired by seed; empty unless all of its
    schemes are there."""
    from pandas import DataFrame

    if not set(SCHEMES) <= {row["scheme"] for row in rows}:
        return []
    shares = DataFrame(rows).pivot(index="seed", columns=["scheme", "traffic"], values="percent_of_full")
    of_optimal, gains = [], []
    for scheme in ("hedera-sa", "hedera-gff"):
        optimal, gain = 100 * shares[scheme] / shares["nonblocking"], 100 * (shares[scheme] / shares["ecmp"] - 1)
        # The text's gain is "up to" so much, so the pattern with the largest gain is the one to compare.
        low, top = optimal.mean().idxmin(), gain.mean().idxmax()
        case = f"{scheme} over optimal, mean of patterns, lowest on {low} ({optimal[low].mean():.1f} %)"
        of_optimal.append(compare_with_paper(case, SHARE_OF_OPTIMAL, optimal.mean(axis=1)))
        gains.append(
            compare_with_paper(f"{scheme} over static hashing, at most, at {top}", GAIN_OVER_STATIC, gain[top])
        )
    return of_optimal + gains


def _tabulate_shares(tree: FatTree, seeds: int, rows: Rows) -> Parts:
    tables: Parts = []
    (all_rows,) = rows.values()
    for engine, group in group_rows(all_rows, "engine").items():
        title = f"Figure 10 under {engine}: {tree.num_hosts:,} hosts, {describe_interval_seeds(seeds)}"
        shares = average_over_seeds(group, "percent_of_full", "traffic", "scheme")
        tables.append(make_table(f"{title}: share of full bisection bandwidth", shares))
        tables.append(compare_schemes_by_seed(group, "percent_of_full", "traffic"))
        if text := summarise(group):
            tables.append(make_table("The paper's text, %", text))
    return tables


def _draw_shares(tree: FatTree, seeds: int, rows: Rows, path: Path) -> None:
    """Bars of the means over seeds grouped by pattern, a panel per engine; lines are 95 % intervals of the means."""
    (all_rows,) = rows.values()
    engines = group_rows(all_rows, "engine")
    patterns = list(group_rows(all_rows, "traffic"))
    schemes = sorted(order_schemes({row["scheme"] for row in all_rows}), key=lambda scheme: scheme == "nonblocking")
    x, width = np.arange(len(patterns)), 0.82 / len(schemes)
    title = f"Figure 10: the suite of patterns, {tree.num_hosts:,} hosts (k = {tree.k})"
    with picture(path, 11, 1.4 + 3.2 * len(engines), title) as figure:
        grid = figure.subplots(len(engines), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (engine, group) in zip(grid, engines.items(), strict=True):
            shares = {
                key: extract_column(bar, "percent_of_full")
                for key, bar in group_rows(group, "traffic", "scheme").items()
            }
            for place, scheme in enumerate(schemes):
                heights = np.array([shares[pattern, scheme] for pattern in patterns])
                positions = x - 0.41 + (place + 0.5) * width
                axes.bar(
                    positions, heights.mean(axis=1), width * 0.94, color=colour(scheme), label=label_scheme(scheme)
                )
                mean, half = heights.mean(axis=1), compute_half_intervals(heights.std(axis=1), seeds)
                wide = half > 0.25  # the others would be specks
                axes.vlines(positions[wide], (mean - half)[wide], (mean + half)[wide], color=INK, lw=1)
            axes.set(title=ENGINE_LABELS[engine], ylabel="share of full bisection [%]")
            axes.set(xlim=(-0.6, len(patterns) - 0.4), ylim=(0, 100))
        grid[-1].set_xticks(x, [p.replace(":", "\n") for p in patterns])
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=min(5, len(schemes)), loc="outside lower right", fontsize=8.5)
        note = f"bars: mean of {seeds} seed{'s' * (seeds > 1)}"
        note += "; lines: 95 % interval of the mean, where it is wider than half a point" if seeds >= FEWEST else ""
        grid[0].set_title(note, loc="right", fontsize=8.5, color=MUTED)


@study(add_scale_options(k=32), engines_option, seeds=5)
def figure_10(schemes: Sequence[str], engines: Sequence[str], seeds: int, **fields: Any) -> Study:
    """Simulate the suite of patterns on 8,192 hosts, with the paper's model of TCP and with fair shares."""
    base = Config("ecmp", "stride:1", **fields)
    cases = [
        replace(base, engine=engine, scheme=scheme, traffic=traffic)
        for engine in engines
        for traffic in list_patterns(base.tree)
        for scheme in schemes
    ]
    tables, draw = partial(_tabulate_shares, base.tree, seeds), partial(_draw_shares, base.tree, seeds)
    cost = attrgetter("traffic")
    return Study(
        cases,
        simulate_bisection,
        _make_share_rows,
        tables,
        draw,
        label=f"Figure 10, k={base.k}",
        seeds=seeds,
        cost=cost,
    )


STEP_S = 0.5
"""Figure 11 shows the bandwidth of steps of this length."""


@dataclass(frozen=True)
class Arriving(Config):
    """Flows of the paper's own making in the place of a matrix: Poisson arrivals, exponential sizes (section 5.5)."""

    arrivals_per_s: Annotated[
        float, Meta(gt=0), described("Flows that every sending host starts per second (Poisson).", option="--arrivals")
    ] = 0.1
    mean_mbytes: Annotated[float, Meta(gt=0), described("Their mean size (exponential), MB.", option="--mean-size")] = (
        1250.0
    )

    def flows(self) -> tuple[Flows, None]:
        matrix = self.matrix()
        expected = self.arrivals_per_s * self.seconds * matrix.num_hosts
        if expected > MAX_FLOWS:
            raise ValueError(f"{expected:.3g} flows in {self.seconds:g} s are too many; {MAX_FLOWS:,} is the limit")
        rng = make_generator(self.seed, Stream.SIMULATED_ARRIVALS)
        flows = draw_poisson_flows(matrix, self.arrivals_per_s, self.mean_mbytes * 1e6, self.seconds, rng)
        return replace(flows, src_port=draw_source_ports(flows.src, self.seed)), None


def draw_poisson_flows(
    matrix: Matrix, arrivals_per_s: float, mean_bytes: float, seconds: float, rng: np.random.Generator
) -> Flows:
    """Poisson arrivals at every sending host, exponential sizes.

    A host starts ``arrivals_per_s`` flows per second on average, each to one of its receivers in ``matrix``,
    drawn uniformly; sizes have the mean ``mean_bytes``. Flows come in the order of their starts, all of them
    before ``seconds``.
    """
    # A host that sends to several receivers divides its flows among them, so that every sending host offers the same
    # load.
    senders = np.bincount(matrix.src, minlength=matrix.num_hosts)
    mean = arrivals_per_s * seconds / senders[matrix.src]
    flow = np.repeat(np.arange(len(matrix)), rng.poisson(mean))
    start = rng.uniform(0.0, seconds, flow.size)
    order = np.argsort(start, kind="stable")
    flow = flow[order]
    return make_flows(matrix.src[flow], matrix.dst[flow], start[order], rng.exponential(mean_bytes, flow.size))


def average_curve(result: Result) -> list[Row]:
    """The curve of one simulation, averaged over STEP_S around each time."""
    config = result.config
    step = max(1, round(STEP_S / config.tick_s))
    covered = config.ticks // step * step
    totals = result.total_mbps[:covered].reshape(-1, step).mean(axis=1) / 1000
    width = step * config.tick_s
    return [
        {"seconds": (n + 0.5) * width, "scheme": config.scheme, "seed": config.seed, "gbps": float(t)}
        for n, t in enumerate(totals)
    ]


def _make_curves(answers: dict[Config, list[Result]]) -> Rows:
    """The curves, and what all seeds of a scheme carried and completed, which is only shown."""
    curves, totals = [], []
    for case, results in answers.items():
        curves += [row for result in results for row in average_curve(result)]
        times = np.concatenate([result.completion_s for result in results])
        totals.append(
            {
                **compare_with_paper(case.scheme, None, [result.bisection_mbps / 1000 for result in results]),
                "completed": times.size, "of_flows": sum(result.src.size for result in results),
                "mean_s": float(times.mean()), "median_s": float(np.median(times)),
            }
        )  # fmt: skip
    return {f"figure11_k{next(iter(answers)).k}": curves, SHOWN: totals}


def _draw_curves(subtitle: str, rows: Rows, path: Path) -> None:
    """A line per scheme, the mean over seeds, in a band from the lowest to the highest, which ``subtitle`` says; a
    panel for each source of rates, where there are several."""
    curves = next(iter(rows.values()))
    panels = group_rows(curves, "source") if "source" in curves[0] else {"": curves}
    width = 8.4 if len(panels) == 1 else 11.0
    with picture(path, width, 4.4, "Figure 11: bisection bandwidth over time", subtitle) as figure:
        shown = np.ravel(figure.subplots(1, len(panels), sharey=True))
        for axes, (source, of_source) in zip(shown, panels.items(), strict=True):
            _draw_panel(axes, of_source)
            axes.set(xlabel="time [s]", xlim=(0, of_source[-1]["seconds"] + of_source[0]["seconds"]))
            if source:
                axes.text(0.02, 0.97, source, transform=axes.transAxes, va="top", fontweight="bold")
        shown[0].set(ylabel="bisection bandwidth [Gb/s]", ylim=(0, None))
        shown[-1].legend(loc="center right")  # where curves that rise from 0 leave room, high and low


def _draw_panel(axes: Any, rows: Sequence[Row]) -> None:
    by_scheme = group_rows(rows, "scheme")
    for scheme in sorted(order_schemes(set(by_scheme)), key=lambda scheme: scheme != CONTROL):
        by_time = group_rows(by_scheme[scheme], "seconds")
        gbps = np.array([extract_column(seeds, "gbps") for seeds in by_time.values()])
        times, shade, heavy = list(by_time), colour(scheme), scheme == CONTROL
        axes.fill_between(times, gbps.min(axis=1), gbps.max(axis=1), color=shade, alpha=0.18, lw=0)
        axes.plot(times, gbps.mean(axis=1), color=shade, lw=2.6 if heavy else 1.4, label=label_scheme(scheme))


SIMULATED, MEASURED = "simulated (section 5.5)", "measured (real TCP)"


def _make_curves_of_both(runs: Mapping[Config, Run], answers: dict[Config, list[Result]]) -> Rows:
    """As `_make_curves`, of simulations and of the runs that they simulate; and the bandwidth in the window of each
    source and scheme, which is only shown."""
    both = {
        SIMULATED: [
            (runs[config], average_curve(result), result.bisection_mbps) for config, (result,) in answers.items()
        ],
        MEASURED: [(run, _extract_measured_curve(run), run.bisection_mbps or 0.0) for run in runs.values()],
    }
    curves = [{**row, "source": source} for source, made in both.items() for _, rows, _ in made for row in rows]
    windows = [
        {"source": source, "scheme": run.scheme, "seed": run.seed, "gbps": mbps / 1000}
        for source, made in both.items()
        for run, _, mbps in made
    ]
    controls = {(row["source"], row["seed"]): row["gbps"] for row in windows if row["scheme"] == CONTROL}
    shown = []
    for (source, scheme), rows in group_rows(windows, "source", "scheme").items():
        shares = [100 * row["gbps"] / control for row in rows if (control := controls.get((source, row["seed"])))]
        shown.append(
            {
                "source": source, "scheme": scheme, "runs": len(rows), "gbps": extract_column(rows, "gbps").mean(),
                "percent_of_control": float(np.mean(shares)) if shares else None,
            }
        )  # fmt: skip
    return {f"figure11_measured_k{next(iter(runs)).k}": curves, SHOWN: shown}


def _extract_measured_curve(run: Run) -> list[Row]:
    """What a run measured in each whole second, at its middle, as `average_curve` has it."""
    middles = [round((t - 0.5) / STEP_S) * STEP_S for t in run.rates.t]
    return [
        {"seconds": middle, "scheme": run.scheme, "seed": run.seed, "gbps": mbps / 1000}
        for middle, mbps in zip(middles, run.rates.total_mbps, strict=True)
        if 0 < middle < run.spec.seconds
    ]


def _compare_with_simulator(folder: Path, schemes: Sequence[str], tick_s: float) -> Study:
    """The runs of a sweep beside the simulator, which gets their flows, and whose switches have their salts."""
    runs = [run for run in load_sweep(folder).runs if run.valid and run.scheme in schemes]
    if not runs:
        raise ValueError(f"{folder} has no valid run under any of {', '.join(schemes)}")
    if len(patterns := sorted({run.pattern for run in runs})) > 1:
        raise ValueError(
            f"Figure 11 is of one pattern, and {folder} has {len(patterns)}: {', '.join(patterns[:3])} ..."
        )
    shared = [name for name in list_options(Experiment) if name not in ("scheme", "traffic", "seed")]
    by_case = {
        Config(
            run.scheme, run.traffic, seed=run.seed, tick_s=tick_s, **{name: getattr(run.spec, name) for name in shared}
        ): run
        for run in runs
    }
    case = next(iter(by_case))
    note = f"{case.topo.num_hosts:,} hosts, links of {case.link_mbps:g} Mb/s, {runs[0].pattern}"
    seeds = len({run.seed for run in runs})
    title = f"Figure 11: bisection bandwidth in the window, Gb/s, {note}, {seeds} seed{'s' * (seeds > 1)}"

    def make_tables(rows: Rows) -> Parts:
        return [make_table(title, rows[SHOWN])]

    draw = partial(_draw_curves, note + ("; bands: lowest to highest seed" if seeds > 1 else ""))
    make_rows = partial(_make_curves_of_both, by_case)
    return Study(list(by_case), simulate, make_rows, make_tables, draw, label=f"Figure 11, k={case.k}", folder=folder)


@study(
    click.argument("folder", required=False, type=click.Path(path_type=Path)),
    add_scale_options(k=16),
    field_options(Arriving, "arrivals_per_s mean_mbytes"),
    seeds=5,
)
def figure_11(folder: Path | None, schemes: Sequence[str], seeds: int, **fields: Any) -> Study:
    """Bisection bandwidth over time: 1,024 hosts, random bijection, flows that arrive and end.

    Simulated; or the runs in FOLDER, a sweep of one pattern, beside the simulator, which gets their flows: to these
    only --schemes and --tick belong.
    """
    if folder is not None:
        return _compare_with_simulator(folder, schemes, fields["tick_s"])
    base = Arriving("ecmp", "randbij", **fields)
    load = (
        f"{base.tree.num_hosts:,} hosts, {base.arrivals_per_s:g} flows per s and host "
        f"of {base.mean_mbytes:g} MB on average"
    )
    title = f"Figure 11: bisection bandwidth, Gb/s, {load}, {describe_interval_seeds(seeds)}"
    cases, draw = (
        [replace(base, scheme=scheme) for scheme in schemes],
        partial(_draw_curves, f"{load}; bands: lowest to highest seed"),
    )

    def make_tables(rows: Rows) -> Parts:
        return [make_table(title, rows[SHOWN])]

    return Study(cases, simulate, _make_curves, make_tables, draw, label=f"Figure 11, k={base.k}", seeds=seeds)
