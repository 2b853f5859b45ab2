"""The programs that make and measure traffic: their command lines as argument lists, and what their CSV says.

iperf 2, tried on 2.0.13, 2.1.5, 2.1.8, 2.1.9 and 2.2.1 (Ubuntu 20.04, 22.04, Debian 12, Ubuntu 24.04, Debian 13).
Believe the server's report: at 10 Mb/s a client can be seconds ahead of the network, as far as its socket buffer
reaches. And look for every flow by its source port: a client that cannot connect exits with status 0, and one whose
source port is still in use says "bind failed" and then sends from another port.

Servers are asked for enhanced reports (-e), for the sake of the fractions of a second in their time stamps: a client
may begin to send seconds after it was started. 2.1.8 then writes the same nine columns, 2.1.9 more after
them, 2.2.1 more and other ones.

bwm-ng samples interfaces once a second. Versions 0.6.1 to 0.6.3 write one line per interface and sample, with
``time;interface;bytes out per second;bytes in per second;...`` first. 0.6.1 counts time in whole seconds and has 16
columns, 0.6.3 has fractions and appends columns up to 21. A row ``total`` ends each sample. bwm-ng sees the
interfaces of its own network namespace only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from os import PathLike, fspath

import numpy as np

from topos.arrays import Float64
from traffic.flows import SERVER_PORT

_FIELDS = 9  # time, two addresses with their ports, connection, interval, bytes, bit/s
_ENHANCED_FIELDS = 10  # at least, in 2.1.9 and 2.2: more columns follow; in 2.2 the interval's ends are two
_TIME = re.compile(r"(?:([+-])(\d\d)(\d\d):)?(\d{14})(\.\d+)?", re.ASCII)


def make_server_command(port: int = SERVER_PORT) -> list[str]:
    """Listen for TCP connections and report each second of each as a CSV line.

    Run it with the time zone UTC: before 2.2 the time stamps do not say theirs.
    """
    return ["iperf", "-s", "-p", str(port), "-i", "1", "-y", "C", "-e"]


def make_client_command(server: str, source: tuple[str, int], seconds: float, port: int = SERVER_PORT) -> list[str]:
    """Send to ``server`` (an address) from ``source`` (address, port) for a time."""
    ends = ["-c", server, "-p", str(port), "-B", f"{source[0]}:{source[1]}"]
    return ["iperf", *ends, "-t", f"{seconds:g}", "-i", "1", "-y", "C"]


STAMP_S = 1e-3
"""A stamp tells whole milliseconds: it may be so much before what it is of."""


@dataclass(frozen=True)
class Interval:
    """What one report line covers: seconds since the flow began, bytes, and iperf's own rate in bit/s.

    ``stamp``: when the line was written, seconds since the epoch; None unless it is told in fractions of a second.
    """

    start_s: float
    end_s: float
    bytes: int
    bits_per_s: float
    stamp: float | None = None


@dataclass(frozen=True)
class FlowReport:
    """One flow as one end saw it.

    ``intervals`` are the per-second lines; ``total`` is the line iperf writes when the flow has ended, None
    when it was still running. A flow shorter than a second has a total alone.
    """

    source: str
    source_port: int
    destination: str
    intervals: tuple[Interval, ...]
    total: Interval | None

    @property
    def mbps(self) -> float:
        """Mean rate of the whole flow in Mb/s, 10^6 bit/s."""
        if self.total is not None:
            return self.total.bits_per_s / 1e6
        seconds = self.intervals[-1].end_s
        return sum(interval.bytes for interval in self.intervals) * 8e-6 / seconds if seconds > 0 else 0.0

    def began(self, started: float) -> float:
        """When the flow began (seconds since the epoch), whose client was started at ``started``.

        A whole second's line tells: 2.1.8 and 2.2.1 stamp it with the end of the second after it. A version that
        stamped it with its own end would make a flow begin before its client. Without such a line it is ``started``.
        (The line of the whole flow does not tell: its stamp is that of another line, or of nothing in particular.)
        """
        if not self.intervals or self.intervals[0].stamp is None:
            return started
        began = self.intervals[0].stamp - self.intervals[0].end_s
        return began - 1 if began - 1 > started - STAMP_S else began

    @property
    def per_second_mbps(self) -> tuple[float, ...]:
        """Rate in Mb/s of each whole second since the flow began."""
        return tuple(interval.bits_per_s / 1e6 for interval in self.intervals)


def parse_report(text: str, port: int = SERVER_PORT) -> dict[tuple[str, int], FlowReport]:
    """The flows of a server's or a client's CSV report, by source address and source port.

    ``port`` is the server's, which tells the two ends apart: iperf 2.0.13 names the local end first, 2.1
    always the client. Lines that sum over flows, and lines of anything else (warnings, "connect failed: Connection
    refused"), are skipped, and so is a last line without its line end, which was cut off when the process was killed.
    """
    lines: dict[tuple[str, int, str], list[Interval]] = {}
    for line in text[: text.rfind("\n") + 1].splitlines():
        try:
            flow, interval = _parse_row(line.split(","), port)
        except ValueError:
            continue
        lines.setdefault(flow, []).append(interval)
    return {flow[:2]: _make_report(*flow, intervals) for flow, intervals in lines.items()}


def _parse_row(fields: list[str], port: int) -> tuple[tuple[str, int, str], Interval]:
    """One flow's line, or ValueError."""
    if len(fields) == _FIELDS or (len(fields) > _ENHANCED_FIELDS and "-" in fields[6]):
        stamp, address, address_port, other, other_port, connection, span, size, rate = fields[:_FIELDS]
        start, end = span.split("-")
    elif len(fields) > _ENHANCED_FIELDS:
        stamp, address, address_port, other, other_port, connection, start, end, size, rate = fields[:10]
    else:
        raise ValueError(fields)
    interval = Interval(float(start), float(end), int(size), float(rate), _parse_moment(stamp))
    numbers = (interval.start_s, interval.end_s, interval.bits_per_s)
    if int(connection) < 0 or not all(map(math.isfinite, numbers)):
        raise ValueError(fields)
    # Not by the order of the two ends, which versions of iperf have differently: the server's port tells them apart.
    if int(other_port) == port:
        return (address, int(address_port), other), interval
    if int(address_port) == port:
        return (other, int(other_port), address), interval
    raise ValueError(fields)


def _parse_moment(stamp: str) -> float | None:
    """A time stamp as seconds since the epoch, in UTC unless it says otherwise; None when it has no fractions."""
    match = _TIME.fullmatch(stamp)
    if match is None:
        raise ValueError(stamp)
    sign, hours, minutes, digits, fraction = match.groups()
    if fraction is None:
        return None
    east = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    whole = datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc) - east
    return whole.timestamp() + float(fraction)


def _make_report(source: str, source_port: int, destination: str, lines: list[Interval]) -> FlowReport:
    # The line of the whole flow comes last and starts at 0 again. It cannot be told from the first second by
    # its own looks: a flow of one second has two lines "0.0-1.0".
    last = lines[-1]
    if last.start_s == 0 and (len(lines) > 1 or last.end_s < 1):
        return FlowReport(source, source_port, destination, tuple(lines[:-1]), last)
    return FlowReport(source, source_port, destination, tuple(lines), None)


_TOTAL = "total"
_MIN_COLUMNS = 16


def sample_command(others: Iterable[str], output: str | PathLike[str]) -> list[str]:
    """Append a sample of each interface but ``others`` to ``output`` once a second, until SIGTERM. (The names of all
    that are wanted may be longer than an argument may be.)

    Stop it with SIGTERM or SIGINT: 0.6.1 writes what it has buffered only then. No configuration file of the
    machine or the user is read.
    """
    # The list holds exact names, there are no patterns in it. -a 0: it holds for interfaces that are down, too.
    command = ["bwm-ng", "-i", "proc", "-o", "csv", "-C", ";", "-T", "rate", "-u", "bytes", "-t", "1000"]
    return [*command, "-a", "0", "-I", "%" + ",".join(others), "-F", fspath(output), "/dev/null"]


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

    The ``total`` rows are skipped, and so is a last line without its line end, which was cut off. Raises ValueError,
    naming the line, for a line that is not bwm-ng's.
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
        # No time has passed before an interface's first sample, and its rates are 0.
        t, out_mbps, in_mbps = np.array(samples[1:], dtype=np.float64).reshape(-1, 3).T
        series[interface] = Series(t, out_mbps, in_mbps)
    return series
