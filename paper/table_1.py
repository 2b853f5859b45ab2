"""Table 1: how the time and space of both placements grow with the network and with the flows.

The table says: Global First Fit takes O((k/2)^2) per flow, independent of the number |F| of flows; Simulated
Annealing takes O(f) per iteration, with f flows to a host, independent of k; both take O(k^3 + |F|) of memory. Here
powers of k/2 and of the flows per host are fitted to measured times, and multiples of k^3 and |F| to a process's
growth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

import click
import numpy as np

from paper.study import Row, column, grouped, table
from paper.table_5 import placement_input, timed_placement
from paper.timing import megabytes_grown, seconds_option, time_calls, timed
from results.tasks import Computing
from topos.arrays import Float64
from topos.fattree import FatTree

if TYPE_CHECKING:
    from rich.table import Table

SIZES = (16, 32, 48)
FLOWS_PER_HOST = (1, 2, 4, 8)
ITERATIONS = 10_000
BUILT = {
    "Global First Fit": "from hedera.global_first_fit import GlobalFirstFit as P\nmade = P(tree)",
    "Simulated Annealing": "from hedera.simulated_annealing import SimulatedAnnealing as P\n"
    "made = P(tree, np.random.default_rng(1))",
}
STEPS = {"Global First Fit": "flow", "Simulated Annealing": "iteration"}


def compute(seconds: float = 0.5) -> list[Row]:
    """Each placement's processor time per step (a flow or an iteration), and its memory, with the flows, between
    random hosts; each time is from about ``seconds`` of calls."""
    return [
        {
            "algorithm": name, "k": k, "flows_per_host": many, "step": STEPS[name],
            "step_us": measure(k, many * FatTree(k).num_hosts, seconds), "megabytes": _memory(name, k, many),
        }
        for name, measure in (("Global First Fit", _flow_us), ("Simulated Annealing", _iteration_us))
        for k in SIZES
        for many in FLOWS_PER_HOST
    ]  # fmt: skip


def _flow_us(k: int, flows: int, seconds: float) -> float:
    from hedera.global_first_fit import GlobalFirstFit

    tree, large, links = placement_input(k, flows)
    made = [GlobalFirstFit(tree)]

    def prepare() -> None:
        made[0] = GlobalFirstFit(tree)

    return 1e3 * time_calls(lambda: made[0].place(large, links), prepare, seconds).best_ms / flows


def _iteration_us(k: int, flows: int, seconds: float) -> float:
    """The best call's time, less that of a call without iterations, divided by its iterations."""
    tree, large, links = placement_input(k, flows)
    whole, without = (timed_placement(tree, large, links, n, seconds)[0].best_ms for n in (ITERATIONS, 0))
    return 1e3 * (whole - without) / ITERATIONS


def _memory(name: str, k: int, many: int) -> float:
    flows = many * FatTree(k).num_hosts
    before = f"""
import numpy as np
from paper.table_5 import placement_input
tree, flows, links = placement_input(4, 16)
{BUILT[name]}
made.place(flows, links)
tree, flows, links = placement_input({k}, {flows})
"""
    grown = megabytes_grown(before, f"{BUILT[name]}\ncore = made.place(flows, links)")
    given = sum(int(column.nbytes) for column in astuple(placement_input(k, flows)[1]))
    return grown + given / 1e6


def growth(rows: Sequence[Row]) -> dict[str, float]:
    """The growth of one placement, fitted by least squares, times by their logarithms: step_us ~ (k/2)^k_power *
    flows^flows_power; bytes ~ per_k3 * k^3 + per_flow * |F|."""
    k, many = column(rows, "k"), column(rows, "flows_per_host")
    spent = np.log(column(rows, "step_us"))
    _, k_power, flows_power = _fit([np.ones_like(k), np.log(k / 2), np.log(many)], spent)
    per_k3, per_flow = _fit([k**3, many * k**3 / 4], column(rows, "megabytes") * 1e6)
    return {"k_power": k_power, "flows_power": flows_power, "per_k3": per_k3, "per_flow": per_flow}


def _fit(columns: Sequence[Float64], aim: Float64) -> list[float]:
    found: list[float] = np.linalg.lstsq(np.stack(columns, axis=1), aim, rcond=None)[0].tolist()
    return found


_TOLD = (
    "{name}: time of one {step} ~ (k/2)^{k_power:.2f} x (flows per host)^{flows_power:.2f}; "
    "memory {per_k3:.0f} bytes x k^3 + {per_flow:.0f} bytes x flows."
)


@click.command()
@seconds_option
@timed
def command(asked: Computing, seconds: float) -> None:
    """Measure how both placements' time and space grow: the paper's Table 1."""
    rows = compute(seconds)
    told: list[Table | str] = [table("Table 1: time and space of placements", rows)]
    for name, own in grouped(rows, "algorithm").items():
        told.append(_TOLD.format(name=name, step=STEPS[name], **growth(own)))
    asked.conclude(rows, told, [asked.csv("table1", rows)])
