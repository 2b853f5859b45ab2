"""What emulates: `hedera run`; `hedera sweep`, which ./test.sh runs; and `hedera demo`, a first look in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from record.options import (
    cluster_option,
    complete_names,
    complete_patterns,
    complete_schemes,
    field_options,
    hash_option,
    json_option,
    options,
)
from record.progress import quiet_option, tell_user
from record.spec import RunSpec
from traffic.patterns import split_specs

if TYPE_CHECKING:
    from plots.compare_sweeps import VariedSweep
    from record.run import Run

# Every flow of it crosses the core, and the paper has bars for it, which are marked beside ours.
PATTERN = "published:stride4"
"""The demo's pattern."""
SCHEMES = "nonblocking,ecmp,hedera-sa"
# It is enough for seven rounds of scheduling, of which the first is before the measured part.
SECONDS = 15.0
"""How long the demo's traffic lasts."""
SUITES = ("figure9", "replication", "several-flows", "dynamic", "table2", "all")
"""The names in `harness.sweep.SUITES`. They are written here again because a help must not wait for that module."""

_results = click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results/runs"),
    help="Folder that sweeps are kept in.",
    show_default=True,
)
_of_an_experiment = options(
    field_options(RunSpec, without="scheme traffic seconds disturb topology oversubscribe"), quiet_option
)


@click.command()
@field_options(RunSpec, "scheme traffic seconds")
@hash_option
@_of_an_experiment
@field_options(RunSpec, "disturb topology oversubscribe")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the result (default: a new one).")
@json_option
def run(out: Path | None, as_json: bool, **arguments: Any) -> Run:
    """Make one run: one pattern, one scheme. Exit status 1 when it is invalid, or not judged.

    Example: hedera run --scheme hedera-gff --traffic stride:4 --seconds 10
    """
    from harness import library
    from record.run import QUEUES, encode

    arguments["scheme"] = library.spell_scheme(arguments["scheme"], hash=arguments.pop("hash"))
    out = out or library.choose_folder(arguments["scheme"], arguments["traffic"])
    result = library.run(**arguments, out=out, show=True)
    if (out / QUEUES).is_file():
        from plots.rates import draw_trace

        draw_trace(out, result)
    if as_json:
        click.echo(encode(result, indent=0), nl=False)
    else:
        _tell(result, out)
    return result


def _tell(result: Run, out: Path) -> None:
    from plots.explorer import describe_paths

    click.echo(_describe_outcome(result))
    for flows in result.completion:
        cut = f", {flows.cut_off} cut off" if flows.cut_off else ""
        click.echo(
            f"  {flows.size_class:7}{flows.flows:6} flows{cut}: {flows.median_s:.3f} s in the median, "
            f"{flows.p99_s:.3f} s the 99th percentile; slowdown {flows.median_slowdown:.1f}, {flows.p99_slowdown:.1f}"
        )
    if (turns := result.turns) is not None and turns.shuffle_s is not None:
        click.echo(f"  shuffle {turns.shuffle_s:.1f} s, hosts done after {turns.host_completion_s:.1f} s on average")
    if words := describe_paths(result):
        click.echo(f"  {words}")
    for reason in (*result.reasons, *result.remarks):
        click.echo(f"  {reason}")
    click.echo(f"  {out}/run.json")


def _describe_outcome(result: Run) -> str:
    run_name = f"{result.scheme} on {result.traffic}"
    if result.bisection_mbps is None or result.payload_mbps is None:
        return f"{run_name}: no result"
    if result.collective is not None and all(flow.size_bytes for flow in result.flows):
        from record.completion_times import describe

        return f"{run_name}: {describe(result.collective)}, {result.verdict}"
    carried, most = result.payload_mbps, result.payload_capacity_mbps
    of_bound = (
        f", {result.bisection_mbps / bound:.0%} of the network's own bound" if (bound := result.bound_mbps) else ""
    )
    return f"{run_name}: {carried:.1f} of {most:.1f} Mb/s of payload ({carried / most:.0%}{of_bound}), {result.verdict}"


@click.command()
@click.argument("trials", type=click.IntRange(1))
@click.argument("seconds", type=float)
@click.option(
    "--patterns",
    metavar="LIST",
    help="Comma-separated traffic patterns, instead of a suite.",
    shell_complete=complete_patterns,
)
@click.option(
    "--suite",
    default="figure9",
    help=f"One of {', '.join(SUITES)}.",
    show_default=True,
    shell_complete=complete_names(lambda: SUITES),
)
@click.option(
    "--schemes",
    metavar="LIST",
    help="Comma-separated, or all [default: all; replication: the report's].",
    shell_complete=complete_schemes,
)
@hash_option
@click.option(
    "--vary",
    multiple=True,
    metavar="OPTION=VALUE,...",
    help="A sweep for each value of an option of runs, as in --vary bw=10,40. Can be repeated: every combination.",
)
@click.option("--name", help="Folder below results/runs (default: named after the settings).")
@_results
@_of_an_experiment
@field_options(RunSpec, "topology oversubscribe")
@cluster_option
@click.option("--jobs", type=click.IntRange(1), help="Guests at once in virtual time (default: one per core).")
def sweep(trials: int, seconds: float, patterns: str | None, vary: tuple[str, ...], **arguments: Any) -> VariedSweep:
    """Run patterns x schemes x TRIALS, SECONDS of traffic each; then print the table and draw the figures.

    On two processors the first two take 3 minutes and 1.5 hours in virtual time, in real time 30 minutes and 12 hours.

    Stop it at any time (Ctrl-C): the same command continues where it stopped. Finished valid runs are skipped;
    others are tried once more, then left and reported. So more trials, or one scheme more, take only what is new.
    The page report.html follows it.

    \b
    ./test.sh 1 10                                   all of Figure 9, quickly
    ./test.sh 5 60                                   as the paper: 60 s, medians of 5 trials
    ./test.sh 5 60 --suite replication               the replication report's workloads and schemes
    ./test.sh 1 10 --patterns stride:4,randbij       two patterns, all schemes
    ./test.sh 3 30 --schemes nonblocking,ecmp,hedera-gff --bw 5
    ./test.sh 1 10 --vary bw=10,40 --vary interval=1,2,5   six sweeps, and one table
    ./test.sh 5 60 --cluster tls://HOST:8786         on many machines (docs/cluster.md)
    ./test.sh 1 10 --time virtual --bw 1000 --mtu 9000   at the paper's own rate (docs/virtual-time.md)
    ./test.sh 3 20 --topology leaf-spine:4,2,4 --oversubscribe 2 --patterns stride:4   on another network

    As an ordinary user, and where the kernel has no Open vSwitch, it runs in virtual time.
    """
    from harness import library

    specs = None if patterns is None else split_specs(patterns)
    return library.sweep(trials, seconds, patterns=specs, vary=_parse_vary(vary), show=True, **arguments)


def _parse_vary(texts: tuple[str, ...]) -> dict[str, list[str]]:
    """The values of each ``OPTION=VALUE,VALUE``, still as texts."""
    varied: dict[str, list[str]] = {}
    for text in texts:
        option, _, values = text.partition("=")
        # A comma before a number belongs to the value, as in leaf-spine:4,2,4.
        cells = split_specs(values) if option == "topology" else [value.strip() for value in values.split(",")]
        if option in varied or not all(cells):
            raise click.UsageError(f"--vary is OPTION=VALUE,VALUE, once for each option; not {text!r}")
        varied[option] = cells
    return varied


@click.command()
@field_options(RunSpec, "time seed")
@_results
@quiet_option
def demo(time: str, seed: int, results: Path) -> VariedSweep:
    """One pattern (stride(4)) under the control, ECMP and Hedera, 15 s of traffic each: about a minute.

    The same as a sweep of three runs, for a first look; then the table, and the picture beside the published bars.
    """
    from harness import library, root
    from harness.run import without_auto
    from plots.report import FOLDER

    kind = without_auto(RunSpec("ecmp", PATTERN, time=time), root.may_be_root()).time
    tell_user("three runs of the same 16 flows: on one big switch (the control), by ECMP's hash, and moved by Hedera")
    # A folder for each: unlike runs are not mixed.
    name = f"demo-{kind}" + (f"-seed{seed}" if seed != 1 else "")
    swept = library.sweep(
        1, SECONDS, patterns=[PATTERN], schemes=SCHEMES, name=name, results=results, show=True, time=kind, seed=seed
    )
    click.echo(f"the picture: {results / name / FOLDER / 'figure9.png'}")
    return swept
