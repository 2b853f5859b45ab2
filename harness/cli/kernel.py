"""`hedera kernel`: the kernel for virtual time, compiled here for the user who calls it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from commands.options import json_option, quiet_option
from harness.cli.options import tell_user
from harness.errors import UnfitMachine
from virtual import kernel as kernels
from virtual.errors import Unavailable


@click.group()
def kernel() -> None:
    """The kernel for virtual time: a Linux that runs as a process (docs/virtual-time.md). Needs no root."""


@kernel.command()
@click.option(
    "--apt-suite",
    "suite",
    default="",
    metavar="SUITE",
    help="Suite of the distribution to take the source from, such as sid (default: this machine's apt sources).",
)
@json_option
@quiet_option
def build(suite: str, as_json: bool) -> None:
    """Fetch the source, compile it, test it and install it. HEDERA_KERNEL_SOURCE names a tarball or a tree instead.

    Example: hedera kernel build --apt-suite sid
    """
    try:
        _tell(kernels.build(lambda sentence: tell_user(f"{sentence} ..."), suite), as_json)
    except Unavailable as reason:
        raise UnfitMachine(str(reason)) from None


@kernel.command()
@json_option
def status(as_json: bool) -> None:
    """Show which kernel is installed."""
    try:
        found = kernels.built()
    except Unavailable as reason:
        raise UnfitMachine(str(reason)) from None
    if found is None:
        raise UnfitMachine("there is no kernel for virtual time yet: hedera kernel build")
    _tell(found, as_json)


def _tell(found: kernels.Kernel, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({**asdict(found), "linux": str(found.linux)}))
        return
    click.echo(f"Linux {found.release} in {found.mode} mode, from {found.source}: {found.linux}")
    if found.slow is not None:
        click.echo(found.slow)
