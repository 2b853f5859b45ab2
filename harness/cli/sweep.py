"""`hedera sweep`, which ./test.sh runs, and `hedera demo`: one pattern under three schemes, in about a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness.cli.options import carrier, experiment_options, jobs_option, results_option, tell_user, timed
from harness.jobs.store import slug
from harness.run.spec import RunSpec
from harness.sweep.plan import TrafficSpec, keep_settings, plan, split_schemes
from harness.sweep.plan import suite as workloads_of
from hedera.options import cluster_option, field_options, quiet_option
from topos.wire import DEFAULT_MTU
from traffic.patterns import split_specs

PATTERN = "published:stride4"
"""Every flow crosses the core, and the paper has bars for it, which are marked beside ours."""
SCHEMES = "nonblocking,ecmp,hedera-sa"
SECONDS = 15.0
"""Long enough for seven rounds of scheduling; the first one is before the measured part."""


@click.command()
@click.argument("trials", type=click.IntRange(1))
@click.argument("seconds", type=float)
@click.option("--patterns", metavar="LIST", help="Comma-separated traffic patterns, instead of a suite.")
@click.option("--suite", default="figure9", help="figure9, replication, dynamic or all.", show_default=True)
@click.option("--schemes", default="all", metavar="LIST", help="Comma-separated, or all.", show_default=True)
@click.option("--name", help="Folder below results/runs (default: named after the settings).")
@results_option
@experiment_options
@cluster_option
@jobs_option
def sweep(
    trials: int,
    seconds: float,
    patterns: str | None,
    suite: str,
    schemes: str,
    name: str | None,
    results: Path,
    cluster: str | None,
    at_once: int | None,
    **options: Any,
) -> None:
    """Run patterns x schemes x TRIALS, SECONDS of traffic each; then print the table and draw the figures.

    Stop it at any time (Ctrl-C): the same command continues where it stopped. Finished valid runs are
    skipped; others are tried once more, then left and reported. The page report.html follows it.

    \b
    ./test.sh 1 10                                   all of Figure 9, quickly (about 30 minutes)
    ./test.sh 5 60                                   as the paper: 60 s, medians of 5 trials (12 hours)
    ./test.sh 1 10 --patterns stride:4,randbij       two patterns, all schemes
    ./test.sh 3 30 --schemes nonblocking,ecmp,hedera-gff --bw 5
    ./test.sh 5 60 --cluster tls://HOST:8786         on many machines (docs/cluster.md)
    ./test.sh 1 10 --time virtual --bw 1000 --mtu 9000   at the paper's own rate (docs/virtual-time.md)

    As an ordinary user, and where the kernel has no Open vSwitch, it runs in virtual time.
    """
    base = timed(RunSpec(scheme="ecmp", traffic="stride:1", seconds=seconds, **options), on_cluster=bool(cluster))
    folder = _folder(base, name, results)
    workloads, scheme_names = _workloads(base, suite, patterns), split_schemes(schemes)
    jobs = plan(base, workloads, scheme_names, trials, folder)
    for each in jobs:
        each.spec.workload()  # a mistake in any pattern is found before the first run
    from harness.sweep.progress import carry_out_with_progress

    keep_settings(base, folder)
    with carrier(base, at_once, cluster, asked=options["time"]) as where:
        carry_out_with_progress(jobs, folder, where)


def _workloads(base: RunSpec, suite: str, patterns: str | None) -> list[TrafficSpec]:
    """The patterns asked for; some suites scale with the link rate. UsageError if there is none."""
    if patterns is None:
        return workloads_of(suite, base)
    workloads = [TrafficSpec(spec, base.flows_per_host, base.keep) for spec in split_specs(patterns)]
    if not workloads:
        raise click.UsageError("--patterns is empty")
    return workloads


def _folder(base: RunSpec, name: str | None, results: Path) -> Path:
    packets = "" if base.mtu == DEFAULT_MTU else f"-mtu{base.mtu}"
    time = "-virtual" if base.time == "virtual" else ""
    return results / (slug(name) if name else f"k{base.k}-{base.link_mbps:g}mbps{packets}-{base.seconds:g}s{time}")


@click.command()
@field_options(RunSpec, "time seed")
@results_option
@quiet_option
@click.pass_context
def demo(context: click.Context, time: str, seed: int, results: Path) -> None:
    """One pattern (stride(4)) under the control, ECMP and Hedera, 15 s of traffic each: about a minute.

    The same as a sweep of three runs, for a first look; then the table, and the picture beside the published bars.
    """
    kind = timed(RunSpec("ecmp", PATTERN, time=time)).time
    tell_user("three runs of the same 16 flows: on one big switch (the control), by ECMP's hash, and moved by Hedera")
    # A folder for each: unlike runs are not mixed.
    name = f"demo-{kind}" + (f"-seed{seed}" if seed != 1 else "")
    context.invoke(
        sweep, trials=1, seconds=SECONDS, patterns=PATTERN, schemes=SCHEMES, name=name,
        results=results, time=kind, seed=seed,
    )  # fmt: skip
    from plots.figures import FOLDER

    click.echo(f"the picture: {results / name / FOLDER / 'figure9.png'}")
