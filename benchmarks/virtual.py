"""What virtual time costs: seconds of one core per simulated second of traffic, by rate, packet, k and scheme.

Processor time, of the guest's kernel and all its processes, so that a busy machine changes little. Real time takes 1 s
per second. For 1 Gb/s in 1500 bytes, others' simulators: this project's on ns-3 24.6, csg-htsim 3.5, both without a
kernel's TCP.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.row import Row
from harness.run.resolution import resolve
from harness.run.spec import RunSpec
from harness.sweep import guests
from harness.sweep.guest_meter import Meter


class Case(NamedTuple):
    """One run, and what is aimed at: core seconds per simulated second, and until traffic can flow."""

    link_mbps: float
    mtu: int
    scheme: str
    aim: float | None
    k: int = 4
    seconds: float = 10.0
    traffic: str = "stride:4"
    ready_aim: float = 3.0


QUICK = (
    Case(10, 1500, "ecmp", 0.4),
    Case(10, 1500, "hedera-sa", 0.4),
    Case(100, 1500, "ecmp", 2.5),
    Case(1000, 1500, "ecmp", 15.0, seconds=4.0),
    Case(10, 1500, "hedera-sa", 5.0, k=8, seconds=5.0, traffic="randbij", ready_aim=20.0),
)
MORE = (
    Case(10, 1500, "nonblocking", 0.4),
    Case(10, 1500, "hedera-gff", 0.4),
    Case(100, 9000, "ecmp", None),
    Case(1000, 9000, "ecmp", None),
    Case(1000, 9000, "hedera-sa", None),
)


def rows(whole: bool) -> Iterator[Row]:
    """One run each, on one processor; an invalid one is an error."""
    ground = guests.prepare(lambda sentence: print(sentence, file=sys.stderr))
    for case in (*QUICK, *(MORE if whole else ())):
        spec = RunSpec(
            case.scheme,
            case.traffic,
            k=case.k,
            link_mbps=case.link_mbps,
            mtu=case.mtu,
            seconds=case.seconds,
            time="virtual",
            interval_s=1.0 if case.seconds < 10 else 2.0,
        )
        meter = Meter()
        with tempfile.TemporaryDirectory() as folder:
            run = guests.run_in_guest(resolve(spec), Path(folder, "run"), ground, meter)
        name = f"virtual time, k={case.k}, {case.link_mbps:g} Mb/s in {case.mtu} bytes, {case.scheme}"
        if not run.valid:
            raise RuntimeError(f"{name}: {'; '.join(run.reasons)}")
        each_s = meter.core_s["sending"] / meter.simulated_s["sending"]
        yield Row(f"{name}: core seconds per simulated second", each_s, "s", case.aim)
        ready_s = meter.core_s.get("starting", 0.0) + meter.core_s.get("building", 0.0)
        yield Row(f"{name}: core seconds until traffic flows", ready_s, "s", case.ready_aim)
        yield Row(f"{name}: core seconds afterwards", meter.core_s.get("finishing", 0.0), "s")
