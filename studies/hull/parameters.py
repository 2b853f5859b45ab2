"""Every parameter of the report's Table I and of its authors' experiments, with default and unit; and the schemes.

On the command line a number may have a unit: 100us, 1.5KB, 950Mb/s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import click

from hedera.parameter import check, parameter


@dataclass(frozen=True)
class Parameters:
    """One setting of network, TCP, pacer and phantom queue; KB are 1,000 bytes.

    The fields are the options of every ``hedera hull`` command. If Table I gives no value, it is that of the
    authors' experiments (docs/notes/hull.md says which). Raises ValueError, one sentence, for a value out of range.
    """

    link_mbps: float = parameter(1000.0, "Rate of every link", unit="Mb/s", least=1, option="--bw")
    link_delay_us: float = parameter(5.0, "Propagation delay of every link", unit="us", least=0)
    port_queue_packets: int = parameter(500, "Queue of every switch port", unit="packets", least=1, option="--queue")
    host_queue_packets: int = parameter(1000, "Queue of every host", unit="packets", least=1)
    segment_bytes: int = parameter(
        950, "TCP payload of a full packet (MTU in Table I)", unit="bytes", least=50, most=8960
    )
    window_packets: int = parameter(1256, "Largest window", unit="packets", least=2)
    initial_packets: int = parameter(2, "Window at the start and after idle time", unit="packets", least=1)
    least_packets: int = parameter(2, "Smallest window after a mark", unit="packets", least=1)
    min_rto_ms: float = parameter(10.0, "Shortest retransmission timeout", unit="ms", least=0.001)
    idle_ms: float = parameter(10.0, "Idle time after which a window starts anew; 0: never", unit="ms", least=0)
    jitter_us: float = parameter(0.0, "A switch delays every packet by a random time up to this", unit="us", least=0)
    sack: bool = parameter(True, "Selective acknowledgements (RFC 2018).")
    mark_kb: float | None = parameter(None, "K, marking threshold of DCTCP (default: the scheme's)", unit="KB", least=0)
    drain: float = parameter(0.95, "Phantom queue: drain rate as a share of the link.", least=0.01)
    phantom_kb: float = parameter(1.0, "Phantom queue: marking threshold", unit="KB", least=0)
    pacer_behind: bool = False
    """Whether the pacer is behind the host's queue, which it then stops, as in the authors' ns-2; no option, but what
    the variants differ by."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Scheme:
    """What a scheme switches on. ``mark_kb``: DCTCP's K at switch ports, 0 for none."""

    name: str
    label: str
    colour: str
    dctcp: bool = False
    mark_kb: float = 0.0
    pacer: bool = False
    phantom: bool = False


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Scheme("tcp", "TCP, drop tail", "#e69f00"),
        Scheme("dctcp-30k", "DCTCP, K = 30 KB", "#56b4e9", dctcp=True, mark_kb=30.0),
        Scheme("dctcp-6k-pacer", "DCTCP, K = 6 KB, pacer", "#009e73", dctcp=True, mark_kb=6.0, pacer=True),
        Scheme("hull", "HULL: phantom queue, pacer", "#0072b2", dctcp=True, pacer=True, phantom=True),
    )
}
"""By name, in the report's order."""

VARIANTS: dict[str, dict[str, Any]] = {"reproduction": {"sack": False, "pacer_behind": True}, "conforming": {}}
"""By name: the changes to the given parameters. *reproduction*: as in the authors' ns-2, TCP without selective
acknowledgements, and the pacer behind the host's queue. *conforming*: TCP by its RFCs, and the pacer where the report
has it."""

G, FIRST_ALPHA = 1 / 16, 1.0
"""DCTCP's weight of a new estimate, and its first estimate (RFC 8257)."""
PACER = {
    "eta": 0.125, "beta": 16.0, "depth_bits": 24_000.0, "update_ns": 32_000, "associate": 0.125,
    "association_ns": 10_000_000, "tick_ns": 16_000, "start_bps": 100e6,
}  # fmt: skip
"""The pacer, as the engine takes it: weight of a new rate, rate gained per queued bit at every update (1/s), depth of
the token bucket, T_r, p_a, T_i, time between deliveries of tokens, first rate. From Table I, and where it is silent
from the authors' experiments."""

_UNITS = {
    "us": {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6},
    "ms": {"us": 1e-3, "ms": 1.0, "s": 1e3},
    "kb": {"B": 1e-3, "KB": 1.0, "kB": 1.0, "MB": 1e3},
    "mbps": {"Kb/s": 1e-3, "Mb/s": 1.0, "Gb/s": 1e3},
}
"""By the suffix of a field's name: the units that may be given, as multiples of the field's own."""

_WRITTEN = {"us": "us", "ms": "ms", "kb": "KB", "mbps": "Mb/s"}


class Quantity(click.ParamType[float | None]):
    """A number in the unit of a field (``link_delay_us``: us), or with a unit behind it."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self.name = _WRITTEN[unit].lower()

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float | None:
        if value is None or isinstance(value, int | float):
            return value
        match = re.fullmatch(r"\s*([0-9.eE+-]+)\s*([A-Za-z/]*)\s*", value)
        factor = _UNITS[self._unit].get(match[2] or _WRITTEN[self._unit]) if match else None
        try:
            number = float(match[1]) if match else None
        except ValueError:
            number = None
        if factor is None or number is None:
            units = ", ".join(_UNITS[self._unit])
            self.fail(f"{value!r} is not a number with one of the units {units}", parameter, context)
        return number * factor


def unit_of(field: str) -> str | None:
    """The suffix of a field's name, when it is a unit."""
    suffix = field.rpartition("_")[2]
    return suffix if suffix in _UNITS else None


def written(value: float, field: str) -> str:
    """A value with its unit, as the option takes it."""
    unit = unit_of(field)
    return f"{value:g}{_WRITTEN[unit] if unit else ''}"
