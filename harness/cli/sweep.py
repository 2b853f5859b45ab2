"""`hedera sweep`, which ./test.sh runs, and `hedera demo`: one pattern under three schemes, in about a minute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from harness.cli.options import carrier, experiment_options, jobs_option, results_option, tell_user, timed
from harness.errors import RunFailed, UserMistake
from harness.jobs.publish import slug
from harness.run.spec import RunSpec
from harness.sweep.plan import SUITES, Suite, TrafficSpec, keep_settings, plan, split_schemes
from harness.sweep.plan import suite as suite_of
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
@click.option("--suite", default="figure9", help=f"One of {', '.join(SUITES)}.", show_default=True)
@click.option("--schemes", metavar="LIST", help="Comma-separated, or all [default: all; replication: the report's].")
@click.option(
    "--vary",
    multiple=True,
    metavar="OPTION=VALUE,...",
    help="A sweep for each value of an option of runs, as in --vary bw=10,40. Can be repeated: every combination.",
)
@click.option("--name", help="Folder below results/runs (default: named after the settings).")
@results_option
@experiment_options
@field_options(RunSpec, "topology oversubscribe")
@cluster_option
@jobs_option
@click.pass_context
def sweep(
    context: click.Context,
    /,
    trials: int,
    seconds: float,
    patterns: str | None,
    suite: str,
    schemes: str | None,
    vary: tuple[str, ...],
    name: str | None,
    results: Path,
    cluster: str | None,
    at_once: int | None,
    **options: Any,
) -> Any:
    """Run patterns x schemes x TRIALS, SECONDS of traffic each; then print the table and draw the figures.

    Stop it at any time (Ctrl-C): the same command continues where it stopped. Finished valid runs are
    skipped; others are tried once more, then left and reported. The page report.html follows it.

    \b
    ./test.sh 1 10                                   all of Figure 9, quickly (about 30 minutes)
    ./test.sh 5 60                                   as the paper: 60 s, medians of 5 trials (12 hours)
    ./test.sh 5 60 --suite replication               the replication report's workloads and schemes
    ./test.sh 1 10 --patterns stride:4,randbij       two patterns, all schemes
    ./test.sh 3 30 --schemes nonblocking,ecmp,hedera-gff --bw 5
    ./test.sh 1 10 --vary bw=10,40 --vary interval=1,2,5   six sweeps, and one table
    ./test.sh 5 60 --cluster tls://HOST:8786         on many machines (docs/cluster.md)
    ./test.sh 1 10 --time virtual --bw 1000 --mtu 9000   at the paper's own rate (docs/virtual-time.md)
    ./test.sh 3 20 --topology leaf-spine:4,2,4 --oversubscribe 2 --patterns stride:4   on another network

    As an ordinary user, and where the kernel has no Open vSwitch, it runs in virtual time.
    """
    from harness.sweep.progress import carry_out_with_progress
    from harness.sweep.vary import Swept, combinations, values_of

    varied = values_of(vary, context)
    base = timed(RunSpec(scheme="ecmp", traffic="stride:1", seconds=seconds, **options), on_cluster=bool(cluster))
    asked = suite_of(suite)
    chosen = schemes or ("all" if patterns else asked.schemes)
    folder, parts, failed = results / slug(name or _name(base, varied)), [], []
    for spec, place, values in combinations(base, varied, folder):
        jobs = plan(spec, _workloads(spec, asked, patterns), _schemes(spec, chosen), trials, place)
        parts.append((spec, place, values, jobs))
    for job in (job for *_, jobs in parts for job in jobs):
        job.spec.workload()  # a mistake in any pattern is found before the first run
    for spec, place, *_ in parts:
        keep_settings(spec, place)
    with carrier(base, at_once, cluster, asked=options["time"]) as where:
        for _, place, values, jobs in parts:
            if varied:
                click.echo(", ".join(f"{option} {value}" for option, value in values.items()))
            try:
                carry_out_with_progress(jobs, place, where)
            except RunFailed as reason:
                failed.append(str(reason))
    swept = Swept(folder, tuple((place, values) for _, place, values, _ in parts), not failed)
    if varied:
        click.echo(f"the table of all: {swept.write_table()}")
        for picture in swept.draw():
            click.echo(f"the picture of all: {picture}")
    if failed:
        click.echo(f"hedera: {'; '.join(failed)}", err=True)
    return swept


def _workloads(base: RunSpec, suite: Suite, patterns: str | None) -> list[TrafficSpec]:
    """The patterns asked for; some suites scale with the link rate. UsageError if there is none."""
    if patterns is None:
        return suite.workloads(base)
    workloads = [TrafficSpec(spec, base.flows_per_host, base.keep) for spec in split_specs(patterns)]
    if not workloads:
        raise click.UsageError("--patterns is empty")
    return workloads


def _schemes(base: RunSpec, schemes: str) -> list[str]:
    """The schemes asked for; ``all`` are those that this network can have."""
    names = split_schemes(schemes)
    if schemes != "all" or base.plain:
        return names
    able = [name for name in names if _is_for(base, name)]
    if left_out := ", ".join(name for name in names if name not in able):
        tell_user(f"left out, as they are for a fat-tree whose links all have one rate: {left_out}")
    return able


def _is_for(base: RunSpec, scheme: str) -> bool:
    try:
        replace(base, scheme=scheme)
    except UserMistake:
        return False
    return True


def _name(base: RunSpec, varied: Iterable[str]) -> str:
    packets = "" if base.mtu == DEFAULT_MTU else f"-mtu{base.mtu}"
    time = "-virtual" if base.time == "virtual" else ""
    network = f"k{base.k}" if base.topology is None else Path(base.topology).name
    network += "" if base.oversubscribe is None else f"-over{base.oversubscribe:g}"
    return "-by-".join([f"{network}-{base.link_mbps:g}mbps{packets}-{base.seconds:g}s{time}", *varied])


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
