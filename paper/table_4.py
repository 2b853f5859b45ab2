"""Table 4: how long demand estimation takes. The paper used 4 threads of a quad-core 2.13 GHz machine; we use one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import click
import numpy as np

from paper.study import Row
from paper.timing import conclude_timed, megabytes_grown, seconds_option, time_calls, timed
from results.published import TABLE_4
from results.tasks import Computing
from topos.arrays import Int32
from topos.fattree import FatTree


def random_flows(num_hosts: int, flows: int, seed: int = 1) -> tuple[Int32, Int32]:
    """Random destinations, never the source; sources in turn where there is one flow per host, else random."""
    rng = np.random.default_rng(seed)
    src = np.arange(flows) if flows == num_hosts else rng.integers(0, num_hosts, flows)
    dst = (src + rng.integers(1, num_hosts, flows)) % num_hosts
    return src.astype(np.int32), dst.astype(np.int32)


def compute(seconds: float = 0.5) -> Iterator[Row]:
    """Measure every row, each for about ``seconds``; ``ratio`` is the paper's time over our median."""
    from hedera.demand import estimate_demands

    for (k, flows), published_ms in TABLE_4.items():
        hosts = FatTree(k).num_hosts
        spent = time_calls(partial(estimate_demands, *random_flows(hosts, flows), hosts), seconds=seconds)
        known = {"k": k, "flows": flows, "published_ms": published_ms}
        yield {**known, **spent._asdict(), "ratio": published_ms / spent.median_ms}


def megabytes_needed(k: int = 48, flows: int = 250_000) -> float:
    """A process's growth at its peak while it estimates demands, plus the size of the input, in 10^6 bytes."""
    hosts = FatTree(k).num_hosts
    before = f"""
from hedera.demand import estimate_demands
from paper.table_4 import random_flows
src, dst = random_flows({hosts}, {flows})
estimate_demands([0], [1], 2)
"""
    grown = megabytes_grown(before, f"demand = estimate_demands(src, dst, {hosts})")
    return grown + sum(column.nbytes for column in random_flows(hosts, flows)) / 1e6


@click.command()
@seconds_option
@timed
def command(asked: Computing, seconds: float) -> None:
    """Time demand estimation: the paper's Table 4 and ours."""
    notes = () if asked.as_json else (f"250,000 flows at k=48: {megabytes_needed():.1f} MB (the paper: below 20 MB).",)
    conclude_timed(asked, "table4", "Table 4: demand estimation, ms per call", compute(seconds), *notes)
