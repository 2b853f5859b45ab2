"""Many runs in virtual time: their option, and the guests they are made in."""

from __future__ import annotations

import click

from files.rights import leave_root_for_good
from harness.cli.options import tell_user
from harness.run.spec import RunSpec
from harness.sweep.progress import InGuests

jobs_option = click.option(
    "--jobs",
    "at_once",
    type=click.IntRange(1),
    help="Guests at once in virtual time (default: one per core).",
)


def in_guests(base: RunSpec, at_once: int | None) -> InGuests:
    """Guests as an ordinary user; everything they need is made now. UnfitMachine says what is missing."""
    from harness.sweep import guests

    leave_root_for_good()
    if base.time == "auto":
        tell_user("without root: virtual time, in a Linux that is a process (docs/virtual-time.md)")
    return InGuests(guests.prepare(tell_user), guests.guests_at_once(at_once))
