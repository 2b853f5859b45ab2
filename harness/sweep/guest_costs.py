"""What guests take of this machine's processors, as it was measured (`harness.sweep.guest_meter`) and remembered."""

from __future__ import annotations

import contextlib
from functools import cache as once
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from files.reader import Unreadable, read_json
from files.writer import write_whole
from harness.network import machine
from harness.run.spec import RunSpec
from virtual import cache, kernel
from virtual.errors import Unavailable

HOSTS = 16
"""Of the network that is measured, k = 4; more hosts cost in proportion."""
MEASURED = ((10.0, 5.0), (100.0, 4.0), (1000.0, 3.0))
"""Link rate, Mb/s, in packets of 1500 bytes, and seconds of traffic."""
_MAX_BYTES = 1 << 16


class Costs(msgspec.Struct, frozen=True):
    """Of a guest of 16 hosts, in seconds of one processor: ``around_s`` beside its traffic, and ``second_s`` for each
    simulated second of that, by ``packets`` that each host could receive in it (ascending). ``measured``: here."""

    around_s: float
    packets: tuple[float, ...]
    second_s: tuple[float, ...]
    measured: bool = True

    def per_second(self, spec: RunSpec) -> float:
        """Processor seconds of a simulated second of such a run."""
        here = packets_of(spec)
        if here <= self.packets[-1]:
            cost = float(np.interp(here, self.packets, self.second_s))
        else:
            cost = self.second_s[-1] * here / self.packets[-1]
        return cost * spec.tree.num_hosts / HOSTS

    def of_run(self, spec: RunSpec) -> float:
        """Processor seconds of a whole run."""
        return self.around_s * spec.tree.num_hosts / HOSTS + self.per_second(spec) * spec.seconds


def packets_of(spec: RunSpec) -> float:
    """Full packets that each host of such a run could receive in a second."""
    return spec.link_mbps * 1e6 / 8 / spec.mtu


ELSEWHERE = Costs(11.0, tuple(mbps * 1e6 / 8 / 1500 for mbps, _ in MEASURED), (0.6, 2.6, 17.0), measured=False)
"""Where nothing was measured: two processors of docs/virtual-time.md."""


@once
def costs() -> Costs:
    """Those that were measured on this machine, with this kernel, else `ELSEWHERE`."""
    try:
        found = msgspec.convert(read_json(_memory(), _MAX_BYTES)[_identity()], Costs)
        if len(found.packets) == len(found.second_s) > 0:
            return found
    except (Unavailable, Unreadable, ValueError, LookupError, TypeError):
        pass  # nothing was measured, or this is nothing that we wrote
    return ELSEWHERE


def _memory() -> Path:
    return cache.folder() / "costs.json"


def _identity() -> str:
    """What they depend on: other processors, or another kernel, take another time."""
    found = kernel.built()
    return f"{machine.processor_name()}, {found.sha256 if found else 'no kernel'}"


def remember(made: Costs) -> None:
    """From now on `costs` are these."""
    stored: dict[str, Any] = {}
    with contextlib.suppress(Unreadable, ValueError, TypeError):  # none yet, or nothing that we wrote
        stored = dict(read_json(_memory(), _MAX_BYTES))
    write_whole(_memory(), msgspec.json.encode({**stored, _identity(): made}))
    costs.cache_clear()


def told(found: Costs) -> str:
    """In words, for k = 4 and packets of 1500 bytes: ``0.6 s at 10 Mb/s, ...``."""
    specs = [RunSpec("ecmp", "stride:4", link_mbps=each, time="virtual") for each, _ in MEASURED]
    return ", ".join(f"{found.per_second(spec):.2g} s at {spec.link_mbps:g} Mb/s" for spec in specs)
