"""`hedera run`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import carrier, experiment_options, tell_user, timed
from harness.run.spec import RunSpec
from hedera.options import field_options, json_option

if TYPE_CHECKING:
    from record.run import Run
    from virtual.guest import Progress


@click.command()
@field_options(RunSpec, "scheme traffic seconds")
@experiment_options
@field_options(RunSpec, "disturb topology oversubscribe")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the result (default: a new one).")
@json_option
def run(out: Path | None, as_json: bool, **options: Any) -> Run:
    """Make one run: one pattern, one scheme. Exit status 1 when it is invalid, or not judged.

    Example: hedera run --scheme hedera-gff --traffic stride:4 --seconds 10
    """
    from harness.jobs import publish
    from harness.jobs.job import job_of
    from record.run import encode

    spec = RunSpec(**options)
    spec.workload()  # a mistake is told before anything else
    asked = spec.time
    spec = timed(spec)
    if out is None:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        out = Path("results/runs/single") / f"{stamp}-{publish.slug(spec.traffic)}-{publish.slug(spec.scheme)}"
    publish.require_writable(out.parent, out.name)
    told = [""]

    def hear(stage: str, progress: Progress | None) -> None:
        if stage and stage != told[0]:
            told[0] = stage
            tell_user(f"{publish.stage_words(stage, progress)} ...")

    with carrier(spec, 1, asked=asked) as where:
        result = publish.run(job_of(spec), out, where, hear)
    if as_json:
        click.echo(encode(result, indent=0), nl=False)
    else:
        _tell(result, out)
    return result


def _tell(result: Run, out: Path) -> None:
    click.echo(_outcome(result))
    for one in result.completion:
        cut = f", {one.cut_off} cut off" if one.cut_off else ""
        click.echo(
            f"  {one.size_class:7}{one.flows:6} flows{cut}: {one.median_s:.3f} s in the median, "
            f"{one.p99_s:.3f} s the 99th percentile; slowdown {one.median_slowdown:.1f}, {one.p99_slowdown:.1f}"
        )
    if (turns := result.turns) is not None and turns.shuffle_s is not None:
        click.echo(f"  shuffle {turns.shuffle_s:.1f} s, hosts done after {turns.host_completion_s:.1f} s on average")
    for reason in (*result.reasons, *result.remarks):
        click.echo(f"  {reason}")
    click.echo(f"  {out}/run.json")


def _outcome(result: Run) -> str:
    which = f"{result.scheme} on {result.traffic}"
    if result.bisection_mbps is None or result.payload_mbps is None:
        return f"{which}: no result"
    if result.collective is not None and all(flow.size_bytes for flow in result.flows):
        from record.completion import in_words

        return f"{which}: {in_words(result.collective)}, {result.verdict}"
    carried, most = result.payload_mbps, result.payload_capacity_mbps
    own = f", {result.bisection_mbps / bound:.0%} of the network's own bound" if (bound := result.bound_mbps) else ""
    return f"{which}: {carried:.1f} of {most:.1f} Mb/s of payload ({carried / most:.0%}{own}), {result.verdict}"
