"""The options that describe an experiment, which `run` and `sweep` share; and who carries it out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.jobs import root
from record.errors import UserMistake
from record.options import field_options, options, quiet, quiet_option
from record.spec import RunSpec

if TYPE_CHECKING:
    from harness.jobs.job import Job
    from harness.jobs.publish import Carrier

results_option = click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results/runs"),
    help="Folder that sweeps are kept in.",
    show_default=True,
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1), help="Guests at once in virtual time (default: one per core)."
)
experiment_options = options(
    field_options(RunSpec, without="scheme traffic seconds disturb topology oversubscribe"), quiet_option
)
"""The fields of RunSpec, and --quiet."""


def timed(spec: RunSpec, *, on_cluster: bool = False) -> RunSpec:
    """The spec with what ``auto`` means here for time and platform.

    Raises UserMistake and UnfitMachine for what cannot be had.
    """
    from harness.jobs.job import settled

    if on_cluster and spec.time == "real":
        raise UserMistake("a cluster makes runs in virtual time: real time takes a machine of one's own")
    return settled(replace(spec, time="virtual") if on_cluster else spec, root.may_be_root())


@contextmanager
def carrier(
    job: Job, at_once: int | None = None, cluster: str | None = None, *, asked: str = "auto"
) -> Iterator[Carrier]:
    """Who carries out jobs like this one while the block runs; everything they need is made now.

    ``asked``: the time that the user asked for; what ``auto`` became is told in one line. UnfitMachine says what is
    missing.
    """
    if cluster is not None:
        from harness.jobs.guests import Workers
        from record.tasks import cluster as workers_of

        with workers_of(cluster) as (executor, threads):
            yield Workers(executor, threads)
    elif job.spec.time == "virtual":
        from harness.jobs.guests import Guests, prepare
        from harness.network.machine import processors
        from virtual import cache

        if cache.moved:
            tell_user(cache.moved)
        if asked == "auto":
            why = "this kernel has no Open vSwitch" if root.may_be_root() else "without root"
            tell_user(f"{why}: virtual time, in a Linux that is a process (docs/virtual-time.md)")
        yield Guests(prepare(tell_user, job), at_once or processors())
    else:
        from harness.network.machine import require_tools

        require_tools()
        yield root.root()


def tell_user(sentence: str) -> None:
    """A line of progress on standard error, unless --quiet."""
    if not quiet():
        click.echo(sentence, err=True)
