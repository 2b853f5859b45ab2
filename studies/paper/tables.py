"""Tables 1 to 6 of the paper: times of the algorithms (1, 4, 5, 6), and simulations of the shuffle (2) and of Simulated
Annealing (3)."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from hedera.demand import estimate_demands
from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.scheduler import ActiveFlows, Scheduler
from hedera.schemes import CONTROL
from hedera.simulated_annealing import SimulatedAnnealing
from plots import load_sweep
from record.options import field_options
from record.published import TABLE_2, TABLE_2_BYTES, TABLE_3, TABLE_4, TABLE_5, TABLE_6
from record.run import Run
from simulator.config import Config
from simulator.driver import Simulation, simulate
from studies.paper import KEPT_RULE, engines_option, schemes_option
from studies.study import (
    Parts,
    Row,
    Rows,
    Study,
    extract_column,
    group_rows,
    make_one_file,
    make_table,
    parse_numbers,
    study,
)
from topos.arrays import Float64, Int32
from topos.fattree import FatTree
from topos.links import find_canonical_cores
from traffic.patterns import draw


def find_ports(hosts: int) -> int:
    """The k of the fat-tree with that many hosts; ValueError when there is none."""
    k: int = round((4 * hosts) ** (1 / 3))
    if 4 <= k <= 128 and k % 2 == 0 and k**3 == 4 * hosts:
        return k
    raise ValueError(f"no fat-tree has {hosts} hosts; sizes are 16, 54, 128, 250, 432, ..., 1024, 8192, 27648")


# Times, of Tables 1, 4 and 5, are of a processor, in one thread (the paper's Table 4 has four threads of a quad-core
# 2.13 GHz machine); other work on the machine does not count, except for its effect on the caches.

CAPTION = "Processor times, medians over the calls made and the best of them; ratio is the paper's over our median."
SIZES = (16, 32, 48)
FLOWS_PER_HOST = (1, 2, 4, 8)
ITERATIONS = 10_000
FIRST_FIT, ANNEALING = "Global First Fit", "Simulated Annealing"
STEPS = {FIRST_FIT: "flow", ANNEALING: "iteration"}

Flows = tuple[Int32, Int32, int]
"""Sources and destinations, (flows,), and the number of hosts."""
Placing = tuple[FatTree, LargeFlows, LinkState]

_seconds = click.option(
    "--seconds", type=click.FloatRange(0.0), default=0.5, show_default=True, help="Measuring time per number."
)


def draw_flows(k: int, flows: int) -> Flows:
    """Random destinations, never the source; sources in turn where there is one flow per host, else random."""
    rng, hosts = np.random.default_rng(1), FatTree(k).num_hosts
    src = np.arange(flows) if flows == hosts else rng.integers(0, hosts, flows)
    dst = (src + rng.integers(1, hosts, flows)) % hosts
    return src.astype(np.int32), dst.astype(np.int32), hosts


def make_placement_input(k: int, flows: int) -> Placing:
    """Flows between random hosts with their estimated demands, and a network without failures."""
    tree = FatTree(k)
    src, dst, hosts = draw_flows(k, flows)
    demand = estimate_demands(src, dst, hosts)
    hashed = np.random.default_rng(1).integers(0, tree.num_cores, flows).astype(np.int32)
    return tree, LargeFlows(np.arange(flows), src, dst, demand, hashed, hashed), LinkState(tree)


def make_placement(algorithm: str, tree: FatTree, iterations: int = 1000) -> GlobalFirstFit | SimulatedAnnealing:
    if algorithm == FIRST_FIT:
        return GlobalFirstFit(tree)
    return SimulatedAnnealing(tree, np.random.default_rng(1), iterations)


def time_calls(call: Callable[[Any], object], prepare: Callable[[], Any], seconds: float) -> tuple[Row, Any]:
    """Call with what ``prepare`` makes, which is not timed, for about ``seconds`` (5 to 1000 times), after one call
    that may compile: processor milliseconds per call; and what was prepared last."""
    # The first call may compile, or read code from the disk.
    call(prepare())
    durations_ms: list[float] = []
    end = time.perf_counter() + seconds
    while len(durations_ms) < 5 or (time.perf_counter() < end and len(durations_ms) < 1000):
        arguments = prepare()
        # Processor time of this thread: what else the machine does, does not count.
        start = time.thread_time()
        call(arguments)
        durations_ms.append((time.thread_time() - start) * 1e3)
    return {"median_ms": statistics.median(durations_ms), "best_ms": min(durations_ms)}, arguments


def time_placement(algorithm: str, placing: Placing, seconds: float, iterations: int = 0) -> tuple[Row, Any]:
    """The time of one placement from the first state, so that all calls do the same work; and the last one made."""
    tree, flows, links = placing
    prepare = partial(make_placement, algorithm, tree, iterations)
    return time_calls(lambda placement: placement.place(flows, links), prepare, seconds)


def measure_megabytes(
    call: Callable[..., object], prepare: Callable[[int, int], Sequence[Any]], k: int, flows: int
) -> float:
    """What a process has more at its peak during ``call(*prepare(k, flows))``, in 10^6 bytes, by the kernel; it is a
    fresh one, which has called it with a few flows before, to compile and load the code."""
    # A forked process would share memory with this one, which has imported everything, and could not tell what it
    # took itself.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(_measure_added_megabytes, call, prepare, k, flows).result()


def _measure_added_megabytes(
    call: Callable[..., object], prepare: Callable[[int, int], Sequence[Any]], k: int, flows: int
) -> float:
    call(*prepare(4, 16))
    arguments = prepare(k, flows)
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    kilobytes = _read_kilobytes("VmRSS")
    call(*arguments)
    return (_read_kilobytes("VmHWM") - kilobytes) * 1024 / 1e6


def _read_kilobytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def _place(algorithm: str, tree: FatTree, flows: LargeFlows, links: LinkState) -> object:
    return make_placement(algorithm, tree).place(flows, links)


def measure_placement(case: tuple[str, int, int, float]) -> Row:
    """A cell of Table 1, for algorithm, k, flows per host, and how long to measure: a placement's processor time per
    step (a flow or an iteration), and its memory, with the flows, between random hosts."""
    name, k, many, seconds = case
    flows = many * FatTree(k).num_hosts
    placing, steps = make_placement_input(k, flows), flows if name == FIRST_FIT else ITERATIONS
    best = time_placement(name, placing, seconds, ITERATIONS)[0]["best_ms"]
    if name == ANNEALING:  # less what a call without iterations takes
        best -= time_placement(name, placing, seconds)[0]["best_ms"]
    grown = measure_megabytes(partial(_place, name), make_placement_input, k, flows)
    return {
        "algorithm": name, "k": k, "flows_per_host": many, "step": STEPS[name],
        "step_us": 1e3 * best / steps if best > 0 else None,
        "megabytes": grown + sum(int(array.nbytes) for array in astuple(placing[1])) / 1e6,
    }  # fmt: skip


def fit_growth(rows: Sequence[Row]) -> dict[str, float]:
    """How one placement's time and memory grow with the network, fitted by least squares, times by their logarithms:
    step_us ~ (k/2)^k_power * flows^flows_power; bytes ~ per_k3 * k^3 + per_flow * F."""
    k, many = extract_column(rows, "k"), extract_column(rows, "flows_per_host")
    spent = np.log(extract_column(rows, "step_us"))
    _, k_power, flows_power = _fit([np.ones_like(k), np.log(k / 2), np.log(many)], spent)
    per_k3, per_flow = _fit([k**3, many * k**3 / 4], extract_column(rows, "megabytes") * 1e6)
    return {"k_power": k_power, "flows_power": flows_power, "per_k3": per_k3, "per_flow": per_flow}


def _fit(columns: Sequence[Float64], aim: Float64) -> list[float]:
    factors: list[float] = np.linalg.lstsq(np.stack(columns, axis=1), aim, rcond=None)[0].tolist()
    return factors


def _tabulate_growth(rows: Rows) -> Parts:
    tables: Parts = [make_table("Table 1: time and space of placements", rows["table1"])]
    text = (
        "{name}: time of one {step} ~ (k/2)^{k_power:.2f} x (flows per host)^{flows_power:.2f}; "
        "memory {per_k3:.0f} bytes x k^3 + {per_flow:.0f} bytes x flows."
    )
    for name, cells in group_rows(rows["table1"], "algorithm").items():
        tables.append(text.format(name=name, step=STEPS[name], **fit_growth(cells)))
    return tables


@study(_seconds, at_once=False, pictured=False)
def table_1(seconds: float) -> Study:
    """Measure how both placements' time and space grow: the paper's Table 1.

    It says: Global First Fit takes O((k/2)^2) per flow, independent of the number F of flows; Simulated Annealing
    takes O(f) per iteration, with f flows to a host, independent of k; both take O(k^3 + F) of memory. Here powers of
    k/2 and of the flows per host are fitted to measured times, and multiples of k^3 and F to a process's growth.
    """
    cases = [(name, k, many, seconds) for name in STEPS for k in SIZES for many in FLOWS_PER_HOST]
    rows = make_one_file("table1", lambda case, answers: answers[0])
    return Study(cases, measure_placement, rows, _tabulate_growth, label="Table 1: measuring")


def measure_estimation(case: tuple[int, int, float]) -> Row:
    """A cell of Table 4: k, flows, and how long to measure; ``ratio`` is the paper's time over our median."""
    k, flows, seconds = case
    pairs, published_ms = draw_flows(k, flows), TABLE_4[k, flows]
    spent, _ = time_calls(lambda flows: estimate_demands(*flows), partial(tuple, pairs), seconds)
    return {"k": k, "flows": flows, "published_ms": published_ms, **spent, "ratio": published_ms / spent["median_ms"]}


def _tabulate_estimation(rows: Rows) -> Parts:
    src, dst, _ = draw_flows(48, 250_000)
    megabytes = measure_megabytes(estimate_demands, draw_flows, 48, src.size) + (src.nbytes + dst.nbytes) / 1e6
    return [
        make_table("Table 4: demand estimation, ms per call", rows["table4"]),
        CAPTION,
        f"250,000 flows at k=48: {megabytes:.1f} MB (the paper: below 20 MB).",
    ]


@study(_seconds, at_once=False, pictured=False)
def table_4(seconds: float) -> Study:
    """Time demand estimation: the paper's Table 4 and ours."""
    cases = [(k, flows, seconds) for k, flows in TABLE_4]
    rows = make_one_file("table4", lambda case, answers: answers[0])
    return Study(cases, measure_estimation, rows, _tabulate_estimation, label="Table 4: measuring")


def measure_annealing(case: tuple[int, int, float]) -> list[Row]:
    """A line of Table 5, for k, flows, and how long to measure each number.

    ``annealing_ms`` is without the set-up (grouping flows by destination, loading the links, assigning cores), which
    is measured as a placement without iterations; None where that took longer. Ratios are the paper's time over our
    median.
    ``excess_before`` and ``excess_after``: the exceeded capacity, in link capacities.
    """
    k, flows, seconds = case
    placing = make_placement_input(k, flows)
    setup_ms = time_placement(ANNEALING, placing, seconds)[0]["median_ms"]
    rows = []
    for iterations, published_ms in TABLE_5[k, flows].items():
        spent, placement = time_placement(ANNEALING, placing, seconds, iterations)
        # On a busy machine a placement may take less time than its set-up did: then nothing is known.
        alone_ms = beyond if (beyond := spent["median_ms"] - setup_ms) > 0 else None
        rows.append(
            {
                "k": k, "flows": flows, "iterations": iterations, "published_ms": published_ms,
                **spent, "ratio": published_ms / spent["median_ms"],
                "annealing_ms": alone_ms, "annealing_ratio": None if alone_ms is None else published_ms / alone_ms,
                "excess_before": placement.initial_energy, "excess_after": placement.energy,
            }
        )  # fmt: skip
    return rows


def _tabulate_annealing(rows: Rows) -> Parts:
    return [
        make_table("Table 5: Simulated Annealing, ms per call", rows["table5"]),
        "Annealing is a placement without its set-up; excess is the exceeded capacity, in links, before and after.",
        "One thread: each iteration starts from the state that the one before it left.",
        CAPTION,
    ]


@study(_seconds, at_once=False, pictured=False)
def table_5(seconds: float) -> Study:
    """Time Simulated Annealing: the paper's Table 5 and ours, with set-up and without."""
    cases = [(k, flows, seconds) for k, flows in TABLE_5]

    def make_rows(answers: dict[Any, list[list[Row]]]) -> Rows:
        return {"table5": [row for (of_case,) in answers.values() for row in of_case]}

    return Study(cases, measure_annealing, make_rows, _tabulate_annealing, label="Table 5: measuring")


# Table 6 (section 6.4.5), the paper's model: all switches report their large flows, the scheduler computes, and the
# new placements go back to the switches. Messages are OpenFlow's, 72 bytes per flow entry; the last hop to the
# scheduler is a 10 Gb/s link that is always full; every switch of the control network adds 10 microseconds. Per large
# flow, one entry is sent to the scheduler and two are sent back, for the edge and the aggregation switch of the source
# pod (section 3.2).

ENTRY_BYTES = 72
ENTRIES_UP = 1
ENTRIES_DOWN = 2
LAST_HOP_BPS = 10e9
SWITCH_S = 10e-6
CONTROL_PORTS = 48
MEASURED_ROUNDS = 7
ASSUMED_COMPUTATION_S = 0.1
"""What the paper assumes that demand estimation and scheduling take."""


def compute_message_s(tree: FatTree, flows_per_host: int) -> float:
    """The time of all messages of a round, seconds: on the last hop, and in the switches both ways."""
    flows = tree.num_hosts * flows_per_host
    bits = flows * (ENTRIES_UP + ENTRIES_DOWN) * ENTRY_BYTES * 8
    return bits / LAST_HOP_BPS + 2 * count_control_hops(tree) * SWITCH_S


def count_control_hops(tree: FatTree) -> int:
    """Switches between the farthest data switch and the scheduler, in a tree of 48-port switches."""
    hops, reach = 1, CONTROL_PORTS - 1  # one port leads to the scheduler, or to the switch above
    while reach < tree.num_switches:
        hops, reach = hops + 1, reach * (CONTROL_PORTS - 1)
    return hops


@dataclass(frozen=True)
class Round:
    """A case of Table 6."""

    tree: FatTree
    flows_per_host: int
    seed: int = 1


def measure_rounds(case: Round) -> list[float]:
    """Measure the computing time of scheduling rounds, seconds, one for each of MEASURED_ROUNDS rounds.

    A round is demand estimation and Simulated Annealing (1,000 iterations) for a random matrix. The first round of a
    scheduler is left out: it starts from scratch, while later ones start from the placement before, as in operation.
    """
    tree = case.tree
    matrix = draw("random", tree, case.seed, case.flows_per_host)
    flows = len(matrix)
    rng = np.random.default_rng(case.seed)
    hashed = find_canonical_cores(tree, matrix.src, matrix.dst, rng.integers(0, tree.num_cores, flows))
    core = hashed.copy()
    scheduler = Scheduler(tree, SimulatedAnnealing(tree, rng))
    durations_s = []
    for number in range(MEASURED_ROUNDS + 1):
        active = ActiveFlows(np.arange(flows), matrix.src, matrix.dst, np.full(flows, 0.5), core.copy(), hashed)
        start = time.perf_counter()
        decided = scheduler.round(5.0 * number, active)
        durations_s.append(time.perf_counter() - start)
        core[decided.changed] = decided.new_core
    # The first round places every flow anew; in operation each round starts from the one before.
    return durations_s[1:]


def _make_control_loop_row(case: Round, rounds: list[list[float]]) -> Row:
    """A case's length of a round: the paper's, the model with the paper's 100 ms, and with the computing time measured
    here."""
    hosts, messages = case.tree.num_hosts, 1000 * compute_message_s(case.tree, case.flows_per_host)
    computed = statistics.median(1000 * spent_s for of_seed in rounds for spent_s in of_seed)
    return {
        "hosts": hosts, "flows_per_host": case.flows_per_host,
        "published_ms": TABLE_6.get((hosts, case.flows_per_host)),
        "model_with_100_ms": messages + 1000 * ASSUMED_COMPUTATION_S,
        "messages_ms": messages, "computed_ms": computed, "loop_ms": messages + computed,
    }  # fmt: skip


@study(seeds=1, at_once=False, pictured=False)
def table_6(seeds: int) -> Study:
    """Measure how long a round of the control loop takes."""
    cases = [Round(FatTree(find_ports(hosts)), flows) for hosts, flows in TABLE_6]
    rows, title = make_one_file("table6", _make_control_loop_row), "Table 6: length of the control loop"
    return Study(cases, measure_rounds, rows, title, label="Table 6: measuring", seeds=seeds)


# Table 2: the shuffle (section 6.3), in which every host sends 500 MB to every other, one after another: its times and
# rates under every scheme, as ratios to the control, beside the published ratios.

MB = 2**20
"""The bytes of the paper's megabyte. The published columns agree with each other only with this value
(`record.published.TABLE_2`)."""
QUANTITIES = {
    "shuffle": ("shuffle_s", "shuffle time [s]"),
    "host_completion": ("host_completion_s", "host completion [s]"),
    "bisection": ("bisection_mbps", "bisection bandwidth [Mb/s]"),
    "goodput": ("goodput_mib_per_s", "goodput [MB/s]"),
}
"""What is compared with the control, the column of its value, and its heading."""
OURS, PUBLISHED, GAP = "{}_to_control", "published_{}_to_control", "{}_difference"
PATIENCE = 10
"""A shuffle is given up when it takes this many times as long as the control's hosts need at full rate."""


class Shuffle(NamedTuple):
    """One shuffle: the time until the last host, and until hosts on average, had sent everything, in seconds."""

    shuffle_s: float
    host_completion_s: float


def collect_shuffles(runs: Iterable[Run], schemes: Iterable[str]) -> dict[str, list[Shuffle]]:
    """The shuffles of emulated runs that ended, by scheme."""
    by_scheme: dict[str, list[Shuffle]] = {scheme: [] for scheme in schemes}
    for run in runs:
        turns = run.turns
        if run.scheme in by_scheme and turns and turns.shuffle_s is not None and turns.host_completion_s is not None:
            by_scheme[run.scheme].append(Shuffle(turns.shuffle_s, turns.host_completion_s))
    return {scheme: ended for scheme, ended in by_scheme.items() if ended}


def make_shuffle_rows(measured: Mapping[str, Sequence[Shuffle]], hosts: int, bytes_per_host: float) -> list[Row]:
    """A row per scheme: means over its shuffles, the least and the greatest shuffle time; and for each of QUANTITIES
    its ratio to the control's, the published ratio, and their difference (None: there is none).

    ``bisection_mbps`` is 10^6 bit/s of all hosts, ``goodput_mib_per_s`` 2^20 bytes/s of one, both payload over the
    mean host completion time, as in the paper.
    """
    means = {scheme: _average_quantities(ended, hosts, bytes_per_host) for scheme, ended in measured.items()}
    rows = []
    for scheme, ended in measured.items():
        times = [shuffle.shuffle_s for shuffle in ended]
        own_ratios, published_ratios = _compute_ratios(means, scheme), _compute_ratios(TABLE_2, scheme)
        gaps = [None if a is None or b is None else a - b for a, b in zip(own_ratios, published_ratios, strict=True)]
        row: Row = {"scheme": scheme}
        row |= {unit: mean for (unit, _), mean in zip(QUANTITIES.values(), means[scheme], strict=True)}
        row |= {"shuffles": len(ended), "lowest_shuffle_s": min(times), "highest_shuffle_s": max(times)}
        for form, values in ((OURS, own_ratios), (PUBLISHED, published_ratios), (GAP, gaps)):
            row |= {form.format(quantity): value for quantity, value in zip(QUANTITIES, values, strict=True)}
        rows.append(row)
    return rows


def _average_quantities(ended: Sequence[Shuffle], hosts: int, bytes_per_host: float) -> Sequence[float]:
    """The values in the order of QUANTITIES, as TABLE_2 has them."""
    shuffle_s, completion_s = np.mean(ended, axis=0).tolist()
    bytes_per_s = statistics.mean(bytes_per_host / shuffle.host_completion_s for shuffle in ended)
    return shuffle_s, completion_s, hosts * bytes_per_s * 8e-6, bytes_per_s / MB


def _compute_ratios(values: Mapping[str, Sequence[float]], scheme: str) -> Sequence[float | None]:
    if scheme not in values or CONTROL not in values:
        return [None] * len(QUANTITIES)
    return [value / control_value for value, control_value in zip(values[scheme], values[CONTROL], strict=True)]


def _tabulate_shuffles(titles: Sequence[str], rows: Rows) -> Parts:
    """For each file, each quantity with its ratio to the control, the paper's ratio, and the difference."""
    return [make_table(title, _arrange_by_quantity(part)) for title, part in zip(titles, rows.values(), strict=True)]


def _arrange_by_quantity(rows: Sequence[Row]) -> list[Row]:
    cells = []
    for row in rows:
        for quantity, (unit, heading) in QUANTITIES.items():
            ratio, paper, gap = (row[form.format(quantity)] for form in (OURS, PUBLISHED, GAP))
            values = {"ours": row[unit], "to_control": ratio, "published": paper, "difference": gap}
            cells.append({"scheme": row["scheme"], "quantity": heading, **values})
    return cells


def shuffle_config(scheme: str, transfer_bytes: int = TABLE_2_BYTES, **fields: Any) -> Config:
    """One shuffle among 16 hosts; long enough for all of it."""
    base = Config(scheme, f"shuffle:{transfer_bytes}")
    at_full_rate = (base.tree.num_hosts - 1) * transfer_bytes * 8e-6 / base.link_mbps
    return Config(scheme, base.traffic, seconds=PATIENCE * at_full_rate, **fields)


def simulate_shuffle(base: Config) -> Shuffle:
    """Simulate a shuffle to its end; RuntimeError if it does not end."""
    result = simulate(base)
    if not np.isfinite(result.end_s).all():
        raise RuntimeError(f"under {base.scheme} the shuffle did not end within {base.seconds:,.0f} s")
    last = np.zeros(base.tree.num_hosts)
    np.maximum.at(last, result.src, result.end_s)
    return Shuffle(float(last.max()), float(last.mean()))


def _describe_emulated_shuffles(folder: Path, schemes: Sequence[str]) -> Study:
    """The table of a sweep's shuffles, and where some were not valid the same over all tries."""
    sweep = load_sweep(folder)
    valid = collect_shuffles((run for run in sweep.runs if run.valid), schemes)
    if not valid:
        raise ValueError(f"{folder} has no valid shuffle under any of {', '.join(schemes)}")
    tries = [run for run in sweep.tries if run.scheme in schemes and run.traffic.startswith("shuffle:")]
    hosts, size = tries[0].spec.k ** 3 // 4, int(tries[0].traffic.partition(":")[2])
    note = f"Emulated, {hosts} hosts, links of {tries[0].spec.link_mbps:g} Mb/s, {size:,} bytes to each"
    titles, files = [f"Table 2, the shuffle. {note}"], {"table2": make_shuffle_rows(valid, hosts, (hosts - 1) * size)}
    if left_out := Counter(run.scheme for run in tries if not run.valid):
        counts = ", ".join(f"{number} of {scheme}" for scheme, number in sorted(left_out.items()))
        titles.append(f"The same over all tries, valid or not; left out above: {counts}")
        files["table2-all-tries"] = make_shuffle_rows(collect_shuffles(tries, schemes), hosts, (hosts - 1) * size)
    return Study([], simulate_shuffle, lambda answers: files, partial(_tabulate_shuffles, titles))


@study(
    click.argument("folder", required=False, type=click.Path(path_type=Path)),
    click.option("--simulated", is_flag=True, help="Use the simulator."),
    schemes_option(tuple(TABLE_2)),
    field_options(Config, "interval_s tick_s detect_s large_flows", large_flows=KEPT_RULE),
    seeds=5,
    pictured=False,
)
def table_2(folder: Path | None, simulated: bool, schemes: Sequence[str], seeds: int, **fields: Any) -> Study:
    """A shuffle's time, hosts' completion, bandwidth and goodput, as ratios to the control, beside the paper's.

    Of the runs in FOLDER (the sweep of ./test.sh 5 252 --suite table2); or, with --simulated, of simulated ones, of
    120 GB, to which all options but --schemes belong.

    MB are 2^20 bytes: only then do the paper's columns agree with each other.
    """
    if folder is not None and not simulated:
        return _describe_emulated_shuffles(folder, schemes)
    if not simulated:
        raise click.UsageError("name the folder of a sweep (./test.sh 5 252 --suite table2), or add --simulated")
    title = f"Table 2, the shuffle. Simulated, 16 hosts, {seeds} seed{'s' * (seeds > 1)}"
    cases = [shuffle_config(scheme, **fields) for scheme in schemes]

    def make_rows(answers: dict[Config, list[Shuffle]]) -> Rows:
        hosts, ended = cases[0].tree.num_hosts, {case.scheme: shuffles for case, shuffles in answers.items()}
        return {"table2": make_shuffle_rows(ended, hosts, (hosts - 1) * TABLE_2_BYTES)}

    return Study(cases, simulate_shuffle, make_rows, partial(_tabulate_shuffles, [title]), label="Table 2", seeds=seeds)


# Table 3: iterations of Simulated Annealing against the size of the network. The paper leaves three things open, and
# each changes the table: the rates that flows get on good paths (the model of TCP), how often flows are placed, and
# when "final" is. So everything is computed under both engines, with several periods, and over both the whole
# measuring window and its end. Every share is also given as a share of the control's with the same seed, so that the
# draw of the receivers cancels out.

PERIOD_S = 5.0
"""The testbed's period, the shortest that its switches allow (section 5.4). The simulator's period is not published."""
FINAL_S = 5.0
"""What is seen in the last seconds of the measuring window, so many, counts as final."""
MAX_WORK = 400_000
"""Cells with more iterations in a simulated second are not measured. The last row of the table has 2,000,000 in 5 s."""


def measure_window_and_end(case: Config) -> tuple[float, float]:
    """Percent of all hosts' links: the mean over the measuring window, and over the end of it."""
    total = 100 * Simulation(case).window() / case.capacity_mbps
    return float(total.mean()), float(total[-max(1, round(FINAL_S / case.tick_s)) :].mean())


def _compute_sd(values: Float64) -> float:
    """Over seeds; 0 for one."""
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def _make_cells(answers: dict[Config, list[tuple[float, float]]]) -> Rows:
    """The cells of Table 3, in percent of all hosts' links, and of the control's share with the same seed; each control
    comes before the cases that are compared with it. ``iterations``: None without annealing."""
    rows, control = [], np.empty(0)
    for case, shares in answers.items():
        percents = np.array(shares)  # (seeds, 2): over the window, and over its end
        control = percents if case.scheme == CONTROL else control
        hosts, count = case.tree.num_hosts, case.iterations if case.scheme == "hedera-sa" else None
        published = None if case.scheme == "hedera-clos" else TABLE_3.get((hosts, count))
        published_control, ratio = TABLE_3.get((hosts, None)), 100 * percents / control
        (percent, final), (of_control, final_of_control) = percents.mean(axis=0).tolist(), ratio.mean(axis=0).tolist()
        rows.append(
            {
                "engine": case.engine, "hosts": hosts, "scheme": case.scheme, "interval_s": case.interval_s,
                "iterations": count, "seeds": len(percents), "published_percent": published, "percent": percent,
                "sd_percent": _compute_sd(percents[:, 0]), "lowest_percent": float(percents[:, 0].min()),
                "highest_percent": float(percents[:, 0].max()), "final_percent": final,
                "published_of_control_percent": (
                    100 * published / published_control if published and published_control else None
                ),
                "of_control_percent": of_control, "of_control_sd_percent": _compute_sd(ratio[:, 0]),
                "final_of_control_percent": final_of_control,
            }
        )  # fmt: skip
    return {"table3": rows}


@study(
    click.option("--hosts", default="16,1024,8192", show_default=True, help="Sizes of the network."),
    click.option(
        "--iterations",
        default="1000,50000,100000,500000,1000000,1500000,2000000",
        show_default=True,
        help="Iterations of Simulated Annealing per round, comma-separated.",
    ),
    click.option("--intervals", default="5,1,0.1", show_default=True, help="Hedera's scheduling periods, s."),
    field_options(
        Config, "flows_per_host seconds tick_s large_flows", flows_per_host=3, tick_s=0.01, large_flows=KEPT_RULE
    ),
    engines_option,
    seeds=3,
    pictured=False,
)
def table_3(
    hosts: str, iterations: str, intervals: str, engines: Sequence[str], seeds: int, flows_per_host: int,
    seconds: float, tick_s: float, large_flows: str = KEPT_RULE,
) -> Study:  # fmt: skip
    """Simulate iterations of Simulated Annealing against the size of the network (random receivers).

    Cells with more than 400,000 iterations in a simulated second are left out.
    """
    sizes, counts = parse_numbers("--hosts", hosts, int), parse_numbers("--iterations", iterations, int)
    periods = parse_numbers("--intervals", intervals, float)
    cases = []
    for engine in engines:
        for size in sizes:
            control = Config(
                "nonblocking", "random", find_ports(size), seconds, interval_s=PERIOD_S, iterations=1,
                flows_per_host=flows_per_host, engine=engine, tick_s=tick_s, large_flows=large_flows,
            )  # fmt: skip
            cases += [control, replace(control, scheme="hedera-clos")]  # whose period hardly matters
            for period in periods:
                within = [count for count in counts if count <= MAX_WORK * period]
                annealed = replace(control, scheme="hedera-sa", interval_s=period)
                cases += [replace(annealed, iterations=count) for count in within]
    load = f"{flows_per_host} random receivers per host, " + (f"{seeds} seeds" if seeds > 1 else "one seed")
    title = f"percent of full bisection bandwidth and of the control's, {load}"

    def make_tables(rows: Rows) -> Parts:
        by_engine = group_rows(rows["table3"], "engine")
        return [make_table(f"Table 3 under {engine}: {title}", cells) for engine, cells in by_engine.items()]

    def estimate_cost(case: Config) -> tuple[int, float]:
        return case.k, case.iterations / case.interval_s

    return Study(
        cases, measure_window_and_end, _make_cells, make_tables, label="Table 3", seeds=seeds, cost=estimate_cost
    )
