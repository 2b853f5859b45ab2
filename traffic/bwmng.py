"""bwm-ng: the command that samples interfaces once a second, and its CSV.

Versions 0.6.1 to 0.6.3 write one line per interface and sample, with ``time;interface;bytes out per
second;bytes in per second;...`` first. 0.6.1 counts time in whole seconds and has 16 columns, 0.6.3 has
fractions and appends columns up to 21. A row ``total`` ends each sample. bwm-ng sees the interfaces of its
own network namespace only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath

import numpy as np

from topos.arrays import Float64

_TOTAL = "total"
_MIN_COLUMNS = 16


def sample_command(interfaces: Iterable[str], output: str | PathLike[str]) -> list[str]:
    """Append a sample of exactly these interfaces to ``output`` once a second, until SIGTERM.

    Stop it with SIGTERM or SIGINT: 0.6.1 writes what it has buffered only then. No configuration file of the
    machine or the user is read.
    """
    # -a 0: interfaces of the list and no other. The list holds exact names, there are no patterns in it.
    command = ["bwm-ng", "-i", "proc", "-o", "csv", "-C", ";", "-T", "rate", "-u", "bytes", "-t", "1000"]
    return [*command, "-a", "0", "-I", ",".join(interfaces), "-F", fspath(output), "/dev/null"]


@dataclass(frozen=True, eq=False)
class Series:
    """Samples of one interface, arrays of shape (samples,).

    ``t``: end of each sample's second, in seconds since the epoch. ``out_mbps``, ``in_mbps``: Mb/s (10^6
    bit/s) that left and entered the interface, Ethernet headers included. Out of a switch's port is into its
    host.
    """

    t: Float64
    out_mbps: Float64
    in_mbps: Float64


def parse_samples(text: str) -> dict[str, Series]:
    """The samples by interface, in the order in which bwm-ng names them.

    The first sample of each interface is left out: no time has passed before it and its rates are 0. So are
    the ``total`` rows, and a last line without its line end, which was cut off. Raises ValueError, naming the
    line, for a line that is not bwm-ng's.
    """
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), start=1):
        columns = line.split(";")
        try:
            if len(columns) < _MIN_COLUMNS:
                raise ValueError("too few columns")
            sample = (float(columns[0]), float(columns[2]) * 8e-6, float(columns[3]) * 8e-6)
            if not all(map(math.isfinite, sample)):
                raise ValueError("no number")
        except ValueError:
            raise ValueError(f"line {number} is not a bwm-ng sample: {line[:80]!r}") from None
        if columns[1] != _TOTAL:
            rows.setdefault(columns[1], []).append(sample)
    series = {}
    for interface, samples in rows.items():
        t, out_mbps, in_mbps = np.array(samples[1:], dtype=np.float64).reshape(-1, 3).T
        series[interface] = Series(t, out_mbps, in_mbps)
    return series
