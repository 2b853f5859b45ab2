"""The commands `hedera figure 3`, `9`, `10` and `11`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from commands.shared import conclude, in_words, options, output, parallel, run_tasks, seeds_option


@click.command()
@click.option("-k", "k", default=48, show_default=True, help="Ports per switch.")
@click.option("--max-flows", default=1000, type=click.IntRange(1), show_default=True, help="Per host.")
@seeds_option(5)
@output
@parallel
@in_words
def figure_3(k: int, max_flows: int, seeds: int, out: Path, jobs: int | None, cluster: str | None) -> None:
    """What hash collisions cost, against flows per host (27,648 hosts)."""
    import numpy as np

    from commands.comparison import Row, write_csv
    from results.published import FIGURE_3
    from simulator import collisions, pictures
    from topos.fattree import FatTree

    tree = FatTree(k)
    counts = [n for n in (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000) if n <= max_flows]
    drawn = itertools.product(counts, range(1, seeds + 1), collisions.MODELS)
    tasks = [task for n, seed, model in drawn if (task := collisions.Task(tree, n, seed, model)).feasible]
    losses = run_tasks("Figure 3: Monte Carlo", collisions.loss, tasks, jobs, cluster)
    found: dict[tuple[str, int], list[float]] = {}
    for task, value in zip(tasks, losses, strict=True):
        found.setdefault((task.model, task.flows_per_host), []).append(100 * value)
    data = [(m, n, float(np.mean(v)), min(v), max(v)) for (m, n), v in found.items()]
    files = [
        write_csv(
            out / "figure3.csv", ["model", "flows_per_host", "loss_percent", "lowest", "highest"], data
        ),
        pictures.figure_3(data, FIGURE_3, tree, out / "figure3.png"),
    ]
    rows = [
        Row(f"{n} flow{'s' * (n > 1)} per host, {model}", FIGURE_3.get(n), mean, f"{low:.2f} to {high:.2f}")
        for model, n, mean, low, high in data
    ]
    conclude(f"Figure 3: bisection bandwidth lost to hash collisions, k={k}", rows, "%", files, digits=2)


@click.command()
@click.option(
    "--simulated", is_flag=True, help="By the simulator (the figure of real runs: hedera report DIR)."
)
@seeds_option(10)
@click.option("--engine", default="aimd", show_default=True, help="aimd or maxmin.")
@click.option("--tick", "tick_s", default=0.001, show_default=True, help="Length of a tick, seconds.")
@output
@parallel
@in_words
def figure_9(
    simulated: bool, seeds: int, engine: str, tick_s: float, out: Path, jobs: int | None, cluster: str | None
) -> None:
    """All published traffic matrices, beside the published testbed bars."""
    if not simulated:
        raise click.UsageError("figure 9 of real runs is drawn by `hedera report DIR`; here, add --simulated")
    import numpy as np

    from commands.comparison import Row, write_csv
    from results.published import FIGURE_9
    from simulator import pictures
    from simulator.config import Config
    from simulator.driver import bisection_mbps

    schemes = ("ecmp", "spanning-tree", "hedera-gff", "hedera-sa", "nonblocking")
    configs = [
        Config(scheme, f"published:{name}", seed=seed, engine=engine, tick_s=tick_s)
        for name in FIGURE_9
        for scheme in schemes
        for seed in range(1, seeds + 1)
    ]
    found: dict[tuple[str, str], list[float]] = {}
    for config, value in zip(
        configs, run_tasks("Figure 9", bisection_mbps, configs, jobs, cluster), strict=True
    ):
        found.setdefault((config.traffic.removeprefix("published:"), config.scheme), []).append(value)
    data = [
        (name, scheme, FIGURE_9[name][scheme], float(np.mean(v)), float(np.std(v)), min(v), max(v))
        for (name, scheme), v in found.items()
    ]
    header = [
        "matrix",
        "scheme",
        "published_testbed_mbps",
        "mean_mbps",
        "sd_mbps",
        "lowest_mbps",
        "highest_mbps",
    ]
    files = [
        write_csv(out / "figure9_simulated.csv", header, data),
        pictures.figure_9(data, seeds, out / "figure9_simulated.png"),
    ]
    rows = [
        Row(f"{name}  {scheme}", paper, mean, f"{low:,.0f} to {high:,.0f}")
        for name, scheme, paper, mean, _, low, high in data
    ]
    conclude(f"Figure 9: published testbed against simulation ({seeds} seeds)", rows, "Mb/s", files, digits=0)


def _at_scale(k: int) -> Callable[..., Any]:
    """The options of Figures 10 and 11, named as the fields of Config."""
    return options(
        click.option("-k", "k", default=k, show_default=True, help="Ports per switch."),
        click.option("--seconds", default=60.0, show_default=True, help="Simulated time of every run."),
        click.option("--seed", default=1, show_default=True, help="Fixes every draw."),
        click.option("--tick", "tick_s", default=0.01, show_default=True, help="Length of a tick, seconds."),
        click.option(
            "--interval", "interval_s", default=5.0, show_default=True, help="Scheduling period, s."
        ),
        click.option(
            "--iterations", default=100_000, show_default=True, help="Of Simulated Annealing, each round."
        ),
    )


@click.command()
@_at_scale(k=32)
@output
@parallel
@in_words
def figure_10(out: Path, jobs: int | None, cluster: str | None, **fields: Any) -> None:
    """The suite of patterns and four schemes on 8,192 hosts."""
    from commands.comparison import Row, write_csv
    from results.published import GAIN_OVER_STATIC, SHARE_OF_OPTIMAL
    from simulator import pictures
    from simulator.config import Config
    from simulator.driver import bisection_mbps
    from simulator.suite import SCHEMES, suite
    from topos.fattree import FatTree

    tree = FatTree(fields["k"])
    configs = [Config(scheme, traffic, **fields) for traffic in suite(tree) for scheme in SCHEMES]
    # The runs with most flows first, so that no process is left with a long one at the end.
    by_cost = sorted(configs, key=lambda config: config.traffic, reverse=True)
    found = dict(
        zip(by_cost, run_tasks(f"Figure 10, k={tree.k}", bisection_mbps, by_cost, jobs, cluster), strict=True)
    )
    share = {(c.traffic, c.scheme): 100 * found[c] / (tree.num_hosts * c.link_mbps) for c in configs}
    files = [
        write_csv(
            out / f"figure10_k{tree.k}.csv",
            ["traffic", "scheme", "bisection_mbps", "percent_of_full"],
            [(c.traffic, c.scheme, found[c], share[c.traffic, c.scheme]) for c in configs],
        ),
        pictures.figure_10(share, tree, out / f"figure10_k{tree.k}.png"),
    ]
    rows = [Row(f"{traffic}  {scheme}", None, value) for (traffic, scheme), value in share.items()]
    patterns = suite(tree)
    best = {p: max(share[p, "hedera-gff"], share[p, "hedera-sa"]) for p in patterns}
    of_optimal = {p: 100 * best[p] / share[p, "nonblocking"] for p in patterns}
    gain = {p: 100 * (best[p] / share[p, "ecmp"] - 1) for p in patterns}
    top = max(patterns, key=gain.__getitem__)
    low = min(patterns, key=of_optimal.__getitem__)
    mean = sum(of_optimal.values()) / len(patterns)
    rows += [
        Row(
            "Hedera (better of two) over optimal, mean of patterns",
            SHARE_OF_OPTIMAL,
            mean,
            f"lowest {of_optimal[low]:.1f} ({low})",
        ),
        Row("Hedera over static hashing, at most", GAIN_OVER_STATIC, gain[top], f"at {top}"),
    ]
    conclude(f"Figure 10: share of full bisection bandwidth, {tree.num_hosts:,} hosts", rows, "%", files)


@click.command()
@_at_scale(k=16)
@click.option(
    "--arrivals",
    "arrivals_per_s",
    default=0.1,
    show_default=True,
    help="Flows a host starts per second (Poisson).",
)
@click.option(
    "--mean-size",
    "mean_mbytes",
    default=1250.0,
    show_default=True,
    help="Their mean size, 10^6 bytes (exponential).",
)
@output
@parallel
@in_words
def figure_11(out: Path, jobs: int | None, cluster: str | None, **fields: Any) -> None:
    """Bisection bandwidth over time: 1,024 hosts, random bijection, flows that come and go."""
    import numpy as np

    from commands.comparison import Row, write_csv
    from simulator import pictures
    from simulator.config import Config
    from simulator.driver import simulate as run
    from simulator.suite import SCHEMES
    from topos.fattree import FatTree

    hosts = FatTree(fields["k"]).num_hosts
    configs = [Config(scheme, "randbij", **fields) for scheme in SCHEMES]
    first = configs[0]
    results = run_tasks(f"Figure 11, k={first.k}", run, configs, jobs, cluster)
    step = max(1, round(0.5 / first.tick_s))
    whole = first.ticks // step * step
    series = {r.config.scheme: r.total_mbps[:whole].reshape(-1, step).mean(axis=1) / 1000 for r in results}
    times = (np.arange(whole // step, dtype=np.float64) + 0.5) * (step * first.tick_s)
    load = f"{hosts:,} hosts, {first.arrivals_per_s:g} flows per s and host of {first.mean_mbytes:g} MB on average"
    files = [
        write_csv(
            out / f"figure11_k{first.k}.csv",
            ["seconds", *(f"{scheme}_gbps" for scheme in series)],
            [(float(t), *(float(s[n]) for s in series.values())) for n, t in enumerate(times)],
        ),
        pictures.figure_11(times, series, load, out / f"figure11_k{first.k}.png"),
    ]
    rows = [
        Row(
            r.config.scheme,
            None,
            r.bisection_mbps / 1000,
            f"{r.completion_s.size:,} of {r.src.size:,} flows completed, "
            f"{np.mean(r.completion_s):.2f} s mean, {np.median(r.completion_s):.2f} s median",
        )
        for r in results
    ]
    conclude(f"Figure 11: bisection bandwidth, {load}", rows, "Gb/s", files)
