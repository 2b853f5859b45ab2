"""What this machine can do, and what killed runs left on it: `hedera doctor` and `hedera clean`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from harness.cli.options import timed
from harness.doctor import examine
from harness.errors import RunFailed
from harness.jobs import root
from harness.jobs.publish import remove_partial
from harness.network.footprint import Cleaned
from harness.run.spec import RunSpec
from hedera.options import field_options, json_option, quiet_option
from hedera.text import printable
from record.temporary import is_alive, left_by, remove_tree

STILL_S = 60.0
"""A half-written file that has not grown for so long is abandoned."""


@click.command()
@click.argument(
    "results", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="[RESULTS]..."
)
def clean(results: tuple[Path, ...]) -> None:
    """Remove what killed runs of this project left on the machine, and nothing else: for root the networks of runs in
    real time, for everyone temporary folders and half-written files below RESULTS (default: results/runs)."""
    cleaned = root.root().clean() if root.may_be_root() else Cleaned()
    for owner, folders in left_by([os.geteuid()]).items():
        for folder in folders if not is_alive(owner) else ():
            cleaned.note(folder, remove_tree(folder))
    for folder in results or (Path("results/runs"),):
        for gone in remove_partial(folder, STILL_S):
            cleaned.note(gone, None)
    for line in cleaned.removed:
        click.echo(printable(f"removed {line}"))
    if cleaned.left:
        raise RunFailed(f"could not remove: {'; '.join(cleaned.left)}")
    if not cleaned.removed:
        click.echo("nothing to remove")


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
