"""What this machine will carry, and which command to give next: the end of `hedera doctor`."""

from __future__ import annotations

from dataclasses import replace

from harness.network import machine
from harness.run.spec import RunSpec
from harness.sweep.plan import forecast_s, load_factor
from results.output import duration

_RUN = RunSpec("hedera-sa", "stride:4", seconds=10.0)
_FIGURE_9 = 140
"""Runs of a trial."""


def carried(time: str) -> str:
    """Rates and hosts, in sentences."""
    if time == "real":
        return "In real time Open vSwitch forwards in the kernel; links of 100 Mb/s are a start (--bw 100)."
    at_once = machine.processors()
    spec = replace(_RUN, time="virtual")
    small, large = (duration(forecast_s(replace(spec, k=k, traffic=f"stride:{k}"))) for k in (4, 8))
    return (
        "In virtual time Open vSwitch forwards in the kernel of a guest, a Linux that is a process: "
        f"{'one guest' if at_once == 1 else f'{at_once} guests'} at once, and links of any rate. "
        f"10 s of {_RUN.link_mbps:g} Mb/s take about {small} of a processor with 16 hosts (k = 4), {large} with 128 "
        "(k = 8)."
    )


def next_command(time: str, missing: str, busy: bool) -> str:
    """What to type. ``missing``: what has to be mended first. ``busy``: whether something else computes here."""
    if missing:
        return f"Next: {missing}; then hedera doctor again"
    if time == "real" and busy:
        return "Next: ./test.sh 1 10 --time virtual, or wait: beside other work runs in real time may be invalid"
    at_once = machine.processors() if time == "virtual" else 1
    whole = duration(load_factor() * _FIGURE_9 * forecast_s(replace(_RUN, time=time)) / at_once)
    return f"Next: ./test.sh --demo, a first look; then ./test.sh 1 10, all of Figure 9 in about {whole}"
