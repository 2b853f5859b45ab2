"""What the hosts' programs write down of each flow, at both its ends. Times are seconds of the monotonic clock."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec


class Sent(msgspec.Struct, frozen=True):
    """One flow as its sender saw it.

    ``asked``: when it was due; ``start``: when it asked for a connection, or was first written to one that stood, None
    when it could not even do that; ``connected``: when it had one of its own; ``end``: when the receiver had confirmed
    it. ``how``: ``done``, ``cut off`` by the end of the run, or what went wrong, in the system's words. ``rtt_us``:
    the smoothed round-trip time at the end.
    """

    number: int
    asked: float
    start: float | None
    connected: float | None
    end: float
    how: str
    retransmissions: int
    rtt_us: int


class Arrived(msgspec.Struct, frozen=True):
    """One flow as its receiver saw it: its ``first`` and ``last`` byte, and ``bins``, the bytes in each
    `harness.hosts.connections.BIN_S` after ``accepted``. ``how``: ``done``, ``cut off``, or what went wrong."""

    number: int
    how: str
    accepted: float
    first: float
    last: float
    bytes: int
    bins: tuple[int, ...]


class _Line(msgspec.Struct):
    sent: Sent | None = None
    arrived: Arrived | None = None


def read(outputs: Iterable[Path]) -> tuple[dict[int, Sent], dict[int, Arrived]]:
    """The records of both ends by the flows' numbers; what is no line of a record is left out."""
    sent, arrived = {}, {}
    decoder = msgspec.json.Decoder(_Line)
    for output in outputs:
        for line in output.read_bytes().splitlines(keepends=True) if output.exists() else ():
            if line.startswith(b"{") and line.endswith(b"\n"):
                try:
                    found = decoder.decode(line)
                except msgspec.DecodeError:
                    continue  # of a process that was ended while it wrote
                if found.sent is not None:
                    sent[found.sent.number] = found.sent
                if found.arrived is not None:
                    arrived[found.arrived.number] = found.arrived
    return sent, arrived
