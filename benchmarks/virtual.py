"""What virtual time costs: seconds of one core per simulated second of traffic, by rate, packet, k and scheme.

    python -m benchmarks.virtual [--all]        ten minutes without --all; needs no root

Processor time, of the guest's kernel and all its processes; beside other work it is up to half as much again, so
compare what was measured in turns. Real time takes 1 s per second.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import click

from harness.jobs import guests
from harness.jobs.job import job_of
from harness.jobs.publish import run as run_job
from record.output import plain_table, wide_console
from record.spec import RunSpec
from virtual import guest


class Case(NamedTuple):
    """One run, and what is aimed at: core seconds per simulated second, and until traffic can flow."""

    link_mbps: float
    mtu: int
    scheme: str
    aim: float | None
    k: int = 4
    seconds: float = 10.0
    traffic: str = "stride:4"
    ready_aim: float = 0.8


QUICK = (
    Case(10, 1500, "ecmp", 0.06),
    Case(10, 1500, "hedera-sa", 0.15),
    Case(100, 1500, "ecmp", 0.35),
    Case(1000, 1500, "ecmp", 2.0, seconds=4.0),
    Case(10, 1500, "hedera-sa", 2.6, k=8, seconds=5.0, traffic="randbij", ready_aim=4.0),
)
MORE = (
    Case(10, 1500, "nonblocking", 0.4),
    Case(10, 1500, "hedera-gff", 0.4),
    Case(100, 9000, "ecmp", None),
    Case(1000, 9000, "ecmp", None),
    Case(1000, 9000, "hedera-sa", None),
)


@click.command(help=__doc__)
@click.option("--all", "whole", is_flag=True, help="The cases that take long as well.")
def main(whole: bool) -> None:
    """One run each, on one processor; an invalid one is an error."""
    table = plain_table("Core seconds in virtual time", "case", "of", "aim", "ours", "ratio")
    where = guests.Guests(guests.prepare(lambda sentence: print(sentence, file=sys.stderr)), 1)
    for case in (*QUICK, *(MORE if whole else ())):
        spec = RunSpec(
            case.scheme, case.traffic, k=case.k, link_mbps=case.link_mbps, mtu=case.mtu, seconds=case.seconds,
            time="virtual", interval_s=1.0 if case.seconds < 10 else 2.0,
        )  # fmt: skip
        meter = Meter()
        with tempfile.TemporaryDirectory() as folder:
            run = run_job(job_of(spec), Path(folder, "run"), where, meter)
        name = f"k={case.k}, {case.link_mbps:g} Mb/s in {case.mtu} bytes, {case.scheme}"
        if not run.valid:
            raise RuntimeError(f"{name}: {'; '.join(run.reasons)}")
        each_s = meter.core_s["sending"] / meter.simulated_s["sending"]
        ready_s = meter.core_s["starting"] + meter.core_s["building"]
        for of, ours, aim in (
            ("a simulated second", each_s, case.aim),
            ("until traffic flows", ready_s, case.ready_aim),
            ("afterwards", meter.core_s["finishing"], None),
        ):
            table.add_row(name, of, f"{aim or ''}", f"{ours:.3g}", f"{ours / aim:.2f}" if aim else "")
    wide_console().print(table)


class Meter:
    """Hears of a run in a guest, this process's only one, and adds up what each of its stages took."""

    def __init__(self) -> None:
        self.core_s: defaultdict[str, float] = defaultdict(float)
        self.simulated_s: defaultdict[str, float] = defaultdict(float)
        self._before = (0.0, 0.0)

    def __call__(self, stage: str, progress: guest.Progress | None) -> None:
        """The stage it is at, and its clock: None when its guest has ended."""
        if progress is None:
            return
        now = (max(used_s(), self._before[0]), progress.simulated_s)
        self.core_s[stage] += now[0] - self._before[0]
        self.simulated_s[stage] += now[1] - self._before[1]
        self._before = now


def used_s() -> float:
    """Processor seconds of the guests that this process has started and not waited for yet; each is a session."""
    return sum(sum(guest.used_s(child).values()) for child in guest.used_s(os.getpid(), 1))


if __name__ == "__main__":
    main()
