"""Load against FCT slowdown: completion times by size class under every scheme (`hedera completion`).

The paper has no such figure. This answers a question it leaves open in sections 6.3 and 6.4: how scheduling large
flows affects all others, and how short a scheduling period flows of a given size need.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from hedera.options import field_options
from hedera.schemes import CONTROL
from hedera.schemes import scheme as scheme_of
from paper.completion_figure import Cell, curve_of, draw, overloaded, when
from paper.emulated import beside
from paper.scale import numbers, schemes_option
from results.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config
from simulator.workload import bounded
from traffic.completion import Completion, by_class

if TYPE_CHECKING:
    from simulator.driver import Simulation

SCHEMES = (CONTROL, "ecmp", "ecmp-dst", "random", "spanning-tree", "hedera-gff", "hedera-sa", "hedera-clos")
MAX_UPDATES = 1.5e9
"""Flow-updates in which flows only pile up, some minute of processor time: what takes more is not simulated."""


def plan(
    base: Config, sizes: str, loads: Sequence[float], schemes: Sequence[str], intervals_s: Sequence[float]
) -> list[Config]:
    """All simulations, the long ones first; all simulations of a load have the same flows.

    Static schemes need no period. If ``base`` has detection, Global First Fit that re-routes on detection is added.
    """
    tasks = []
    for load in sorted(loads, reverse=True):
        for name in schemes:
            here = replace(base, scheme=name, traffic=f"poisson:{sizes},{load:g}", detect_s=0.0)
            periods = intervals_s if scheme_of(name).scheduler else intervals_s[:1]
            tasks += [replace(here, interval_s=period) for period in periods]
            if name == "hedera-gff" and base.detect_s:
                tasks.append(replace(here, detect_s=base.detect_s))
    return tasks


def measure(config: Config) -> list[Cell]:
    """The size classes of one simulation; without times if its flows would only pile up."""
    from simulator.driver import Simulation

    simulation = Simulation(config)
    least, carried = _pile(simulation)
    if least * config.ticks / 2 > MAX_UPDATES:
        return [_cell_of(one, config, carried) for one in _not_simulated(simulation)]
    result = simulation.run()
    carried = result.bisection_mbps / result.capacity_mbps
    return [_cell_of(one, config, carried) for one in result.completion()]


def _cell_of(one: Completion, config: Config, carried: float) -> Cell:
    schedules = scheme_of(config.scheme).scheduler is not None
    return Cell(
        **asdict(one),
        load=float(config.traffic.rpartition(",")[2]),
        scheme=config.scheme,
        interval_s=config.interval_s if schedules and not config.detect_s else None,
        detect_s=config.detect_s or None,
        carried=carried,
        k=config.k,
    )


def _pile(simulation: Simulation) -> tuple[float, float]:
    """An estimate from the links of first paths: how many flows would be active at the end, and which share of the
    hosts' links they fill. Where more is sent than fits, every flow gets its share of the link."""
    config, links = simulation.config, simulation.links
    size, real = simulation.work.size_bytes, links >= 0
    of_flow = np.broadcast_to(size[:, None], links.shape)[real]
    fits = config.link_mbps * 1e6 / 8 * config.seconds
    sent = np.bincount(links[real], of_flow) / fits
    worst = np.where(real, sent[links], 0.0).max(axis=1, initial=1.0)
    carried = float((size / worst).sum() / fits / config.tree.num_hosts)
    return float((1 - 1 / worst).sum()), carried


def _not_simulated(simulation: Simulation) -> list[Completion]:
    """The flows of every class, without completion times."""
    work, (begin, end) = simulation.work, simulation.config.window_s
    size = work.size_bytes[(work.start_s >= begin) & (work.start_s < end)] / simulation.config.size_scale
    nothing = np.ones(size.size)
    known = by_class(size, nothing, nothing, np.zeros(size.size, dtype=bool))
    return [Completion(one.size_class, one.flows, one.flows, 0.0) for one in known]


def compute(tasks: Sequence[Config], run: Runner = in_turn) -> list[Cell]:
    """Carry out a `plan`; rows by load, scheme and period."""
    cells = [cell for cells in run(measure, tasks) for cell in cells]
    return sorted(cells, key=lambda cell: cell.load)


def stored(path: Path) -> list[Cell]:
    """The simulated rows of a CSV file that this command has written; ValueError when there is none."""
    if not path.is_file():
        raise ValueError(f"there is no {path} to draw again: run this without --redraw first")
    kinds = {field.name: str(field.type) for field in fields(Cell)}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [{name: _cell(kinds[name], text) for name, text in row.items()} for row in csv.DictReader(file)]
    return [cell for cell in (Cell(**row) for row in rows) if not cell.beside]


def _cell(kind: str, text: str) -> Any:
    if not text:
        return None
    if kind in ("str", "bool"):
        return text if kind == "str" else text == "True"
    return float(text) if "float" in kind else int(text)


@click.command()
@schemes_option(SCHEMES)
@click.option(
    "--sizes",
    default="web-search",
    show_default=True,
    help="web-search, data-mining, fixed:BYTES, FILE.csv ...",
)
@click.option(
    "--loads",
    default="0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9",
    show_default=True,
    help="Loads, as shares of the links' rate that hosts send.",
)
@click.option("--intervals", default="5,1,0.1", show_default=True, help="Hedera's scheduling periods, s.")
@field_options(
    Config,
    "k seconds seed tick_s engine iterations large_flows detect_s",
    k=16,
    seconds=7.5,
    tick_s=0.0001,
    detect_s=0.01,
)
@click.option(
    "--emulated",
    "runs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A sweep's folder or a run.json to compare with; its settings are simulated as well. Can be repeated.",
)
@click.option("--redraw", is_flag=True, help="Simulate nothing; draw the CSV file in --out again.")
@computed
def command(
    asked: Computing,
    schemes: tuple[str, ...],
    sizes: str,
    loads: str,
    intervals: str,
    runs: tuple[Path, ...],
    redraw: bool,
    **options: Any,
) -> None:
    """Simulate load against FCT slowdown, by size class, for flows that arrive and end."""
    detect_s = options.pop("detect_s")
    intervals_s = numbers("--intervals", intervals, float)
    base = replace(Config("ecmp", "random", **options), detect_s=0.0)
    base = replace(base, interval_s=max(intervals_s), detect_s=detect_s if "hedera-gff" in schemes else 0.0)
    tasks = plan(base, sizes, numbers("--loads", loads, float), schemes, intervals_s)
    for task in tasks:
        bounded(task.workload())  # a mistake in any of them is found before the first run
    others = beside(runs, base)
    name = f"completion_k{base.k}"
    table = asked.out / f"{name}.csv"
    cells = stored(table) if redraw else compute(tasks, asked.runner(f"completion, k={base.k}"))
    note = f"{base.tree.num_hosts:,} hosts, {sizes}, {base.seconds:g} s"
    rows = [*cells, *others]
    files = [asked.csv(name, rows), draw(rows, note, asked.png(name))]
    told = [_told(cells, note)]
    if others:
        told.append(_told(others, "Emulated, and the same settings simulated"))
    asked.conclude(rows, told, files)


def _told(cells: Sequence[Cell], note: str) -> str:
    lines = [f"Mean slowdown (99th percentile) of small, medium and large flows. {note}"]
    for one in (cell for cell in cells if cell.size_class == "all"):
        same = [c for c in cells if (c.load, c.emulated) == (one.load, one.emulated)]
        classes = [c for c in same if curve_of(c) == curve_of(one) and c.size_class != "all"]
        known = [None if c.mean_slowdown is None else (c.mean_slowdown, c.p99_slowdown) for c in classes]
        shown = "  ".join("      - " if one is None else "{:7.2f} ({:.1f})".format(*one) for one in known)
        name = one.scheme + when(curve_of(one)) + ", emulated" * one.emulated
        lines.append(
            f"{one.load:g}  {name:<28} {shown}   carried {one.carried:.3f}, {one.cut_off:,} of {one.flows:,} cut off"
        )
    return "\n".join([*lines, *overloaded(cells)])
