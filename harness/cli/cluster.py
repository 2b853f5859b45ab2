"""`hedera cluster`: the machines of a cluster, and the keys that make it one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commands.beside import end_with_caller
from commands.options import in_words, keys_of, keys_option
from files.rights import leave_root_for_good
from harness.errors import UserMistake
from workers.cluster import PORT, ClusterAddress
from workers.keys import DAYS, make_keys

if TYPE_CHECKING:
    from harness.run.spec import RunSpec
    from virtual.guest import Progress


@click.group()
def cluster() -> None:
    """Many machines for one sweep: keys, a scheduler, workers. See docs/cluster.md.

    \b
    hedera cluster keys cluster-keys                       once; copy the folder to every machine, and to no other
    hedera cluster scheduler                               on one machine
    sudo hedera cluster worker tls://SCHEDULER:8786        on every other; without sudo for runs in virtual time
    ./test.sh 5 60 --cluster tls://SCHEDULER:8786          on yours
    """


@cluster.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--days",
    default=DAYS,
    type=click.IntRange(1, 825),
    help="How long the keys are valid.",
    show_default=True,
)
@in_words
def keys(folder: Path, days: int) -> None:
    """Make the keys of a new cluster in FOLDER. Whoever has a copy can do anything on its workers, as root."""
    leave_root_for_good()
    now = datetime.now(timezone.utc)
    try:
        make_keys(folder, now, days)
    except ImportError:
        raise RuntimeError(
            "keys need more packages: setup/install.sh --cluster (or pip install '.[cluster]')"
        ) from None
    click.echo(
        f"keys valid for {days} days: {folder}/ (copy it whole to every machine of the cluster, and nowhere else)"
    )


@cluster.command()
@click.option(
    "--listen",
    metavar="ADDRESS",
    default=f"tls://0.0.0.0:{PORT}",
    help="Address to listen at: tls://HOST:PORT; for this machine alone tls://127.0.0.1:PORT.",
    show_default=True,
)
@keys_option
@click.pass_context
@in_words
def scheduler(context: click.Context, listen: str) -> None:
    """Run the cluster's scheduler, until Ctrl-C. It needs no root, and hardly any processor time."""
    from workers.node import serve_scheduler

    leave_root_for_good()
    with contextlib.suppress(KeyboardInterrupt):
        serve_scheduler(ClusterAddress(listen, keys_of(context)), lambda at: click.echo(f"scheduler at {at}"))


@cluster.command()
@click.argument("address", metavar="tls://HOST:PORT")
@click.option("--name", default=socket.gethostname, help="This machine's name in the results [default: its host name].")
@click.option("--host", help="If this machine has several addresses: the one that the scheduler can reach.")
@click.option("--jobs", type=click.IntRange(1), help="Runs at once in virtual time (default: one per core).")
@keys_option
@click.pass_context
@in_words
def worker(context: click.Context, address: str, name: str, host: str | None, jobs: int | None) -> None:
    """Run a worker of the scheduler at ADDRESS, until Ctrl-C or until the scheduler is gone for two minutes.

    As root it makes runs in real time, one after the other; as an ordinary user in virtual time, one per core at
    once. Whoever has the cluster's keys can do on this machine whatever you can: see docs/cluster.md.
    """
    from harness.cli.options import tell_user
    from harness.network import machine
    from harness.sweep import guests
    from harness.sweep.remote import RESOURCE
    from workers.node import serve_worker

    if os.geteuid() == 0:
        if jobs is not None:
            raise UserMistake("--jobs is for virtual time: in real time a run needs the whole machine")
        machine.require_tools()
    else:
        guests.prepare(tell_user)  # takes minutes if there is no kernel yet
    at_once = 1 if os.geteuid() == 0 else guests.guests_at_once(jobs)
    if not name.isprintable() or not 0 < len(name) <= 100:
        raise UserMistake("--name must be 1 to 100 printable characters")
    where = ClusterAddress(address, keys_of(context))
    with contextlib.suppress(KeyboardInterrupt):
        serve_worker(
            where,
            name,
            RESOURCE,
            lambda at: click.echo(f"worker {name} of {address} at {at}"),
            host,
            at_once,
        )


@cluster.command(hidden=True)
@click.argument("folder", type=click.Path(path_type=Path))
def job(folder: Path) -> None:
    """One request, in a process that a worker starts: the request is one line of standard input, and each step is
    reported in one line of standard output."""
    from files.sent import sent
    from harness.cli.options import rates_here
    from harness.network.machine import time_travels
    from harness.run.experiment import run_experiment
    from harness.sweep import enclosed
    from harness.sweep.remote import spec_of

    asked = json.loads(sys.stdin.readline())
    end_with_caller(lambda: os.kill(os.getpid(), signal.SIGTERM))
    with sent(enclosed.found(asked)):
        spec = spec_of(asked)
        if asked["kind"] == "rates":
            click.echo(json.dumps({"rates": rates_here(spec, [int(mtu) for mtu in asked["mtus"]])}))
            return
        if spec.time == "virtual" and not time_travels():
            _in_guest(spec, folder, asked["worker"])
        else:
            run_experiment(spec, folder, _say, worker=asked["worker"])
    click.echo(json.dumps({"done": True}))


def _in_guest(spec: RunSpec, folder: Path, worker: str) -> None:
    """Make a run in virtual time, and report its progress every second."""
    from harness.sweep import guests

    said = [0.0]

    def hear(stage: str, progress: Progress) -> None:
        if time.monotonic() >= said[0] + 1:
            said[0] = time.monotonic()
            _say(f"{stage}, {progress.simulated_s:.0f} s in {progress.real_s:.0f} s")

    guests.run_in_guest(spec, folder, guests.prepare(_say), hear, worker)


def _say(stage: str) -> None:
    click.echo(json.dumps({"stage": stage}))
    sys.stdout.flush()
