"""The commands `hedera table 3` and `6`."""

from __future__ import annotations

from pathlib import Path

import click

from commands.shared import conclude, in_words, output, parallel, run_tasks, seeds_option


@click.command()
@click.option("--hosts", default="16,1024,8192", show_default=True, help="Sizes of the network.")
@click.option("--iterations", default="1000,50000,100000,500000,1000000,1500000,2000000", show_default=True)
@click.option("--flows-per-host", default=3, show_default=True, help="Random receivers of every host.")
@click.option("--seconds", default=60.0, show_default=True, help="Simulated time of every run.")
@seeds_option(1)
@click.option("--tick", "tick_s", default=0.01, show_default=True, help="Length of a tick, seconds.")
@output
@parallel
@in_words
def table_3(
    hosts: str,
    iterations: str,
    flows_per_host: int,
    seconds: float,
    seeds: int,
    tick_s: float,
    out: Path,
    jobs: int | None,
    cluster: str | None,
) -> None:
    """Iterations of Simulated Annealing against the size of the network (random receivers)."""
    import numpy as np

    from commands.comparison import Row, write_csv
    from results.published import TABLE_3
    from simulator import pictures
    from simulator.config import Config
    from simulator.driver import bisection_mbps

    sizes, counts = _integers("--hosts", hosts), _integers("--iterations", iterations)
    configs = [
        Config(
            scheme,
            "random",
            ports_for(size),
            seconds,
            seed,
            tick_s=tick_s,
            iterations=count,
            flows_per_host=flows_per_host,
        )
        for size in sizes
        for scheme, count in [("nonblocking", 1), *(("hedera-sa", count) for count in counts)]
        for seed in range(1, seeds + 1)
    ]
    by_cost = sorted(configs, key=lambda config: (config.k, config.iterations), reverse=True)
    found = dict(zip(by_cost, run_tasks("Table 3", bisection_mbps, by_cost, jobs, cluster), strict=True))
    shares: dict[tuple[int, int | None], list[float]] = {}
    for config in configs:
        size = config.k**3 // 4
        count = config.iterations if config.scheme == "hedera-sa" else None
        shares.setdefault((size, count), []).append(100 * found[config] / (size * config.link_mbps))
    load = f"{flows_per_host} random receivers per host"
    data = [
        (size, count or "nonblocking", TABLE_3.get((size, count), ""), float(np.mean(v)), min(v), max(v))
        for (size, count), v in shares.items()
    ]
    files = [
        write_csv(
            out / "table3.csv",
            ["hosts", "iterations", "published_percent", "percent", "lowest", "highest"],
            data,
        ),
        pictures.table_3(data, load, out / "table3.png"),
    ]
    rows = [
        Row(
            f"{size:,} hosts, " + (f"{count:,} iterations" if count else "non-blocking"),
            TABLE_3.get((size, count)),
            float(np.mean(v)),
            f"{min(v):.2f} to {max(v):.2f}" if seeds > 1 else "",
        )
        for (size, count), v in shares.items()
    ]
    conclude(f"Table 3: share of full bisection bandwidth, {load}", rows, "%", files, digits=2)


@click.command()
@seeds_option(1)
@output
@in_words
def table_6(seeds: int, out: Path) -> None:
    """How long a round of the control loop takes."""
    import statistics

    from commands.comparison import Row, write_csv
    from results.published import TABLE_6
    from simulator import control_loop, pictures
    from topos.fattree import FatTree

    tasks = [
        (FatTree(ports_for(size)), flows, seed) for size, flows in TABLE_6 for seed in range(1, seeds + 1)
    ]
    # One after the other: two at once would share the machine and measure each other.
    spent = run_tasks("Table 6: measuring", control_loop.measure, tasks, jobs=1)
    measured: dict[tuple[int, int], list[float]] = {}
    for (tree, flows, _), rounds in zip(tasks, spent, strict=True):
        measured.setdefault((tree.num_hosts, flows), []).extend(1000 * s for s in rounds)
    data = []
    for (size, flows), rounds in measured.items():
        messages = 1000 * control_loop.message_s(FatTree(ports_for(size)), flows)
        assumed = messages + 1000 * control_loop.ASSUMED_COMPUTATION_S
        computed = statistics.median(rounds)
        data.append((size, flows, TABLE_6[size, flows], assumed, messages, computed, messages + computed))
    header = [
        "hosts",
        "flows_per_host",
        "published_ms",
        "model_with_100_ms",
        "messages_ms",
        "computed_ms",
        "loop_ms",
    ]
    files = [write_csv(out / "table6.csv", header, data), pictures.table_6(data, out / "table6.png")]
    rows = []
    for size, flows, paper, assumed, messages, computed, loop in data:
        case = f"{size:,} hosts, {flows} flows per host"
        rows.append(Row(f"{case}: model, 100 ms assumed", paper, assumed))
        rows.append(
            Row(f"{case}: computation measured", paper, loop, f"{messages:.2f} messages + {computed:.2f}")
        )
    conclude("Table 6: length of the control loop", rows, "ms", files)


def ports_for(hosts: int) -> int:
    """The k of the fat-tree with that many hosts; ValueError when there is none."""
    for k in range(4, 129, 2):
        if k**3 // 4 == hosts:
            return k
    raise ValueError(
        f"no fat-tree has {hosts} hosts; sizes are 16, 54, 128, 250, 432, ..., 1024, 8192, 27648"
    )


def _integers(option: str, text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ValueError(f"{option} takes whole numbers above 0, separated by commas, not {text!r}")
    return numbers
