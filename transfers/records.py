"""What senders and sinks write down, a line of JSON for each flow, and the two ends of a flow brought together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec


class Sent(msgspec.Struct, frozen=True):
    """One flow as its sender saw it. Times are seconds of the monotonic clock.

    ``asked``: when it was due; ``start``: when it asked for a connection, None when it could not even do that;
    ``connected``: when it had one; ``end``: when the sink had closed it. ``how``: ``done``, ``cut off`` by the end of
    the run, or what went wrong, in the system's words. ``rtt_us``: the smoothed round-trip time at the end.
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
    """One flow as its sink saw it. Times are seconds of the monotonic clock.

    ``first`` and ``last`` byte: None when there was none. ``bins``: bytes in each `transfers.sink.BIN_S` after
    ``accepted``. ``how``: ``done``, ``cut off``, or what went wrong.
    """

    source: str = msgspec.field(name="from")
    port: int
    accepted: float
    how: str
    first: float | None
    last: float | None
    bytes: int
    bins: tuple[int, ...]


class Message(Arrived, frozen=True):
    """One flow of a collective as its receiver saw it; ``number``: of the node in the graph."""

    number: int = msgspec.field()


@dataclass(frozen=True)
class Connection:
    """One flow of a workload: its number, the addresses of its hosts, its source port."""

    number: int
    source: str
    destination: str
    port: int


def sent_by(output: Path) -> list[Sent]:
    """The records of a sender; a last line that it could not finish is left out."""
    return _lines(output, msgspec.json.Decoder(Sent))


def arrived_at(output: Path) -> list[Arrived]:
    """The records of a sink, in the order in which the flows were accepted."""
    return sorted(_lines(output, msgspec.json.Decoder(Arrived)), key=lambda one: one.accepted)


def messages_at(output: Path) -> list[Message]:
    """The records of what a rank received."""
    return _lines(output, msgspec.json.Decoder(Message))


def paired(
    flows: Iterable[Connection], sent: Mapping[int, Sent], arrived: Mapping[str, Sequence[Arrived]]
) -> dict[int, Arrived]:
    """Each flow's record at its sink, by number; ``arrived`` is by the sink's address.

    A source port is used again after a while: the flow that a sink accepted belongs to the last that had asked for a
    connection by then.
    """
    asked = defaultdict(list)
    for flow in flows:
        record = sent.get(flow.number)
        if record is not None and record.start is not None:
            asked[flow.destination, flow.source, flow.port].append((record.start, flow.number))
    found: dict[int, Arrived] = {}
    for sink, records in arrived.items():
        for one in records:
            before = [flow for flow in asked[sink, one.source, one.port] if flow[0] <= one.accepted]
            if before:
                found[max(before)[1]] = one
    return found


def _lines(output: Path, decoder: msgspec.json.Decoder) -> list:  # type: ignore[type-arg]
    found = []
    for line in output.read_bytes().splitlines(keepends=True) if output.exists() else []:
        if line.startswith(b"{") and line.endswith(b"\n"):
            try:
                found.append(decoder.decode(line))
            except msgspec.DecodeError:
                continue  # two lines of a process that was ended while it wrote
    return found
