"""Tables 1, 4, 5 and 6: how long demand estimation, both placements and a round of the control loop take, and how time
and space grow.

Times are of a processor, in one thread (the paper's Table 4 has four threads of a quad-core 2.13 GHz machine); other
work on the machine does not count, except for its effect on the caches.

Table 1 says: Global First Fit takes O((k/2)^2) per flow, independent of the number |F| of flows; Simulated Annealing
takes O(f) per iteration, with f flows to a host, independent of k; both take O(k^3 + |F|) of memory. Here powers of
k/2 and of the flows per host are fitted to measured times, and multiples of k^3 and |F| to a process's growth.

Table 6 (section 6.4.5), the paper's model: all switches report their large flows, the scheduler computes, and the new
placements go back to the switches. Messages are OpenFlow's, 72 bytes per flow entry; the last hop to the scheduler is a
10 Gb/s link that is always full; every switch of the control network adds 10 microseconds. Per large flow, one entry is
sent to the scheduler and two are sent back, for the edge and the aggregation switch of the source pod (section 3.2).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple
from functools import partial, wraps
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.demand import estimate_demands
from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.options import Command, in_words, json_option, options, output, seeds_option
from hedera.placement import LargeFlows
from hedera.simulated_annealing import SimulatedAnnealing
from record.published import TABLE_4, TABLE_5, TABLE_6
from record.tasks import Computing, Runner, in_turn
from studies.study import Row, column, grouped, ports_for, table
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import canonical_cores
from traffic.patterns import draw as draw_pattern

if TYPE_CHECKING:
    from rich.table import Table

CAPTION = "Processor times, medians over the calls made and the best of them; ratio is the paper's over our median."
SIZES = (16, 32, 48)
FLOWS_PER_HOST = (1, 2, 4, 8)
ITERATIONS = 10_000
FIRST_FIT, ANNEALING = "Global First Fit", "Simulated Annealing"
STEPS = {FIRST_FIT: "flow", ANNEALING: "iteration"}

Flows = tuple[Int32, Int32, int]
"""Sources and destinations, (flows,), and the number of hosts."""
Placing = tuple[FatTree, LargeFlows, LinkState]


def random_flows(k: int, flows: int, seed: int = 1) -> Flows:
    """Random destinations, never the source; sources in turn where there is one flow per host, else random."""
    rng, hosts = np.random.default_rng(seed), FatTree(k).num_hosts
    src = np.arange(flows) if flows == hosts else rng.integers(0, hosts, flows)
    dst = (src + rng.integers(1, hosts, flows)) % hosts
    return src.astype(np.int32), dst.astype(np.int32), hosts


def placement_input(k: int, flows: int, seed: int = 1) -> Placing:
    """Flows between random hosts with their estimated demands, and a network without failures."""
    tree = FatTree(k)
    src, dst, hosts = random_flows(k, flows, seed)
    demand = estimate_demands(src, dst, hosts)
    hashed = np.random.default_rng(seed).integers(0, tree.num_cores, flows).astype(np.int32)
    return tree, LargeFlows(np.arange(flows), src, dst, demand, hashed, hashed), LinkState(tree)


def built(algorithm: str, tree: FatTree, iterations: int = 1000) -> GlobalFirstFit | SimulatedAnnealing:
    if algorithm == FIRST_FIT:
        return GlobalFirstFit(tree)
    return SimulatedAnnealing(tree, np.random.default_rng(1), iterations)


def time_calls(call: Callable[[Any], object], prepare: Callable[[], Any], seconds: float) -> Row:
    """Call with what ``prepare`` makes, which is not timed, for about ``seconds`` (5 to 1000 times), after one call
    that may compile: processor milliseconds per call."""
    call(prepare())
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < 5 or (time.perf_counter() < end and len(taken) < 1000):
        made = prepare()
        start = time.thread_time()
        call(made)
        taken.append((time.thread_time() - start) * 1e3)
    return {"median_ms": statistics.median(taken), "best_ms": min(taken)}


def timed_placement(algorithm: str, given: Placing, seconds: float, iterations: int = 0) -> tuple[Row, Any]:
    """The time of one placement from the first state, so that all calls do the same work; and the last one made."""
    tree, flows, links = given
    made: list[Any] = []

    def prepare() -> Any:
        made[:] = [built(algorithm, tree, iterations)]
        return made[0]

    return time_calls(lambda placement: placement.place(flows, links), prepare, seconds), made[0]


def megabytes(call: Callable[..., object], prepare: Callable[[int, int], Sequence[Any]], k: int, flows: int) -> float:
    """A process's growth at its peak during ``call(*prepare(k, flows))``, in 10^6 bytes, by the kernel; the process is
    a fresh one, which has called it with a few flows before, to compile and load the code."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(_grown, call, prepare, k, flows).result()


def _grown(call: Callable[..., object], prepare: Callable[[int, int], Sequence[Any]], k: int, flows: int) -> float:
    call(*prepare(4, 16))
    given = prepare(k, flows)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = _kilobytes("VmRSS")
    kept = call(*given)
    del kept
    return (_kilobytes("VmHWM") - before) * 1024 / 1e6


def _kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def _placed(algorithm: str, tree: FatTree, flows: LargeFlows, links: LinkState) -> object:
    made = built(algorithm, tree)
    return made, made.place(flows, links)


def growing(seconds: float) -> Iterator[Row]:
    """Table 1: each placement's processor time per step (a flow or an iteration), and its memory, with the flows,
    between random hosts; each time is from about ``seconds`` of calls."""
    for name, step in STEPS.items():
        for k in SIZES:
            for many in FLOWS_PER_HOST:
                flows = many * FatTree(k).num_hosts
                given, steps = placement_input(k, flows), flows if name == FIRST_FIT else ITERATIONS
                best = timed_placement(name, given, seconds, ITERATIONS)[0]["best_ms"]
                if name == ANNEALING:  # less what a call without iterations takes
                    best -= timed_placement(name, given, seconds)[0]["best_ms"]
                grown = megabytes(partial(_placed, name), placement_input, k, flows)
                yield {
                    "algorithm": name, "k": k, "flows_per_host": many, "step": step, "step_us": 1e3 * best / steps,
                    "megabytes": grown + sum(int(one.nbytes) for one in astuple(given[1])) / 1e6,
                }  # fmt: skip


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


def estimating(seconds: float) -> Iterator[Row]:
    """Table 4; ``ratio`` is the paper's time over our median."""
    for (k, flows), published_ms in TABLE_4.items():
        given = random_flows(k, flows)
        spent = time_calls(lambda given: estimate_demands(*given), partial(tuple, given), seconds)
        known = {"k": k, "flows": flows, "published_ms": published_ms}
        yield {**known, **spent, "ratio": published_ms / spent["median_ms"]}


def megabytes_of_estimating(k: int = 48, flows: int = 250_000) -> float:
    """What demand estimation takes, and the size of its input, in 10^6 bytes."""
    src, dst, _ = random_flows(k, flows)
    return megabytes(estimate_demands, random_flows, k, flows) + (src.nbytes + dst.nbytes) / 1e6


def annealing(seconds: float) -> Iterator[Row]:
    """Table 5.

    ``annealing_ms`` is without the set-up (grouping flows by destination, loading the links, assigning cores), which
    is measured as a placement without iterations. Ratios are the paper's time over our median.
    ``excess_before`` and ``excess_after``: the exceeded capacity, in link capacities.
    """
    for (k, flows), row in TABLE_5.items():
        given = placement_input(k, flows)
        setup_ms = timed_placement(ANNEALING, given, seconds)[0]["median_ms"]
        for iterations, published_ms in row.items():
            spent, made = timed_placement(ANNEALING, given, seconds, iterations)
            alone_ms = spent["median_ms"] - setup_ms
            yield {
                "k": k, "flows": flows, "iterations": iterations, "published_ms": published_ms,
                **spent, "ratio": published_ms / spent["median_ms"],
                "annealing_ms": alone_ms, "annealing_ratio": published_ms / alone_ms,
                "excess_before": made.initial_energy, "excess_after": made.energy,
            }  # fmt: skip


def timed(function: Command) -> Command:
    """The decorator of a command that measures times, and so does one thing at a time."""

    @wraps(function)
    def gathered(out: Path, as_json: bool, **own: Any) -> Any:
        return function(asked=Computing(out, as_json, jobs=1), **own)

    decorated: Command = options(output, json_option, in_words)(gathered)
    return decorated


_seconds = click.option(
    "--seconds", type=click.FloatRange(0.0), default=0.5, show_default=True, help="Measuring time per number."
)


_TOLD = (
    "{name}: time of one {step} ~ (k/2)^{k_power:.2f} x (flows per host)^{flows_power:.2f}; "
    "memory {per_k3:.0f} bytes x k^3 + {per_flow:.0f} bytes x flows."
)


@click.command()
@_seconds
@timed
def table_1(asked: Computing, seconds: float) -> None:
    """Measure how both placements' time and space grow: the paper's Table 1."""
    rows = list(growing(seconds))
    told: list[Table | str] = [table("Table 1: time and space of placements", rows)]
    for name, own in grouped(rows, "algorithm").items():
        told.append(_TOLD.format(name=name, step=STEPS[name], **growth(own)))
    asked.conclude(rows, told, [asked.csv("table1", rows)])


@click.command()
@_seconds
@timed
def table_4(asked: Computing, seconds: float) -> None:
    """Time demand estimation: the paper's Table 4 and ours."""
    rows = list(estimating(seconds))
    told: list[Table | str] = [table("Table 4: demand estimation, ms per call", rows), CAPTION]
    if not asked.as_json:
        told.append(f"250,000 flows at k=48: {megabytes_of_estimating():.1f} MB (the paper: below 20 MB).")
    asked.conclude(rows, told, [asked.csv("table4", rows)])


@click.command()
@_seconds
@timed
def table_5(asked: Computing, seconds: float) -> None:
    """Time Simulated Annealing: the paper's Table 5 and ours, with set-up and without."""
    rows = list(annealing(seconds))
    notes = (
        "Annealing is a placement without its set-up; excess is the exceeded capacity, in links, before and after.",
        "One thread: each iteration starts from the state that the one before it left.",
    )
    title = "Table 5: Simulated Annealing, ms per call"
    asked.conclude(rows, [table(title, rows), *notes, CAPTION], [asked.csv("table5", rows)])


ENTRY_BYTES = 72
ENTRIES_UP = 1
ENTRIES_DOWN = 2
LAST_HOP_BPS = 10e9
SWITCH_S = 10e-6
CONTROL_PORTS = 48
MEASURED_ROUNDS = 7
ASSUMED_COMPUTATION_S = 0.1
"""The paper's assumption for demand estimation and scheduling."""


def message_s(tree: FatTree, flows_per_host: int) -> float:
    """The time of all messages of a round, seconds: on the last hop, and in the switches both ways."""
    flows = tree.num_hosts * flows_per_host
    bits = flows * (ENTRIES_UP + ENTRIES_DOWN) * ENTRY_BYTES * 8
    return bits / LAST_HOP_BPS + 2 * control_hops(tree) * SWITCH_S


def control_hops(tree: FatTree) -> int:
    """Switches between the farthest data switch and the scheduler, in a tree of 48-port switches."""
    hops, reach = 1, CONTROL_PORTS - 1  # one port leads to the scheduler, or to the switch above
    while reach < tree.num_switches:
        hops, reach = hops + 1, reach * (CONTROL_PORTS - 1)
    return hops


def scheduling_rounds(case: tuple[FatTree, int, int]) -> list[float]:
    """Measure the computing time of scheduling rounds, seconds, one for each of MEASURED_ROUNDS rounds.

    ``case``: a tree, flows per host, and a seed. A round is demand estimation and Simulated Annealing (1,000
    iterations) for a random matrix. The first round of a scheduler is left out: it starts from scratch, while later
    ones start from the placement before, as in operation.
    """
    tree, flows_per_host, seed = case
    from hedera.scheduler import ActiveFlows, Scheduler

    matrix = draw_pattern("random", tree, seed, flows_per_host)
    flows = len(matrix)
    rng = np.random.default_rng(seed)
    hashed = canonical_cores(tree, matrix.src, matrix.dst, rng.integers(0, tree.num_cores, flows))
    core = hashed.copy()
    scheduler = Scheduler(tree, SimulatedAnnealing(tree, rng))
    spent = []
    for number in range(MEASURED_ROUNDS + 1):
        active = ActiveFlows(np.arange(flows), matrix.src, matrix.dst, np.full(flows, 0.5), core.copy(), hashed)
        before = time.perf_counter()
        decided = scheduler.round(5.0 * number, active)
        spent.append(time.perf_counter() - before)
        for change in decided.changes:
            core[change.key] = change.core
    return spent[1:]


def control_loop(seeds: int, run: Runner = in_turn, cases: Mapping[tuple[int, int], float] = TABLE_6) -> list[Row]:
    """Each case's length of a round: the paper's, the model with the paper's 100 ms, and with the computing time
    measured here. ``run`` must not run two at once, as they would slow each other down."""
    tasks = [(FatTree(ports_for(size)), flows, seed) for size, flows in cases for seed in range(1, seeds + 1)]
    spent_ms: dict[tuple[int, int], list[float]] = {}
    for (tree, flows, _), rounds in zip(tasks, run(scheduling_rounds, tasks), strict=True):
        spent_ms.setdefault((tree.num_hosts, flows), []).extend(1000 * s for s in rounds)
    rows = []
    for (size, flows), rounds in spent_ms.items():
        messages = 1000 * message_s(FatTree(ports_for(size)), flows)
        computed = statistics.median(rounds)
        rows.append(
            {
                "hosts": size, "flows_per_host": flows, "published_ms": cases[size, flows],
                "model_with_100_ms": messages + 1000 * ASSUMED_COMPUTATION_S,
                "messages_ms": messages, "computed_ms": computed, "loop_ms": messages + computed,
            }
        )  # fmt: skip
    return rows


@click.command()
@seeds_option(1)
@timed
def table_6(asked: Computing, seeds: int) -> None:
    """Measure how long a round of the control loop takes."""
    rows = control_loop(seeds, asked.runner("Table 6: measuring"))
    asked.conclude(rows, [table("Table 6: length of the control loop", rows)], [asked.csv("table6", rows)])
