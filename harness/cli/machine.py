"""This machine, and Linux in virtual time on it: `hedera doctor`, `clean`, `guest` and `kernel`."""

from __future__ import annotations

import json
import math
import os
import sys
import termios
import tty
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from harness import root
from harness.doctor import examine
from harness.network.cleanup import Cleaned
from record.errors import RunFailed, UserMistake, make_printable
from record.files import find_left_by, is_alive, remove_partial, remove_tree
from record.options import field_options, json_option, to_write
from record.progress import quiet_option, tell_user
from record.spec import RunSpec
from virtual.kernel import read_manifest
from virtual.kernel.build import KERNELS

# Another command may be writing a file below the same folder. It writes without a pause.
STILL_S = 60.0
"""A half-written file that has not grown for so long is abandoned."""


@click.command()
@click.argument(
    "results", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="[RESULTS]..."
)
def clean(results: tuple[Path, ...]) -> None:
    """Remove what killed runs of this project left on the machine, and nothing else: for root the networks of runs in
    real time, for everyone temporary folders and half-written files below RESULTS (default: results/runs)."""
    cleaned = root.find_root().clean() if root.may_be_root() else Cleaned()
    for owner, folders in find_left_by([os.geteuid()]).items():
        for folder in folders if not is_alive(owner) else ():
            cleaned.note(folder, remove_tree(folder))
    for folder in results or (Path("results/runs"),):
        for file in remove_partial(folder, STILL_S):
            cleaned.note(file, None)
    for line in cleaned.removed:
        click.echo(make_printable(f"removed {line}"))
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
        from harness.run import without_auto

        time = without_auto(RunSpec(scheme="hedera-sa", traffic="stride:4", platform="os-ken"), root.may_be_root()).time
    findings = examine(time, root.find_root().examine() if time == "real" and root.may_be_root() else ())
    first = next((finding for finding in findings if finding.ok is False), None)
    command = "Next: ./test.sh --demo, a first look; then ./test.sh 1 10, all of Figure 9"
    if first:
        command = f"Next: {first.item}: {first.fix}; then hedera doctor again"
    if as_json:
        listed = [asdict(finding) for finding in findings]
        click.echo(json.dumps({"ready": not first, "findings": listed, "next": command}))
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


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder that gets what is left in $OUT.")
@click.option(
    "--keep", multiple=True, metavar="PATH", help="A file or folder, below this one, to bring back. Can be repeated."
)
@click.option(
    "--with",
    "packages",
    multiple=True,
    metavar="PACKAGE",
    help="A package of the distribution that the command wants, installed for it alone, without root. Can be repeated.",
)
@click.option("--memory", default=3072, show_default=True, help="Its memory, allocated as it is used, MiB.")
@click.option("--seed", default=0, type=click.IntRange(0), show_default=True, help="Of the guest's random numbers.")
@click.option(
    "--link-rate",
    default=10_000,
    type=click.IntRange(0),
    show_default=True,
    help="Of links (veth) that have no rate, Mb/s; 0: none. TCP over those lets time hardly pass.",
)
@click.option(
    "--no-offload",
    is_flag=True,
    help="Links carry packets of their MTU, and not such of up to 64 kB that stand for many.",
)
@click.option("--until", default=900.0, show_default=True, help="It is ended after so many seconds of its own clock.")
@click.option("--timeout", default=3600.0, show_default=True, help="It is ended after so many real seconds.")
@click.argument("command", nargs=-1, required=True)
def guest(
    out: Path | None, keep: tuple[str, ...], packages: tuple[str, ...], memory: int, seed: int,
    link_rate: int, no_offload: bool, until: float, timeout: float, command: tuple[str, ...],
) -> None:  # fmt: skip
    """Run COMMAND in virtual time, as root of a guest, in this folder; nothing on this machine changes.

    \b
    hedera guest -- mn --topo tree,2,3 --link tc,bw=100,delay=1ms --test pingall
    hedera guest --out results -- python3 experiment.py     # what it writes below $OUT comes back

    It needs no root. At a terminal, a command that waits for you (hedera guest -- mn) has real time. docs/guest.md
    """
    from virtual.command import run

    for option, seconds in (("--until", until), ("--timeout", timeout)):
        if not 0 < seconds < math.inf:
            raise UserMistake(f"{option} is a number of seconds, not {seconds}")
    if out is not None:
        to_write(out)
    if sys.stdin is None:  # closed; the next file would take its number, and the guest not get it
        os.open(os.devnull, os.O_RDONLY)
    person = os.isatty(0) and os.isatty(1)
    before = termios.tcgetattr(0) if person else []
    try:
        if person:  # keys go to the guest as they are, Ctrl-C among them
            tty.setraw(0)
        done = run(
            command,
            out=out,
            keep=keep,
            stdin=b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read(),
            terminal=(os.dup(0), os.dup(1)) if person else None,
            packages=packages,
            memory_mib=memory,
            seed=seed,
            link_mbps=link_rate,
            offload=not no_offload,
            until_s=until,
            real_s=timeout,
            say=tell_user,
        )
    except ValueError as reason:
        raise UserMistake(str(reason)) from None
    finally:
        if person:
            termios.tcsetattr(0, termios.TCSADRAIN, before)
    virtual = "simulated" if done.time_travel else "of real time: it was not virtual"
    tell_user("; ".join([f"{done.simulated_s:.1f} s {virtual}, in {done.real_s:.1f} s", *done.notes]))
    raise SystemExit(done.status)


@click.group()
def kernel() -> None:
    """The kernel for virtual time: a Linux that runs as a process (docs/virtual-time.md). Needs no root."""


_kernel_name = click.argument(
    "kernel_name", metavar=f"[{'|'.join([*KERNELS, 'both'])}]", type=click.Choice([*KERNELS, "both"]),
    default="both",
)  # fmt: skip


@kernel.command()
@_kernel_name
@click.option("--ship", is_flag=True, help="Write it to virtual/kernel, as the one that is shipped.")
@quiet_option
def build(kernel_name: str, ship: bool) -> None:
    """Compile the kernels from their source, and test them: `linux`, that of runs, and `guest`, that of hedera guest,
    which has more in it. HEDERA_KERNEL_SOURCE names the archive of another source.

    Guests use the result while HEDERA_KERNEL_SOURCE is set, and else the kernels that are shipped.
    """
    from virtual.kernel import build_kernel

    for name in KERNELS if kernel_name == "both" else (kernel_name,):
        result = build_kernel(tell_user, name, ship=ship)
        kind = f"Linux {result.release} in {result.mode} mode, from {result.source}"
        click.echo(f"{name}: {kind}: {result.linux}, sha256 {result.sha256}")


@kernel.command()
@_kernel_name
@quiet_option
def verify(kernel_name: str) -> None:
    """Compile the shipped kernels again from their source: are they the same, byte for byte? Exits with 1 if not."""
    from virtual.kernel import find_differences

    status = 0
    for name in KERNELS if kernel_name == "both" else (kernel_name,):
        lines = find_differences(tell_user, name)
        click.echo("\n".join(lines) or f"{name}: the same, byte for byte: {read_manifest(name)['sha256']}")
        status |= bool(lines)
    raise SystemExit(status)
