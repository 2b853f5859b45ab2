"""`hedera kernel`: the kernel for virtual time, which is shipped, and can be made again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click

from harness.cli.options import tell_user
from harness.errors import UnfitMachine
from hedera.options import json_option, quiet_option
from virtual import kernel as kernels
from virtual.errors import Unavailable
from virtual.kernel import shipped


@click.group()
def kernel() -> None:
    """The kernel for virtual time: a Linux that runs as a process (docs/virtual-time.md). Needs no root."""


@kernel.command()
@click.option("--ship", is_flag=True, help="Write it to virtual/kernel, as the one that is shipped.")
@json_option
@quiet_option
def build(ship: bool, as_json: bool) -> None:
    """Compile the kernel from its source, and test it. HEDERA_KERNEL_SOURCE names another source: a tarball or a tree.

    Guests use the result while HEDERA_KERNEL_SOURCE is set, and else the kernel that is shipped.
    """
    from virtual.kernel.build import build

    with _needed():
        _tell(build(_say, ship=ship), as_json)


@kernel.command()
@json_option
@quiet_option
def verify(as_json: bool) -> None:
    """Compile the shipped kernel again from its source: is it the same, byte for byte? Exits with 1 if not."""
    from virtual.kernel.build import differences

    with _needed():
        found = differences(_say)
    if as_json:
        click.echo(json.dumps({"same": not found, "differences": found}))
    else:
        click.echo("\n".join(found) or f"the same, byte for byte: {shipped.manifest()['sha256']}")
    raise SystemExit(1 if found else 0)


@kernel.command()
@json_option
def status(as_json: bool) -> None:
    """Show which kernel guests use, unpacking and testing it if this is its first use."""
    with _needed():
        _tell(kernels.kernel(_say), as_json)


@contextmanager
def _needed() -> Iterator[None]:
    try:
        yield
    except Unavailable as reason:
        raise UnfitMachine(str(reason)) from None


def _say(sentence: str) -> None:
    tell_user(f"{sentence} ...")


def _tell(found: shipped.Kernel, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"linux": str(found.linux), **asdict(found)}))
        return
    click.echo(f"Linux {found.release} in {found.mode} mode, from {found.source}: {found.linux}, sha256 {found.sha256}")
    if found.slow is not None:
        click.echo(found.slow)
