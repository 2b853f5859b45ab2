"""`hedera doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from files.rights import leave_root_for_good
from harness.advice import carried, next_command
from harness.cli.options import machine_rates, tell_user
from harness.doctor import busy, examine
from harness.run.resolution import time_of
from harness.run.spec import RunSpec
from harness.sweep import guest_costs, guest_meter, guests
from harness.sweep.calibration import MTUS
from hedera.options import field_options, json_option, quiet_option


@click.command()
@json_option
@quiet_option
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure the highest link rate with valid runs, for --bw auto; in virtual time: how long a simulated second "
    "takes.",
)
@field_options(RunSpec, "time")
def doctor(as_json: bool, calibrate: bool, time: str) -> None:
    """List what this machine can do and what is missing, for real time or (without root) for virtual time."""
    asked, time = time, time_of(RunSpec(scheme="hedera-sa", traffic="stride:4", time=time))
    if time == "virtual":
        leave_root_for_good()
        if asked == "auto":
            tell_user("without root, so checked for virtual time (Linux as a process); for real time: --time real")
    findings = examine(time)
    first = next((finding for finding in findings if finding.ok is False), None)
    carries = carried(time)
    command = next_command(time, f"{first.item}: {first.fix}" if first else "", busy(findings))
    if as_json:
        click.echo(
            json.dumps(
                {
                    "ready": not first,
                    "findings": [asdict(f) for f in findings],
                    "carries": carries,
                    "next": command,
                }
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
    if calibrate and time == "virtual":
        tell_user("measuring how long a simulated second of 16 hosts takes: a few minutes, once")
        found = guest_meter.measure(guests.prepare(tell_user), tell_user)
        click.echo(f"\nA simulated second of 16 hosts takes {guest_costs.told(found)} of a processor.", err=as_json)
    elif calibrate:
        rates = machine_rates(RunSpec(scheme="hedera-sa", traffic="stride:4"), MTUS, again=True)
        fastest = max(rates, key=lambda mtu: rates[mtu])
        click.echo("\nThis machine carries (k=4):", err=as_json)
        for mtu, rate in rates.items():
            chosen = "; --bw auto uses this" if mtu == fastest else f"; with --bw auto --mtu {mtu}"
            click.echo(f"  links of {rate:g} Mb/s with packets of {mtu} bytes{chosen}", err=as_json)
