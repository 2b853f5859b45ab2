"""`hedera doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import click
from rich.console import Console
from rich.table import Table

from harness.cli.options import timed
from harness.doctor import busy, examine
from harness.jobs import root
from harness.network import machine
from harness.run.spec import RunSpec
from harness.sweep.plan import forecast_s, load_factor
from hedera.options import field_options, json_option, quiet_option
from results.output import duration

_RUN = RunSpec("hedera-sa", "stride:4", seconds=10.0)
_FIGURE_9 = 140
"""Runs of a trial."""


@click.command()
@json_option
@quiet_option
@field_options(RunSpec, "time")
def doctor(as_json: bool, time: str) -> None:
    """List what this machine can do and what is missing, for real time or (without root) for virtual time."""
    if time == "auto":
        time = timed(RunSpec(scheme="hedera-sa", traffic="stride:4", platform="os-ken")).time
    findings = examine(time, root.root().examine() if time == "real" and root.may_be_root() else ())
    first = next((finding for finding in findings if finding.ok is False), None)
    carries = carried(time)
    command = next_command(time, f"{first.item}: {first.fix}" if first else "", busy(findings))
    if as_json:
        click.echo(
            json.dumps(
                {"ready": not first, "findings": [asdict(f) for f in findings], "carries": carries, "next": command}
            )
        )
    else:
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
        click.echo(f"\n{carries}\n\n{command}")
    if first:
        raise SystemExit(3)


def carried(time: str) -> str:
    if time == "real":
        return "In real time Open vSwitch forwards in the kernel; links of 100 Mb/s are a start (--bw 100)."
    at_once = machine.processors()
    spec = replace(_RUN, time="virtual")
    small, large = (duration(forecast_s(replace(spec, k=k, traffic=f"stride:{k}"))) for k in (4, 8))
    return (
        "In virtual time Open vSwitch forwards in the kernel of a guest, a Linux that is a process: "
        f"{'one guest' if at_once == 1 else f'{at_once} guests'} at once, and links of any rate. "
        f"10 s of {_RUN.link_mbps:g} Mb/s take about {small} of a processor with 16 hosts (k = 4), {large} with 128 "
        "(k = 8)."
    )


def next_command(time: str, missing: str, busy: bool) -> str:
    """What to type. ``missing``: what has to be mended first. ``busy``: whether something else computes here."""
    if missing:
        return f"Next: {missing}; then hedera doctor again"
    if time == "real" and busy:
        return "Next: ./test.sh 1 10 --time virtual, or wait: beside other work runs in real time may be invalid"
    at_once = machine.processors() if time == "virtual" else 1
    whole = duration(load_factor() * _FIGURE_9 * forecast_s(replace(_RUN, time=time)) / at_once)
    return f"Next: ./test.sh --demo, a first look; then ./test.sh 1 10, all of Figure 9 in about {whole}"
