"""Measuring what guests take of this machine's processors."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness.errors import UnfitMachine
from harness.run.resolution import resolve
from harness.run.spec import RunSpec
from harness.sweep import guests
from harness.sweep.guest_costs import MEASURED, Costs, packets_of, remember
from harness.sweep.guests import Ground
from results.temporary import temporary_folder
from virtual.guest import Progress


def measure(ground: Ground, say: Callable[[str], None]) -> Costs:
    """Measure, with a run at each rate of `MEASURED`, and remember. UnfitMachine when one of them is invalid."""
    base = RunSpec("hedera-sa", "stride:4", time="virtual", interval_s=1.0)
    around, packets, second_s = [], [], []
    with temporary_folder("costs") as folder:
        for rate, seconds in MEASURED:
            spec = resolve(replace(base, link_mbps=rate, seconds=seconds))
            meter = Meter()
            run = guests.run_in_guest(spec, folder / f"{rate:g}", ground, meter)
            if run.verdict == "invalid":
                raise UnfitMachine(f"what guests take could not be measured: {run.reasons[0]}")
            second_s.append(meter.core_s["sending"] / meter.simulated_s["sending"])
            around.append(sum(meter.core_s.values()) - meter.core_s["sending"])
            packets.append(packets_of(spec))
            say(f"  links of {rate:g} Mb/s: {second_s[-1]:.2g} s of a processor per simulated second")
    made = Costs(sum(around) / len(around), tuple(packets), tuple(second_s))
    remember(made)
    return made


class Meter:
    """Hears of a run in a guest, this process's only one, and adds up what each of its stages took."""

    def __init__(self) -> None:
        self.core_s: dict[str, float] = {}
        self.simulated_s: dict[str, float] = {}
        self._before = (0.0, 0.0)

    def __call__(self, stage: str, progress: Progress) -> None:
        """The stage it is at, and its clock."""
        now = (max(used_s(), self._before[0]), progress.simulated_s)
        self.core_s[stage] = self.core_s.get(stage, 0.0) + now[0] - self._before[0]
        self.simulated_s[stage] = self.simulated_s.get(stage, 0.0) + now[1] - self._before[1]
        self._before = now


def used_s() -> float:
    """Processor seconds of the living processes below this one, and of those that they have waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(words[1]), sum(map(int, words[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[pid] for pid in ours if pid != os.getpid()) / os.sysconf("SC_CLK_TCK")
