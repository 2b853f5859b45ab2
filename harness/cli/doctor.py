"""`hedera doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from harness.cli.options import machine_rates
from harness.doctor import datapath_sentence, examine
from harness.run.spec import RunSpec
from harness.sweep.calibration import MTUS


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--calibrate", is_flag=True, help="Measure the highest link rate that counts, for --bw auto.")
def doctor(as_json: bool, calibrate: bool) -> None:
    """What this machine can do, and what is missing, item by item."""
    findings = examine()
    missing = any(finding.ok is False for finding in findings)
    if as_json:
        click.echo(json.dumps({"ready": not missing, "findings": [asdict(f) for f in findings]}))
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
        click.echo(f"\n{datapath_sentence()}")
    if missing:
        raise SystemExit(3)
    if calibrate:
        rates = machine_rates(RunSpec(scheme="hedera-sa", traffic="stride:4"), MTUS, again=True)
        fastest = max(rates, key=lambda mtu: rates[mtu])
        click.echo("\nThis machine carries (k=4):", err=as_json)
        for mtu, rate in rates.items():
            chosen = ", which --bw auto uses" if mtu == fastest else f", with --bw auto --mtu {mtu}"
            click.echo(f"  links of {rate:g} Mb/s in packets of {mtu} bytes{chosen}", err=as_json)
