"""Table 2: the shuffle (section 6.3), in which every host sends 500 MB to every other, one after another: its times and
rates under every scheme, as ratios to the control, beside the published ratios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from hedera.options import seeds_option
from hedera.schemes import CONTROL
from plots.load import load_sweep
from record.output import plain_table
from record.published import TABLE_2, TABLE_2_BYTES
from record.run import Run
from record.tasks import Computing, Runner, computed, in_turn
from simulator.config import Config
from studies.study import over_seeds, schemes_option

if TYPE_CHECKING:
    from rich.table import Table

MB = 2**20
"""Bytes. Only with this value do the published columns agree with each other (`record.published.TABLE_2`)."""
SCHEMES = tuple(TABLE_2)
QUANTITIES = ("shuffle", "host_completion", "bisection", "goodput")
UNITS = ("shuffle_s", "host_completion_s", "bisection_mbps", "goodput_mib_per_s")
OURS, PUBLISHED, GAP = "{}_to_control", "published_{}_to_control", "{}_difference"


PATIENCE = 10
"""A shuffle is given up when it takes this many times as long as the control's hosts need at full rate."""


class Shuffle(NamedTuple):
    """One shuffle: the time until the last host, and until hosts on average, had sent everything, in seconds."""

    shuffle_s: float
    host_completion_s: float


def shuffles(runs: Iterable[Run], schemes: Iterable[str]) -> dict[str, list[Shuffle]]:
    found: dict[str, list[Shuffle]] = {scheme: [] for scheme in schemes}
    for run in runs:
        turns = run.turns
        if run.scheme in found and turns and turns.shuffle_s is not None and turns.host_completion_s is not None:
            found[run.scheme].append(Shuffle(turns.shuffle_s, turns.host_completion_s))
    return {scheme: own for scheme, own in found.items() if own}


def rows_of(measured: Mapping[str, Sequence[Shuffle]], hosts: int, bytes_per_host: float) -> list[dict[str, Any]]:
    """A row per scheme: means over its shuffles, the least and the greatest shuffle time; and for each of QUANTITIES
    its ratio to the control's, the published ratio, and their difference (None: there is none).

    ``bisection_mbps`` is 10^6 bit/s of all hosts, ``goodput_mib_per_s`` 2^20 bytes/s of one, both payload over the
    mean host completion time, as in the paper.
    """
    means = {scheme: _means(found, hosts, bytes_per_host) for scheme, found in measured.items()}
    rows = []
    for scheme, found in measured.items():
        times = [one.shuffle_s for one in found]
        ours, published = _ratios(means, scheme), _ratios(TABLE_2, scheme)
        gaps = [None if a is None or b is None else a - b for a, b in zip(ours, published, strict=True)]
        row = {"scheme": scheme, **dict(zip(UNITS, means[scheme], strict=True)), "shuffles": len(found)}
        row |= {"lowest_shuffle_s": min(times), "highest_shuffle_s": max(times)}
        for form, values in ((OURS, ours), (PUBLISHED, published), (GAP, gaps)):
            row |= {form.format(quantity): value for quantity, value in zip(QUANTITIES, values, strict=True)}
        rows.append(row)
    return rows


Values = tuple[float, float, float, float]


def _means(found: Sequence[Shuffle], hosts: int, bytes_per_host: float) -> Values:
    pace = mean(bytes_per_host / one.host_completion_s for one in found)
    return (
        mean(one.shuffle_s for one in found),
        mean(one.host_completion_s for one in found),
        hosts * pace * 8e-6,
        pace / MB,
    )


def _ratios(values: Mapping[str, Values], scheme: str) -> Sequence[float | None]:
    if scheme not in values or CONTROL not in values:
        return [None] * 4
    return [ours / controls for ours, controls in zip(values[scheme], values[CONTROL], strict=True)]


_TITLES = ("shuffle time", "host completion", "bisection bandwidth", "goodput")


def told(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    units = zip(_TITLES, ("s", "s", "Mb/s", "MB/s"), strict=True)
    made = plain_table(title, "scheme", *(f"{name} [{unit}]" for name, unit in units))
    for row in rows:
        cells = []
        for quantity, value in zip(QUANTITIES, UNITS, strict=True):
            ours, paper, gap = (row[form.format(quantity)] for form in (OURS, PUBLISHED, GAP))
            ratio = "" if ours is None else f"  {ours:.2f}"
            cells.append(f"{row[value]:,.1f}{ratio}" + ("" if gap is None else f" ({paper:.2f}, {gap:+.2f})"))
        made.add_row(row["scheme"], *cells)
    made.caption = "each with its ratio to the control, and in brackets the paper's ratio and the difference"
    return made


def config(scheme: str, transfer_bytes: int = TABLE_2_BYTES, **fields: float) -> Config:
    """One shuffle among 16 hosts; long enough for all of it."""
    base = Config(scheme, f"shuffle:{transfer_bytes}")
    at_full_rate = (base.tree.num_hosts - 1) * transfer_bytes * 8e-6 / base.link_mbps
    return Config(scheme, base.traffic, seconds=PATIENCE * at_full_rate, **fields)  # type: ignore[arg-type]


def measure(base: Config) -> Shuffle:
    """Simulate a shuffle to its end; RuntimeError if it does not end."""
    from simulator.driver import simulate

    result = simulate(base)
    if not np.isfinite(result.end_s).all():
        raise RuntimeError(f"under {base.scheme} the shuffle did not end within {base.seconds:,.0f} s")
    last = np.zeros(base.tree.num_hosts)
    np.maximum.at(last, result.src, result.end_s)
    return Shuffle(float(last.max()), float(last.mean()))


def compute(
    seeds: int,
    run: Runner = in_turn,
    schemes: Sequence[str] = SCHEMES,
    transfer_bytes: int = TABLE_2_BYTES,
    **fields: float,
) -> list[dict[str, Any]]:
    """The table, over several shuffles of every scheme."""
    cases = [config(scheme, transfer_bytes, **fields) for scheme in schemes]
    measured = dict(zip(schemes, over_seeds(run, measure, cases, seeds), strict=True))
    hosts = cases[0].tree.num_hosts
    return rows_of(measured, hosts, (hosts - 1) * transfer_bytes)


def _emulated(asked: Computing, folder: Path, schemes: Sequence[str]) -> None:
    """The table of a sweep's shuffles, and where some were not valid the same over all tries."""
    sweep = load_sweep(folder)
    found = shuffles((run for run in sweep.runs if run.valid), schemes)
    if not found:
        raise ValueError(f"{folder} has no valid shuffle under any of {', '.join(schemes)}")
    tries = [run for run in sweep.tries if run.scheme in schemes and run.traffic.startswith("shuffle:")]
    hosts, size = tries[0].spec.k ** 3 // 4, int(tries[0].traffic.partition(":")[2])
    rows = rows_of(found, hosts, (hosts - 1) * size)
    note = f"Emulated, {hosts} hosts, links of {tries[0].spec.link_mbps:g} Mb/s, {size:,} bytes to each"
    files = [asked.csv("table2", rows)]
    tables = [told(rows, f"Table 2, the shuffle. {note}")]
    if left_out := Counter(run.scheme for run in tries if not run.valid):
        all_rows = rows_of(shuffles(tries, schemes), hosts, (hosts - 1) * size)
        files.append(asked.csv("table2-all-tries", all_rows))
        which = ", ".join(f"{number} of {scheme}" for scheme, number in sorted(left_out.items()))
        tables.append(told(all_rows, f"The same over all tries, valid or not; left out above: {which}"))
    asked.conclude(rows, tables, files)


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--simulated", is_flag=True, help="Use the simulator.")
@schemes_option(SCHEMES)
@seeds_option(5)
@click.option("--interval", "interval_s", default=5.0, show_default=True, help="Hedera's scheduling period, s.")
@click.option("--tick", "tick_s", default=0.001, show_default=True, help="Length of a tick, s.")
@click.option("--detect", "detect_s", default=0.0, help="How often Global First Fit looks for large flows, s.")
@computed
def command(
    asked: Computing, folder: Path | None, simulated: bool, schemes: tuple[str, ...], seeds: int, **fields: float
) -> None:
    """A shuffle's time, hosts' completion, bandwidth and goodput, as ratios to the control, beside the paper's.

    Of the runs in FOLDER (the sweep of ./test.sh 5 252 --suite table2); or, with --simulated, of simulated ones, of
    120 GB, to which all options but --schemes belong.

    MB are 2^20 bytes: only then do the paper's columns agree with each other.
    """
    if folder is not None and not simulated:
        _emulated(asked, folder, schemes)
        return
    if not simulated:
        raise click.UsageError("name the folder of a sweep (./test.sh 5 252 --suite table2), or add --simulated")
    rows = compute(seeds, asked.runner("Table 2"), schemes, TABLE_2_BYTES, **fields)
    note = f"Simulated, 16 hosts, {seeds} seed{'s' * (seeds > 1)}"
    spread = "  ".join("{scheme} {lowest_shuffle_s:,.1f} to {highest_shuffle_s:,.1f} s".format(**row) for row in rows)
    table = told(rows, f"Table 2, the shuffle. {note}")
    asked.conclude(rows, [table, f"Shuffle time over seeds: {spread}"], [asked.csv("table2", rows)])
