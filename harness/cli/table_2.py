"""`hedera table 2`: the shuffle of section 6.3, emulated; with ``--simulated``, by the simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.cli.options import carrier, experiment_options, jobs_option, timed
from harness.errors import RunFailed
from harness.jobs.store import alone_in, slug
from harness.run.spec import RunSpec
from harness.sweep.plan import Planned, TrafficSpec, keep_settings, plan, split_schemes
from harness.sweep.progress import carry_out_shown
from hedera.options import json_option
from plots.load import load_sweep
from plots.shuffle import SCHEMES, TRANSFER_BYTES, draw, rows_of, shuffles, told
from results.output import conclude, write_csv
from traffic.poisson import REFERENCE_MBPS

PATIENCE = 4
"""A shuffle is given up when it takes this many times as long as the control's hosts need at full rate. The paper's
takes 1.94 times as long under ECMP."""
SPARE = PATIENCE / 1.5
"""For the forecast: how many times as long a shuffle may take as most do."""


def transfer_bytes(link_mbps: float, scale: float) -> int:
    """Bytes that each host sends to every other: 500 MB at 1 Gb/s, less on slower links (so times stay the paper's),
    times ``scale``."""
    return max(1, round(TRANSFER_BYTES * link_mbps / REFERENCE_MBPS * scale))


def jobs_of(base: RunSpec, schemes: Sequence[str], trials: int, scale: float, folder: Path) -> list[Planned]:
    size = transfer_bytes(base.link_mbps, scale)
    at_full_rate = (base.tree.num_hosts - 1) * size * 8e-6 / base.link_mbps
    base = replace(base, seconds=max(20.0, round(PATIENCE * at_full_rate)))
    return plan(base, [TrafficSpec(f"shuffle:{size}")], schemes, trials, folder)


@click.command()
@click.option("--simulated", is_flag=True, help="Use the simulator; see --simulated --help for its options.")
@click.option("--trials", type=click.IntRange(1), default=1, show_default=True, help="Shuffles per scheme.")
@click.option("--schemes", default=",".join(SCHEMES), show_default=True, help="Comma-separated, or all.")
@click.option(
    "--scale",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="Share of the paper's transfers: 1 takes a quarter of an hour, 0.1 three minutes.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results/runs/table2"),
    show_default=True,
    help="Folder for runs, picture and CSV.",
)
@experiment_options
@jobs_option
@json_option
def table_2(
    simulated: bool,
    trials: int,
    schemes: str,
    scale: float,
    out: Path,
    at_once: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """A shuffle: its time, hosts' completion, bandwidth and goodput, as ratios to the control, beside the paper's.

    Every host sends 500 MB to every other host, one after another, on links of 1 Gb/s; proportionally less on slower
    links, so that times are the paper's. Stop it at any time: the same command continues where it stopped. As an
    ordinary user it runs in virtual time.
    """
    assert not simulated  # `harness.cli.group` takes --simulated elsewhere
    names = split_schemes(schemes)
    base = timed(RunSpec(scheme="ecmp", traffic="shuffle:1", seconds=20.0, **options))
    folder = out / slug(f"k{base.k}-{base.link_mbps:g}mbps-scale{scale:g}{'-virtual' * (base.time == 'virtual')}")
    jobs = jobs_of(base, names, trials, scale, folder)
    for planned in jobs:
        planned.spec.workload()
    keep_settings(jobs[0].spec, folder)
    with carrier(base, at_once, asked=options["time"]) as where, alone_in(folder):
        carry_out_shown(jobs, folder, where, SPARE)
    sweep, asked = load_sweep(folder), {planned.spec.trial for planned in jobs}
    found = shuffles((run for run in sweep.runs if run.valid and run.trial in asked), names)
    bad = [one for one in map(_gone_wrong, jobs) if one]
    if not found:
        raise RunFailed(f"no shuffle was valid: {bad[0]}")
    hosts = base.tree.num_hosts
    sent = (hosts - 1) * transfer_bytes(base.link_mbps, scale)
    rows = rows_of(found, hosts, sent)
    share = "the paper's" if scale == 1 else f"{scale:g} of the paper's"
    note = f"Emulated, {hosts} hosts, links of {base.link_mbps:g} Mb/s, {share} transfers"
    files = [write_csv(folder / "table2.csv", rows), draw(rows, note, folder / "table2.png")]
    tables = [told(rows, f"Table 2, the shuffle. {note}")]
    tries = [run for run in sweep.tries if run.trial in asked and run.scheme in names]
    if left_out := Counter(run.scheme for run in tries if not run.valid):
        all_rows = rows_of(shuffles(tries, names), hosts, sent)
        files.append(write_csv(folder / "table2-all-tries.csv", all_rows))
        which = ", ".join(f"{number} of {scheme}" for scheme, number in sorted(left_out.items()))
        tables.append(told(all_rows, f"The same over all tries, valid or not; left out above: {which}"))
    conclude(rows, [*tables, *bad], files, as_json)
    if bad:
        raise RunFailed(f"{len(bad)} of {len(jobs)} shuffles are not valid: {bad[0]}")


def _gone_wrong(planned: Planned) -> str | None:
    outcome = planned.outcome()
    if outcome is not None and outcome.run is not None and outcome.run.valid:
        return None
    reasons = outcome.reasons if outcome is not None and outcome.reasons else ("it did not run",)
    return f"{planned.spec.scheme}, trial {planned.spec.trial}: {reasons[0]}"
