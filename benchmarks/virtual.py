"""What virtual time costs: seconds of one core per simulated second of traffic, by rate, packet, k and scheme.

    python -m benchmarks.virtual [--all] [--rounds N] [--beside ns-3]        two minutes for a round; needs no root

Processor time, of the guest's kernel and all its processes; from the second round on a run is a copy, as in a sweep.
Beside other work it is up to half as much again, so compare what was measured in turns. Real time takes 1 s per
second. --beside ns-3 gives the flows of the runs under ecmp, along the same paths, to the packet simulator in turn with
them (`benchmarks.truth` says how they differ).
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import click

from benchmarks import truth
from harness.jobs import guests
from harness.jobs.carry_out import run_job
from harness.run import Job, make_job
from record.output import make_plain_table, make_wide_console
from record.run import Run
from record.spec import RunSpec
from studies.hull import packets
from topos.fattree import FatTree
from virtual import guest

PER_SECOND, READY, COPIED = "a simulated second", "until traffic flows", "until traffic flows, in a copy"


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

    @property
    def spec(self) -> RunSpec:
        return RunSpec(
            self.scheme, self.traffic, k=self.k, link_mbps=self.link_mbps, mtu=self.mtu, seconds=self.seconds,
            time="virtual", interval_s=1.0 if self.seconds < 10 else 2.0,
        )  # fmt: skip

    def __str__(self) -> str:
        return f"k={self.k}, {self.link_mbps:g} Mb/s in {self.mtu} bytes, {self.scheme}"


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
@click.option(
    "--rounds", type=click.IntRange(1), default=1, help="Each case so often, in turns: the table has medians."
)
@click.option("--beside", type=click.Choice(["ns-3"]), help="Measure the packet simulator as well.")
def main(whole: bool, rounds: int, beside: str | None) -> None:
    """Medians, on one processor; an invalid run is an error."""
    where = guests.Guests(guests.prepare(lambda sentence: print(sentence, file=sys.stderr)), 1)
    cases = (*QUICK, *(MORE if whole else ()))
    if beside:
        packets.build_engine()
    ours: defaultdict[tuple[Case, str], list[float]] = defaultdict(list)
    theirs: defaultdict[Case, list[float]] = defaultdict(list)
    jobs = {case: make_job(case.spec) for case in cases}
    with where.prepared_for([*jobs.values()] * rounds):
        for turn in range(rounds):
            for case in cases:
                run, core_seconds = measure(jobs[case], where)
                if turn:
                    core_seconds[COPIED] = core_seconds.pop(READY)
                for of, core_s in core_seconds.items():
                    ours[case, of].append(core_s)
                if beside and case.scheme == "ecmp":
                    theirs[case].append(run_in_ns3(run) / case.seconds)
    table = make_plain_table(
        "Core seconds in virtual time", "case", "of", "aim", "ours", "ratio", *([beside] if beside else ())
    )
    for (case, of), each in ours.items():
        median = statistics.median(each)
        aim = {PER_SECOND: case.aim, READY: case.ready_aim}.get(of)
        row = [str(case), of, f"{aim or ''}", f"{median:.3g}", f"{median / aim:.2f}" if aim else ""]
        if beside:
            row.append(f"{statistics.median(theirs[case]):.3g}" if of == PER_SECOND and theirs[case] else "")
        table.add_row(*row)
    make_wide_console().print(table)


def measure(job: Job, where: guests.Guests) -> tuple[Run, dict[str, float]]:
    """A run, and its core seconds: per simulated second, until traffic flows, afterwards."""
    meter = Meter()
    with tempfile.TemporaryDirectory() as folder:
        run = run_job(job, Path(folder, "run"), where, meter)
    if not run.valid:
        raise RuntimeError(f"{job.spec.scheme} at {job.spec.link_mbps:g} Mb/s: {'; '.join(run.reasons)}")
    return run, {
        PER_SECOND: meter.core_s["sending"] / meter.simulated_s["sending"],
        READY: meter.core_s["starting"] + meter.core_s["building"],
        "afterwards": meter.core_s["finishing"],
    }


def run_in_ns3(run: Run) -> float:
    """Core seconds of the packet simulator for the flows of a run."""
    _, engine_scenario = truth.make_scenario(run, FatTree(run.spec.k), drain_s=0.0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    packets.run_scenario(engine_scenario)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Meter:
    """Hears of a run in a guest, this process's only one, and adds up what each of its stages took."""

    def __init__(self) -> None:
        self.core_s: defaultdict[str, float] = defaultdict(float)
        self.simulated_s: defaultdict[str, float] = defaultdict(float)
        self._before = (measure_used_s(), 0.0)  # of guests that wait

    def __call__(self, stage: str, progress: guest.Progress | None) -> None:
        """The stage it is at, and its clock: None when its guest has ended."""
        if progress is None:
            return
        now = (max(measure_used_s(), self._before[0]), progress.simulated_s)
        self.core_s[stage] += now[0] - self._before[0]
        self.simulated_s[stage] += now[1] - self._before[1]
        self._before = now


def measure_used_s() -> float:
    """Processor seconds of the guests that this process has started and not waited for yet; each is a session."""
    return sum(sum(guest.measure_used_s(child).values()) for child in guest.measure_used_s(os.getpid(), 1))


if __name__ == "__main__":
    main()
