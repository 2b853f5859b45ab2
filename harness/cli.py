"""The `hedera` command: reads the command line, calls the part that does the work, turns errors into words."""

from __future__ import annotations

import errno
import json
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from harness.errors import HarnessError

Command = TypeVar("Command", bound=Callable[..., Any])

# Where the commands live that other packages bring: imported only when they are asked for, because the
# simulator and the benchmarks load numba and a run does not need them.
_ELSEWHERE = {
    "simulate": ("simulator.cli", "simulate"),
    "explain-ecmp": ("simulator.cli", "explain_ecmp"),
    "hull": ("packets.cli", "hull"),
}
_FIGURES = {number: "simulator.cli" for number in ("3", "9", "10", "11")}
_TABLES = {"3": "simulator.cli", "4": "benchmarks.tables", "5": "benchmarks.tables", "6": "simulator.cli"}


class _Commands(click.Group):
    """A group that also knows commands of other packages."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *_ELSEWHERE])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in _ELSEWHERE:
            module, attribute = _ELSEWHERE[name]
            return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
        return super().get_command(context, name)


class _Numbered(click.Group):
    """``figure`` and ``table``: one command per number of the paper."""

    def __init__(self, homes: dict[str, str], registry: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._homes = homes
        self._registry = registry

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(self._homes, key=int)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self._homes:
            return None
        return getattr(import_module(self._homes[name]), self._registry)[name]  # type: ignore[no-any-return]


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
def cli() -> None:
    """Reproduce Figure 9 of Hedera (NSDI '10) on this machine: real TCP, real switches, a real controller.

    Start with `hedera doctor`, then `./test.sh 1 10` (which is `hedera sweep 1 10`).
    """


cli.add_command(_Numbered(_FIGURES, "FIGURES", name="figure", help="Reproduce a figure of the paper."))
cli.add_command(_Numbered(_TABLES, "TABLES", name="table", help="Reproduce a table of the paper."))


class _RateOrAuto(click.ParamType):
    """A number of Mb/s, or ``auto``."""

    name = "mbps|auto"

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> float | str:
        if value == "auto" or isinstance(value, float):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number of Mb/s nor auto", parameter, context)


def _spec(**options: Any) -> Any:
    """A RunSpec from command-line options, with ``--bw auto`` looked up, or measured when it is not known."""
    from dataclasses import replace

    from harness.spec import RunSpec

    if options["bw"] != "auto":
        return RunSpec(**options)
    spec = RunSpec(**{**options, "bw": 10.0})
    return replace(spec, bw=_machine_rate(spec, again=False))


def _machine_rate(spec: Any, *, again: bool) -> float:
    """The highest link rate this machine carries, from memory unless it is to be measured ``again``."""
    from dataclasses import replace

    from harness.calibration import Probe, calibrate, remembered
    from harness.machine import choose_datapath, require_root, require_tools

    spec = replace(spec, datapath=choose_datapath(spec.datapath), fail=(), disturb=())
    if not again and (known := remembered(spec)) is not None:
        return known
    require_root()
    require_tools()
    click.echo("measuring which link rate this machine carries; a few minutes, once", err=True)

    def say(probe: Probe) -> None:
        verdict = "enough" if probe.enough else "too little"
        click.echo(f"  {probe.bw:g} Mb/s links: {probe.share:.1%} of capacity, {verdict}", err=True)
        for reason in probe.reasons:
            click.echo(f"    {reason}", err=True)

    return calibrate(spec, say)


def _experiment_options(command: Command) -> Command:
    """The options that `run` and `sweep` share; their names are the fields of RunSpec."""
    options = [
        click.option(
            "--bw",
            default="10",
            type=_RateOrAuto(),
            help="Rate of every link, Mb/s; auto: the highest this machine carries.",
            show_default=True,
        ),
        click.option("-k", "k", default=4, help="Ports per switch: k^3/4 hosts.", show_default=True),
        click.option(
            "--seed", default=1, help="Decides drawn matrices, source ports and hashes.", show_default=True
        ),
        click.option(
            "--platform", default="auto", help="Controller: auto, os-ken or pox.", show_default=True
        ),
        click.option(
            "--datapath", default="auto", help="Open vSwitch: auto, kernel or user.", show_default=True
        ),
        click.option("--interval", default=2.0, help="Hedera's period, seconds.", show_default=True),
        click.option("--congestion-control", default="cubic", help="TCP algorithm.", show_default=True),
        click.option("--queue", default=50, help="Queue of every port, full packets.", show_default=True),
        click.option("--flows-per-host", default=1, help="Flows each host sends.", show_default=True),
        click.option("--keep", default=1.0, help="Fraction of the flows kept, at random.", show_default=True),
        click.option(
            "--fail",
            multiple=True,
            metavar="WHAT@SECONDS",
            help="Break link:A-B@SECONDS or switch:NAME@SECONDS, until :UNTIL. Can be given again.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--calibrate", is_flag=True, help="Measure the highest link rate that counts, for --bw auto.")
def doctor(as_json: bool, calibrate: bool) -> None:
    """What this machine can do, and what is missing, item by item."""
    from dataclasses import asdict

    from harness.doctor import datapath_sentence, examine

    findings = examine()
    missing = any(finding.ok is False for finding in findings)
    if as_json:
        click.echo(json.dumps({"ready": not missing, "findings": [asdict(f) for f in findings]}))
    else:
        from rich.console import Console
        from rich.table import Table

        table = Table("", "item", "found", "needed", box=None)
        marks = {True: "[green]ok[/]", False: "[red]missing[/]", None: "[yellow]-[/]"}
        for finding in findings:
            table.add_row(marks[finding.ok], finding.item, finding.found, finding.needed)
        Console().print(table)
        click.echo()
        for finding in findings:
            if finding.fix:
                need = "needed" if finding.ok is False else "optional"
                click.echo(f"{finding.item} ({need}): {finding.fix}")
        click.echo(f"\n{datapath_sentence()}")
    if missing:
        raise SystemExit(3)
    if calibrate:
        from harness.spec import RunSpec

        rate = _machine_rate(RunSpec(scheme="hedera-sa", traffic="stride:4"), again=True)
        click.echo(f"\nThis machine carries links of {rate:g} Mb/s (k=4): --bw auto uses that.", err=as_json)


@cli.command()
@click.option("--scheme", required=True, help="How paths are chosen, e.g. ecmp, hedera-gff, nonblocking.")
@click.option(
    "--traffic", required=True, help="Who sends to whom, e.g. stride:4, published:randbij0, file:m.csv."
)
@click.option("--seconds", default=60.0, help="How long the flows last.", show_default=True)
@_experiment_options
@click.option(
    "--disturb",
    multiple=True,
    metavar="controller:HOW@SECONDS",
    help="Kill, freeze or slow the controller: controller:kill@SECONDS, :freeze@SECONDS or :slow@SECONDS.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the result (default: a new one).")
@click.option("--json", "as_json", is_flag=True, help="The result as one JSON object on standard output.")
def run(out: Path | None, as_json: bool, **options: Any) -> None:
    """One run: one pattern, one scheme. Exit status 1 when it is invalid.

    Example: hedera run --scheme hedera-gff --traffic stride:4 --seconds 10
    """
    import time

    from harness.experiment import run_experiment
    from harness.store import require_writable, slug

    spec = _spec(**options)
    if out is None:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        out = Path("results/runs/single") / f"{stamp}-{slug(spec.traffic)}-{spec.scheme}"
    require_writable(out.parent)
    result = run_experiment(spec, out, lambda stage: click.echo(f"{stage} ...", err=True))
    if as_json:
        click.echo(json.dumps(result))
    else:
        _tell(result, out)
    if result["verdict"] != "ok":
        raise SystemExit(1)


def _tell(result: dict[str, Any], out: Path) -> None:
    click.echo(_outcome(result))
    for reason in result["reasons"]:
        click.echo(f"  {reason}")
    click.echo(f"  {out}/run.json")


def _outcome(result: dict[str, Any]) -> str:
    """One line on a result."""
    if result["bisection_mbps"] is None:
        return f"{result['scheme']} on {result['traffic']}: no result"
    share = result["bisection_mbps"] / result["capacity_mbps"]
    return (
        f"{result['scheme']} on {result['traffic']}: {result['bisection_mbps']:.1f} of "
        f"{result['capacity_mbps']:g} Mb/s ({share:.0%}), {result['verdict']}"
    )


@cli.command()
@click.argument("trials", type=click.IntRange(1))
@click.argument("seconds", type=float)
@click.option("--patterns", metavar="LIST", help="Comma-separated traffic patterns, instead of a suite.")
@click.option("--suite", default="figure9", help="figure9, replication or all.", show_default=True)
@click.option("--schemes", default="all", metavar="LIST", help="Comma-separated, or all.", show_default=True)
@click.option("--name", help="Folder below results/runs (default: named after the settings).")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results/runs"),
    help="Where sweeps are kept.",
    show_default=True,
)
@_experiment_options
def sweep(
    trials: int,
    seconds: float,
    patterns: str | None,
    suite: str,
    schemes: str,
    name: str | None,
    results: Path,
    **options: Any,
) -> None:
    """Run patterns x schemes x TRIALS, SECONDS of traffic each; then print the table and draw the figures.

    Stop it at any time (Ctrl-C): the same command goes on where it stopped. Finished valid runs are
    skipped, invalid ones are tried once more, then left and reported.

    \b
    ./test.sh 1 10                                   all of Figure 9, quickly (about 30 minutes)
    ./test.sh 5 60                                   as the paper: 60 s, medians of 5 trials (12 hours)
    ./test.sh 1 10 --patterns stride:4,randbij       two patterns, all schemes
    ./test.sh 3 30 --schemes nonblocking,ecmp,hedera-gff --bw 5
    """
    from harness import progress
    from harness.machine import require_root, require_tools
    from harness.store import slug
    from harness.suites import Workload
    from harness.suites import suite as workloads_of
    from harness.sweep import plan, settle, split_schemes
    from traffic.patterns import split_specs

    flows_per_host, keep = options["flows_per_host"], options["keep"]
    base = _spec(scheme="ecmp", traffic="stride:1", seconds=seconds, **options)
    if patterns is None:
        workloads = workloads_of(suite)
    else:
        workloads = [Workload(spec, flows_per_host, keep) for spec in split_specs(patterns)]
        if not workloads:
            raise click.UsageError("--patterns is empty")
    scheme_names = split_schemes(schemes)
    folder = results / (slug(name) if name else f"k{base.k}-{base.bw:g}mbps-{base.seconds:g}s")
    for job in plan(base, workloads, scheme_names, trials, folder):
        job.spec.matrix()  # every mistake in a pattern comes to light before the first run
    require_root()
    require_tools()
    base = settle(base, folder)
    progress.carry_out_with_progress(plan(base, workloads, scheme_names, trials, folder), folder)


@cli.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def report(folder: Path) -> None:
    """Figures and one self-contained HTML page from the runs stored in FOLDER (results/runs/NAME)."""
    from plots.figures import write_all
    from plots.report import write_report

    for path in [*write_all(folder), write_report(folder)]:
        click.echo(path)


@cli.command()
def clean() -> None:
    """Remove what killed runs of this project left on the machine, and nothing else."""
    from harness.footprint import remove_leftovers
    from harness.machine import require_root

    require_root()
    removed = remove_leftovers()
    for line in removed:
        click.echo(f"removed {line}")
    if not removed:
        click.echo("nothing of ours is left on this machine")


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _interrupt(number: int, frame: object) -> NoReturn:
    for each in _SIGNALS:  # a second Ctrl-C must not cut the tear-down short
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the `hedera` command. Exit status: 0 done, 1 invalid or failed, 2 wrong use, 3 unfit machine."""
    # A terminal that closes, or a polite kill, tears the network down as Ctrl-C does.
    for each in _SIGNALS:
        signal.signal(each, _interrupt)
    sys.exit(_run_cli())


def _printable(text: str) -> str:
    """What was typed or read from a file, with nothing in it that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _run_cli() -> int:
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as mistake:
        mistake.message = _printable(mistake.message or "")
        mistake.show()
        return mistake.exit_code
    except HarnessError as error:
        click.echo(f"hedera: {_printable(str(error))}", err=True)
        return error.exit_status
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        click.echo(f"hedera: no space left on the disk of {_printable(str(error.filename))}", err=True)
        return 1
    except (KeyboardInterrupt, click.Abort):
        click.echo("hedera: stopped; everything is torn down, finished results are kept", err=True)
        return 130
    return 0
