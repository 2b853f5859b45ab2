"""How fast and how lean the simulator is, against its targets; and its max-min engine against SimGrid.

    python benchmarks/simulator.py [--full] [--simgrid-python PYTHON]

One table: case, target, ours, ratio (above 1 is better than the target). Timings are medians of several
repetitions. ``--full`` adds all of Figure 10, which takes a minute or two. ``--simgrid-python`` names a Python
that can import ``simgrid`` (such as /usr/bin/python3 after apt-get install python3-simgrid).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

# Run as a file, this one would be the module `simulator`, as its folder comes first on the path.
sys.path.insert(0, str(Path(__file__).parents[1]))

from simulator.aimd import AimdEngine
from simulator.fair import MaxMinEngine
from topos.fattree import FatTree
from topos.links import num_links, path_links
from traffic.flows import Flows, columns
from traffic.patterns import draw
from traffic.workload import standing_flows

REPEATS = 5
HERE = Path(__file__).parent


def median_s(function: Callable[[], object], repeats: int = REPEATS) -> float:
    spent = []
    for _ in range(repeats):
        before = time.perf_counter()
        function()
        spent.append(time.perf_counter() - before)
    return statistics.median(spent)


def child(arguments: Sequence[str]) -> tuple[float, float]:
    """Run a program to its end: wall-clock seconds, and its peak memory in 10^9 bytes."""
    before = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    spent = time.perf_counter() - before
    if status:
        raise click.ClickException(f"{' '.join(arguments)} failed")
    return spent, usage.ru_maxrss * 1024 / 1e9


def hedera(*arguments: object) -> list[str]:
    return ["-c", "from harness.cli import main; main()", *map(str, arguments)]


def updates_per_s(k: int) -> float:
    """Flow-updates per second of one core: every host sends to the other half, so all paths have six links."""
    tree = FatTree(k)
    matrix = draw(f"stride:{tree.num_hosts // 2}", tree)
    cores = np.random.default_rng(1).integers(0, tree.num_cores, len(matrix))
    engine = AimdEngine(
        standing_flows(matrix),
        path_links(tree, matrix.src, matrix.dst, cores),
        num_links(tree),
        tick_s=0.001,
        seed=1,
    )
    engine.advance(10)
    return 1000 * len(matrix) / median_s(lambda: engine.advance(1000))


def transfers(k: int, flows_per_host: int) -> tuple[FatTree, Flows, np.ndarray, np.ndarray]:
    """Random transfers of random sizes on the paths that SimGrid's fat-tree gives them (by receiver, d mod k)."""
    tree = FatTree(k)
    rng = np.random.default_rng(1)
    matrix = draw("random", tree, 1, flows_per_host)
    size = rng.integers(1_000_000, 20_000_000, len(matrix))
    core = matrix.dst % tree.half * tree.half + matrix.dst // tree.half % tree.half
    work = columns(matrix.src, matrix.dst, np.zeros(len(matrix)), size.astype(np.float64))
    return tree, work, size, path_links(tree, matrix.src, matrix.dst, core)


def ours_max_min(k: int, flows_per_host: int) -> tuple[float, np.ndarray]:
    tree, work, _, links = transfers(k, flows_per_host)
    engine = MaxMinEngine(work, links, num_links(tree), tick_s=1e-6)
    before = time.perf_counter()
    while not engine.idle:
        engine.advance(1_000_000)
    return time.perf_counter() - before, engine.finished_s


def simgrid_max_min(python: str, k: int, flows_per_host: int) -> tuple[float, np.ndarray]:
    _, work, size, _ = transfers(k, flows_per_host)
    flows = list(zip(work.src.tolist(), work.dst.tolist(), size.tolist(), strict=True))
    done = subprocess.run(
        [python, HERE / "simulator_simgrid.py"],
        input=json.dumps({"k": k, "link_mbps": 1000.0, "flows": flows}),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    return answer["run_s"], np.array(answer["end_s"])


@click.command()
@click.option("--full", is_flag=True, help="All of Figure 10 as well.")
@click.option("--simgrid-python", help="A Python that can import simgrid.")
def main(full: bool, simgrid_python: str | None) -> None:
    """Measure the simulator."""
    table = Table("case", "target", "ours", "ratio", title="Simulator", title_justify="left", box=None)
    for n in (1, 2, 3):
        table.columns[n].justify = "right"

    def at_least(case: str, target: float, ours: float, unit: str) -> None:
        table.add_row(case, f">= {target:g} {unit}", f"{ours:.1f} {unit}", f"{ours / target:.2f}")

    def at_most(case: str, target: float, ours: float, unit: str) -> None:
        table.add_row(case, f"<= {target:g} {unit}", f"{ours:.2f} {unit}", f"{target / ours:.2f}")

    at_least("AIMD, k=32, 8,192 flows of 6 links, one core", 20, updates_per_s(32) / 1e6, "M updates/s")
    at_least("AIMD, k=48, 27,648 flows of 6 links, one core", 20, updates_per_s(48) / 1e6, "M updates/s")

    call = hedera("simulate", "--scheme", "hedera-sa", "--traffic", "published:rand0", "--json")
    child(call)
    at_most("hedera simulate --json, k=4, start-up included", 2, median_s(lambda: child(call)), "s")

    large = ("-k", 48, "--traffic", "randbij", "--seconds", 10, "--tick", 0.01, "--json")
    for scheme in ("ecmp", "hedera-gff", "hedera-sa"):
        runs = [child(hedera("simulate", "--scheme", scheme, *large)) for _ in range(3)]
        case = f"hedera simulate, k=48, 27,648 flows, 1,000 ticks, {scheme}"
        at_most(case, 30, statistics.median(spent for spent, _ in runs), "s")
        at_most(f"{case}: memory", 2, max(memory for _, memory in runs), "GB")

    if full:
        with tempfile.TemporaryDirectory() as folder:
            spent, memory = child(hedera("figure", 10, "--out", folder))
            at_most("hedera figure 10, k=32, 48 runs (once)", 300, spent, "s")
            at_most("hedera figure 10: memory of the largest process", 2, memory, "GB")

    if simgrid_python:
        ours_max_min(4, 1)
        for k, flows_per_host in ((8, 4), (16, 1), (16, 4)):
            ours = [ours_max_min(k, flows_per_host) for _ in range(3)]
            theirs = [simgrid_max_min(simgrid_python, k, flows_per_host) for _ in range(3)]
            apart = float(np.abs(ours[0][1] / theirs[0][1] - 1).max())
            a, b = (statistics.median(spent for spent, _ in runs) for runs in (ours, theirs))
            flows = FatTree(k).num_hosts * flows_per_host
            case = f"max-min, k={k}, {flows:,} transfers to the end (ends differ by {apart:.0e} at most)"
            table.add_row(case, f"SimGrid {b:.2f} s", f"{a:.2f} s", f"{b / a:.2f}")
    console = Console()
    (console if console.is_terminal else Console(width=150)).print(table)


if __name__ == "__main__":
    main()
