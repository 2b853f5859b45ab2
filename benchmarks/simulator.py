"""How fast and how lean the simulator is, against what is aimed at."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.row import Row, child, median_s
from simulator.aimd import AimdEngine
from topos.fattree import FatTree
from topos.links import num_links, path_links
from traffic.patterns import draw
from traffic.workload import standing_flows

LARGE = ("-k", "48", "--traffic", "randbij", "--seconds", "10", "--tick", "0.01", "--json")


def hedera(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from harness.cli import main; main()", *arguments]


def updates_per_s(k: int) -> float:
    """Flow-updates per second of one core: every host sends to the other half, so all paths have six links."""
    tree = FatTree(k)
    matrix = draw(f"stride:{tree.num_hosts // 2}", tree)
    cores = np.random.default_rng(1).integers(0, tree.num_cores, len(matrix))
    paths = path_links(tree, matrix.src, matrix.dst, cores)
    engine = AimdEngine(standing_flows(matrix), paths, num_links(tree), tick_s=0.001, seed=1)
    engine.advance(10)
    return 1000 * len(matrix) / median_s(lambda: engine.advance(1000))


def timed(command: list[str]) -> tuple[float, float]:
    """Seconds by the clock, and peak memory in 10^9 bytes."""
    before = time.perf_counter()
    usage = child(command)
    return time.perf_counter() - before, usage.ru_maxrss * 1024 / 1e9


def rows(whole: bool) -> Iterator[Row]:
    """The engine, the command from its start, 27,648 flows, and all of Figure 10."""
    for k, flows in ((32, 8_192), (48, 27_648)):
        case = f"AIMD, k={k}, {flows:,} flows of 6 links, one core (at least)"
        yield Row(case, updates_per_s(k) / 1e6, "M updates/s", 20)
    call = hedera("simulate", "--scheme", "hedera-sa", "--traffic", "published:rand0", "--json")
    child(call)
    yield Row("hedera simulate --json, k=4, start-up included", median_s(lambda: child(call)), "s", 2)
    for scheme in ("ecmp", "hedera-gff", "hedera-sa"):
        runs = [timed(hedera("simulate", "--scheme", scheme, *LARGE)) for _ in range(3)]
        case = f"hedera simulate, k=48, 27,648 flows, 1,000 ticks, {scheme}"
        yield Row(case, statistics.median(spent for spent, _ in runs), "s", 30)
        yield Row(f"{case}: memory", max(memory for _, memory in runs), "GB", 2)
    if whole:
        with tempfile.TemporaryDirectory() as folder:
            spent, memory = timed(hedera("figure", "10", "--out", folder))
        yield Row("hedera figure 10, k=32, 48 runs (once)", spent, "s", 300)
        yield Row("hedera figure 10: memory of the largest process", memory, "GB", 2)
