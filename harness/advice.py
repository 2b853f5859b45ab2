"""What this machine will carry, and which command to give next: the end of `hedera doctor`."""

from __future__ import annotations

from dataclasses import replace

from harness.network import machine
from harness.run.spec import RunSpec
from harness.sweep import calibration
from harness.sweep.plan import forecast_s
from results.output import duration

_RUN = RunSpec("hedera-sa", "stride:4", seconds=10.0)
_FIGURE_9 = 140
"""Runs of a trial."""


def carried(time: str) -> str:
    """Rates and hosts, in sentences."""
    return _in_virtual_time() if time == "virtual" else _in_real_time()


def next_command(time: str, missing: str, busy: str) -> str:
    """What to type. ``missing``: what has to be mended first. ``busy``: what else runs here. Empty for nothing."""
    if missing:
        return f"Next: {missing}; then hedera doctor again"
    if time == "real" and busy:
        return f"Next: ./test.sh 1 10 --time virtual, or wait: beside {busy} runs in real time may be invalid"
    at_once = machine.processors() if time == "virtual" else 1
    whole = duration(_FIGURE_9 * forecast_s(replace(_RUN, time=time)) / at_once)
    slower = f", longer beside {busy}" if busy else ""
    return f"Next: ./test.sh --demo, a first look; then ./test.sh 1 10, all of Figure 9 in about {whole}{slower}"


def _in_virtual_time() -> str:
    at_once = machine.processors()
    spec = replace(_RUN, time="virtual")
    small, large = (duration(forecast_s(replace(spec, k=k, traffic=f"stride:{k}"))) for k in (4, 8))
    return (
        "In virtual time Open vSwitch forwards in the kernel of a guest, a Linux that is a process: "
        f"{'one guest' if at_once == 1 else f'{at_once} guests'} at once, and links of any rate. "
        f"10 s of {_RUN.link_mbps:g} Mb/s take about {small} of a processor with 16 hosts (k = 4), {large} with 128 "
        "(k = 8)."
    )


def _in_real_time() -> str:
    """What real time takes, and what it carries."""
    if not machine.kernel_datapath():
        return "Real time needs Open vSwitch's kernel module, which is missing here: use --time virtual."
    rates = {mtu: calibration.remembered(replace(_RUN, mtu=mtu)) for mtu in calibration.MTUS}
    known = [f"{rate:g} Mb/s in packets of {mtu} bytes" for mtu, rate in rates.items() if rate is not None]
    how = "Open vSwitch forwards in the kernel: its module is here."
    if known:
        return f"{how} Measured here at k = 4: links of {' and of '.join(known)}."
    return f"{how} hedera doctor --calibrate measures what it carries; any rate in virtual time (--time virtual)."
