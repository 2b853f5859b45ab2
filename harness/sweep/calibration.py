"""What link rate this machine carries: measured with the real fabric, remembered per machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from files.rights import make_folder
from harness.errors import UnfitMachine
from harness.network.machine import machine
from harness.run.experiment import run_experiment
from harness.run.spec import MAX_MBPS, RunSpec
from harness.sweep.store import read_json, write_json
from results.temporary import temporary_folder
from results.window import mean_over
from topos.wire import DEFAULT_MTU

DECADE = (1.0, 1.5, 2.0, 2.5, 3.5, 5.0, 7.5)
"""Link rates tried, Mb/s: these times every power of ten."""
LOWEST_MBPS = 0.5
MTUS = (1500, 9000)
"""Packet sizes that a calibration tells apart: what a cable carries everywhere, and the jumbo frame."""
FIRST = 100.0
"""Where the search starts at k = 4 and packets of 1500 bytes: what costs is the packet, not the byte."""
ENOUGH = 0.95
"""Share of capacity that collision-free traffic has to reach."""
SECONDS = 20.0
SETTLED_S = 8.0
"""By then Hedera has moved every flow to a path of its own (first after 2 s), and TCP has filled it."""
MEMORY = Path(__file__).resolve().parents[2] / "results" / "calibration.json"


@dataclass(frozen=True)
class Probe:
    """One rate tried: the share of capacity that arrived, and why the run would not have counted, if so."""

    bw: float
    share: float
    reasons: tuple[str, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether the machine carries this rate."""
        return self.share >= ENOUGH and not self.reasons


def probe(base: RunSpec, bw: float) -> Probe:
    """Send stride traffic on collision-free paths at a link rate.

    Stride k^2/4 sends every flow to the next pod; Simulated Annealing's very first state gives each receiver
    of a pod a core of its own, so that no two flows share a link. What arrives after the flows
    have been moved there says what the machine carries, the whole control loop running.
    """
    spec = replace(base, scheme="hedera-sa", traffic=f"stride:{base.k**2 // 4}", link_mbps=bw, seconds=SECONDS)
    with temporary_folder("calibrate") as folder:
        run = run_experiment(spec, folder / "run")
    if run.bisection_mbps is None:
        raise UnfitMachine(f"the machine could not be calibrated: {run.reasons[0]}")
    arrived = mean_over(np.array(run.rates.t), np.array(run.rates.total_mbps), (SETTLED_S, spec.seconds))
    # What arrived is a judge of its own: a run that no other rule could judge is no worse for it.
    return Probe(bw, arrived / spec.capacity_mbps, run.reasons if run.judged else ())


def rate(step: int) -> float:
    """The rates that are tried, in their order: step 0 is 1 Mb/s."""
    power, place = divmod(step, len(DECADE))
    return round(DECADE[place] * 10.0**power, 9)


def step_below(mbps: float) -> int:
    """The step of the highest rate tried that is not above ``mbps``."""
    step = len(DECADE) * math.ceil(math.log10(mbps)) + 1
    while rate(step) > mbps:
        step -= 1
    return step


def search(try_rate: Callable[[float], Probe], first: float) -> tuple[float | None, list[Probe]]:
    """The highest rate that is enough, and all probes: up from ``first`` while it is, else down until it is.

    A rate that fails is tried once more, because one disturbance must not halve all results to come.
    """
    probes: list[Probe] = []

    def carries(mbps: float) -> bool:
        for _ in range(2):
            probes.append(try_rate(mbps))
            if probes[-1].enough:
                return True
        return False

    step = step_below(first)
    if carries(rate(step)):
        while rate(step + 1) <= MAX_MBPS and carries(rate(step + 1)):
            step += 1
        return rate(step), probes
    while rate(step - 1) >= LOWEST_MBPS:
        step -= 1
        if carries(rate(step)):
            return rate(step), probes
    return None, probes


def first_rate(base: RunSpec) -> float:
    """Where the search starts: the hosts of a larger network together send no more than those of k = 4 would."""
    likely = FIRST * (4 / base.k) ** 3 * base.mtu / DEFAULT_MTU
    return rate(step_below(max(likely, LOWEST_MBPS)))


def identity(base: RunSpec) -> dict[str, Any]:
    """What a calibration depends on; another machine, or another k, needs another one."""
    here = machine()
    return {
        "kernel": here.kernel,
        "processor": here.processor,
        "cores": here.cores,
        "openvswitch": here.tools["ovs-vswitchd"],
        "k": base.k,
        "mtu": base.mtu,
    }


def remembered(base: RunSpec) -> float | None:
    """The rate that was measured on this machine for these settings, Mb/s; None when there is none."""
    wanted = identity(base)
    return next((float(e["bw"]) for e in _entries() if e["identity"] == wanted), None)


def _entries() -> list[dict[str, Any]]:
    """What has been measured, as far as the file is what we write."""
    try:
        entries = list(read_json(MEMORY))
    except (ValueError, TypeError):
        return []
    return [e for e in entries if isinstance(e, dict) and "identity" in e and isinstance(e.get("bw"), float)]


def calibrate(base: RunSpec, say: Callable[[Probe], None]) -> float:
    """Measure the rate and remember it; ``say`` hears of each probe. UnfitMachine when the lowest is too much."""
    measured: list[Probe] = []

    def try_rate(rate: float) -> Probe:
        measured.append(probe(base, rate))
        say(measured[-1])
        return measured[-1]

    bw, probes = search(try_rate, first_rate(base))
    if bw is None:
        raise UnfitMachine(f"this machine does not even carry links of {LOWEST_MBPS:g} Mb/s")
    wanted = identity(base)
    entry = {"identity": wanted, "bw": bw, "probes": [[p.bw, round(p.share, 4)] for p in probes]}
    make_folder(MEMORY.parent)
    write_json(MEMORY, [e for e in _entries() if e["identity"] != wanted] + [entry])
    return bw
