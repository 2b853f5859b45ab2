"""`hedera guest`: any command in virtual time; `hedera kernel`: its kernel, which is shipped, and can be made again."""

from __future__ import annotations

import math
import os
import sys
import termios
import tty
from pathlib import Path

import click

from harness.cli.options import tell_user
from harness.errors import UserMistake
from hedera.options import quiet_option, to_write
from record.files import open_folder
from virtual.kernel import shipped


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder that gets what is left in $OUT.")
@click.option(
    "--keep", multiple=True, metavar="PATH", help="A file or folder, below this one, to bring back. Can be repeated."
)
@click.option("--memory", default=3072, show_default=True, help="Its memory, allocated as it is used, MiB.")
@click.option("--seed", default=0, type=click.IntRange(0), show_default=True, help="Of the guest's random numbers.")
@click.option("--timeout", default=3600.0, show_default=True, help="It is ended after so many real seconds.")
@click.argument("command", nargs=-1, required=True)
def guest(
    out: Path | None, keep: tuple[str, ...], memory: int, seed: int, timeout: float, command: tuple[str, ...]
) -> None:
    """Run COMMAND in virtual time, as root of a guest, in this folder; nothing on this machine changes.

    \b
    hedera guest -- mn --topo tree,2,3 --link tc,bw=100,delay=1ms --test pingall
    hedera guest --out results -- python3 experiment.py     # what it writes below $OUT comes back

    It needs no root. At a terminal, a command that waits for you (hedera guest -- mn) has real time. docs/guest.md
    """
    from virtual.command import run

    if not 0 < timeout < math.inf:
        raise UserMistake(f"--timeout is a number of seconds, not {timeout}")
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
            memory_mib=memory,
            seed=seed,
            real_s=timeout,
            say=tell_user,
            open_folder=open_folder,
        )
    except ValueError as reason:
        raise UserMistake(str(reason)) from None
    finally:
        if person:
            termios.tcsetattr(0, termios.TCSADRAIN, before)
    virtual = "simulated" if done.time_travel else "of real time: it was not virtual"
    tell_user(f"{done.simulated_s:.1f} s {virtual}, in {done.real_s:.1f} s")
    raise SystemExit(done.status)


@click.group()
def kernel() -> None:
    """The kernel for virtual time: a Linux that runs as a process (docs/virtual-time.md). Needs no root."""


@kernel.command()
@click.option("--ship", is_flag=True, help="Write it to virtual/kernel, as the one that is shipped.")
@quiet_option
def build(ship: bool) -> None:
    """Compile the kernel from its source, and test it. HEDERA_KERNEL_SOURCE names another source: a tarball or a tree.

    Guests use the result while HEDERA_KERNEL_SOURCE is set, and else the kernel that is shipped.
    """
    from virtual.kernel.build import build

    found = build(tell_user, ship=ship)
    click.echo(f"Linux {found.release} in {found.mode} mode, from {found.source}: {found.linux}, sha256 {found.sha256}")


@kernel.command()
@quiet_option
def verify() -> None:
    """Compile the shipped kernel again from its source: is it the same, byte for byte? Exits with 1 if not."""
    from virtual.kernel.build import differences

    found = differences(tell_user)
    click.echo("\n".join(found) or f"the same, byte for byte: {shipped.manifest()['sha256']}")
    raise SystemExit(1 if found else 0)
