"""`hedera doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from harness.cli.options import timed
from harness.doctor import examine
from harness.jobs import root
from harness.run.spec import RunSpec
from hedera.options import field_options, json_option, quiet_option


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
    command = "Next: ./test.sh --demo, a first look; then ./test.sh 1 10, all of Figure 9"
    if first:
        command = f"Next: {first.item}: {first.fix}; then hedera doctor again"
    if as_json:
        found = [asdict(finding) for finding in findings]
        click.echo(json.dumps({"ready": not first, "findings": found, "next": command}))
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
        click.echo(f"\n{command}")
    if first:
        raise SystemExit(3)
