"""How long runs in virtual time will take: an estimate before they begin, by what networks of several sizes took.

Two figures make it (docs/notes/virtual-time.md#cost, emulator 5; of 432 hosts and more, emulator 4's times 0.65): the
processor seconds of a second of traffic at 10 Mb/s, and those until traffic flows. A network of another kind is taken
for the fat-tree of as many hosts. Its paths may be shorter, as those of a leaf-spine are: then it takes less.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from record.spec import RunSpec

HOSTS = (16, 128, 432, 1024, 2000)
TRAFFIC_S = (0.09, 1.1, 4.4, 13.0, 25.0)
"""Processor seconds of a second of traffic at 10 Mb/s, by number of hosts."""
START_S = (2.4, 3.9, 10.0, 26.0, 46.0)
"""Processor seconds until traffic flows, by number of hosts, in the first run on a network."""
COPY = 0.1
"""Of that, what each further run on the same network takes, which begins as a copy of the first."""
JUDGING_S = 1.5
"""Processor seconds that a run takes outside of its guest: 140 runs of 10 s at 16 hosts took three minutes of two."""
PER_RATE = 0.68
"""At ten times the rate a second takes 10^0.68 times as long: 0.065, 0.30 and 1.5 s at 10, 100 and 1,000 Mb/s."""
BESIDE_OTHERS = 2.0
"""So many times as long it may take beside other work."""
PER_RATE_BESIDE_OTHERS = 0.85
"""As `PER_RATE`, where others use the processor's last cache: packets that wait have left it when their turn comes,
and at 1 Gb/s, where thousands wait, a second took 6 to 9."""


def estimate_processor_seconds(specs: Sequence[RunSpec], per_rate: float = PER_RATE) -> float:
    """What these runs take of a processor that has nothing else to do."""
    return sum(_estimate_run(spec, per_rate) for spec in specs)


def _estimate_run(spec: RunSpec, per_rate: float) -> float:
    hosts = max(spec.topo.num_hosts, 2)
    # Between the measured sizes, and beyond them, both figures grow by powers of the number of hosts.
    traffic_s, start_s = (_interpolate(hosts, measured) for measured in (TRAFFIC_S, START_S))
    return JUDGING_S + COPY * start_s + spec.seconds * traffic_s * float((spec.link_mbps / 10) ** per_rate)


def _interpolate(hosts: int, measured: Sequence[float]) -> float:
    x, y = np.log(HOSTS), np.log(measured)
    place = int(np.clip(np.searchsorted(x, np.log(hosts)), 1, len(HOSTS) - 1))
    slope = (y[place] - y[place - 1]) / (x[place] - x[place - 1])
    return float(np.exp(y[place] + slope * (np.log(hosts) - x[place])))


def describe_cost(specs: Sequence[RunSpec], at_once: int) -> str:
    """A sentence for whoever waits. ``at_once``: how many runs are made side by side, each on a processor."""
    alone_s, beside_s = (
        estimate_processor_seconds(specs, per_rate) / max(1, min(at_once, len(specs)))
        for per_rate in (PER_RATE, PER_RATE_BESIDE_OTHERS)
    )
    side_by_side = f"{at_once} at once" if at_once > 1 else "one after another"
    subject = f"these {len(specs)} runs, {side_by_side}, take" if len(specs) > 1 else "this run takes"
    return (
        f"{subject} about {_format_duration(alone_s)} where the machine does nothing else, "
        f"and up to {_format_duration(BESIDE_OTHERS * beside_s)} beside other work (docs/virtual-time.md#cost)"
    )


def _format_duration(seconds: float) -> str:
    for length, unit in ((86400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= 0.95 * length:
            number = f"{seconds / length:.1f}" if seconds < 9.5 * length else f"{seconds / length:.0f}"
            number = number.removesuffix(".0")
            return f"{number} {unit}{'' if number == '1' else 's'}"
    return f"{max(seconds, 1):.0f} s"
