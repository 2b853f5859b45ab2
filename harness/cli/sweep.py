"""`hedera sweep`, which ./test.sh runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.cli.guests import in_guests, jobs_option
from harness.cli.options import experiment_options, results_option, spec_from, with_rate
from harness.network import machine
from harness.run.resolution import time_of
from harness.run.spec import RunSpec
from harness.sweep import dry_run, progress
from harness.sweep.guests import guests_at_once
from harness.sweep.plan import plan, settle, split_schemes
from harness.sweep.progress import InGuests
from harness.sweep.store import slug
from harness.sweep.suites import TrafficSpec
from harness.sweep.suites import suite as workloads_of
from topos.wire import DEFAULT_MTU
from traffic.patterns import split_specs


@click.command()
@click.argument("trials", type=click.IntRange(1))
@click.argument("seconds", type=float)
@click.option("--patterns", metavar="LIST", help="Comma-separated traffic patterns, instead of a suite.")
@click.option("--suite", default="figure9", help="figure9, replication, dynamic or all.", show_default=True)
@click.option("--schemes", default="all", metavar="LIST", help="Comma-separated, or all.", show_default=True)
@click.option("--name", help="Folder below results/runs (default: named after the settings).")
@results_option
@experiment_options
@jobs_option
@click.option(
    "--dry-run", "only_told", is_flag=True, help="Say what would be run and how long that takes; run nothing."
)
def sweep(
    trials: int,
    seconds: float,
    patterns: str | None,
    suite: str,
    schemes: str,
    name: str | None,
    results: Path,
    at_once: int | None,
    only_told: bool,
    **options: Any,
) -> None:
    """Run patterns x schemes x TRIALS, SECONDS of traffic each; then print the table and draw the figures.

    Stop it at any time (Ctrl-C): the same command continues where it stopped. Finished valid runs are
    skipped; others are tried once more, then left and reported.

    \b
    ./test.sh 1 10                                   all of Figure 9, quickly (about 30 minutes)
    ./test.sh 5 60                                   as the paper: 60 s, medians of 5 trials (12 hours)
    ./test.sh 1 10 --patterns stride:4,randbij       two patterns, all schemes
    ./test.sh 3 30 --schemes nonblocking,ecmp,hedera-gff --bw 5
    ./test.sh 1 10 --time virtual --bw 1000 --mtu 9000   at the paper's own rate (docs/virtual-time.md)

    As an ordinary user it runs in virtual time.
    """
    base, mtus = spec_from(scheme="ecmp", traffic="stride:1", seconds=seconds, **options)
    scheme_names = split_schemes(schemes)
    for each in plan(base, _workloads(base, suite, patterns), scheme_names, trials, results):
        each.spec.workload()  # a mistake in any pattern is found before the first run
    if only_told:
        if mtus:
            raise click.UsageError("--dry-run needs a link rate (--bw): --bw auto may take minutes to find one")
        base = replace(base, time=time_of(base))
        virtual = base.time == "virtual"
        folder = _folder(base, name, results, "-virtual" if virtual else "")
        jobs = plan(base, _workloads(base, suite, patterns), scheme_names, trials, folder)
        side_by_side = min(guests_at_once(at_once), machine.processors()) if virtual else 1
        for line in dry_run.told(jobs, folder, side_by_side):
            click.echo(line)
        return
    where: InGuests | None = None
    if time_of(base) == "virtual":
        where = in_guests(with_rate(base, mtus), at_once)
    else:
        machine.require_root()
        machine.require_tools()
        base = with_rate(base, mtus)
    workloads = _workloads(base, suite, patterns)
    folder = _folder(base, name, results, "-virtual" if time_of(base) == "virtual" else "")
    base = settle(base, folder)
    progress.carry_out_with_progress(plan(base, workloads, scheme_names, trials, folder), folder, where)


def _workloads(base: RunSpec, suite: str, patterns: str | None) -> list[TrafficSpec]:
    """The patterns asked for; some suites scale with the link rate. UsageError if there is none."""
    if patterns is None:
        return workloads_of(suite, base)
    workloads = [TrafficSpec(spec, base.flows_per_host, base.keep) for spec in split_specs(patterns)]
    if not workloads:
        raise click.UsageError("--patterns is empty")
    return workloads


def _folder(base: RunSpec, name: str | None, results: Path, time: str = "") -> Path:
    """Where the runs of such a sweep are kept."""
    packets = "" if base.mtu == DEFAULT_MTU else f"-mtu{base.mtu}"
    return results / (slug(name) if name else f"k{base.k}-{base.link_mbps:g}mbps{packets}-{base.seconds:g}s{time}")
