"""`hedera kernel`: the kernel for virtual time, which is shipped, and can be made again."""

from __future__ import annotations

import click

from harness.cli.options import tell_user
from hedera.options import quiet_option
from virtual.kernel import shipped


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
