"""What the kernel says of ports, queues and TCP connections, asked over netlink in the namespaces of nodes.

`tc -s` and `ss -i` say the same, but starting them takes longer than the answer, and pyroute2 takes ten times as long
to read it: a network that is being measured has no processor time for that. The layouts are those of
linux/rtnetlink.h, pkt_sched.h, inet_diag.h, tcp.h and genetlink.h, which no kernel changes.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

from harness.network.namespaces import inside

PATIENCE_S = 10.0
"""Asked for a family, the kernel looks for its module first, and loads it."""
_GENERIC, _SOCK_DIAG = 16, 4
_REQUEST, _DUMP = 0x1, 0x300
_ERROR, _DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_NESTED = 0x3FFF
_ANSWER_BYTES = 1 << 17

_CONTROL, _GET_FAMILY, _FAMILY_NAME = 16, 3, 2

_GET_QDISC = 38
_QDISC = struct.Struct("=BxxxiIII")
_ROOT = 0xFFFF_FFFF
_KIND, _OPTIONS, _STATISTICS, _OF_THE_QUEUE, _SENT = 1, 2, 7, 3, 1
_PARAMETERS, _TBF_RATE64 = 1, 4
_TBF_RATE_AT, _TBF_RATE_END = 8, 12
_RED_FLAGS_AT, _RED_ECN = 15, 1

_GET_LINK = 18
_LINK_BYTES = 16
_NAME, _COUNTERS = 3, 23
_DROPPED = struct.Struct("=48xQQ")

_BY_FAMILY = 20
_TCP_INFO = 2
_ESTABLISHED = 1 << 1
_CONNECTION_BYTES = 72
_PORT = struct.Struct(">6xH")
_RTT_AT = 68


class Qdisc(NamedTuple):
    """A port's qdisc: below which other (``1:1``; empty for the root), packets dropped, bytes that wait and that have
    left; of a bucket its rate in bytes per second, of a queue its limit in bytes and whether it marks (ECN)."""

    port: str
    kind: str
    parent: str
    drops: int
    queued: int
    sent: int
    rate: int = 0
    limit: int = 0
    ecn: bool = False


class Link(NamedTuple):
    """An interface, and packets dropped outside its queue."""

    name: str
    dropped: int


class Netlink:
    """Netlink sockets in a namespace that we hold. Raises OSError where the kernel or a container does not allow
    them; each question does, too, where the kernel cannot answer it."""

    def __init__(self, namespace: int) -> None:
        self._routes, self._connections = inside(
            namespace, lambda: (_opened(socket.NETLINK_ROUTE), _opened(_SOCK_DIAG))
        )
        self._names = dict(inside(namespace, socket.if_nameindex))

    def close(self) -> None:
        self._routes.close()
        self._connections.close()

    def qdiscs(self) -> list[Qdisc]:
        found = []
        for message in _dump(self._routes, _GET_QDISC, bytes(_QDISC.size)):
            _, port, _, parent, _ = _QDISC.unpack_from(message)
            parts = dict(_attributes(message[_QDISC.size :]))
            kind = bytes(parts[_KIND]).rstrip(b"\0").decode()
            statistics = dict(_attributes(parts.get(_STATISTICS, memoryview(b""))))
            queue = statistics.get(_OF_THE_QUEUE, memoryview(bytes(12)))
            sent = statistics.get(_SENT, memoryview(bytes(8)))
            above = "" if parent == _ROOT else f"{parent >> 16:x}:{parent & 0xFFFF:x}"
            counts = _number(queue[8:12]), _number(queue[4:8]), _number(sent[:8])
            found.append(Qdisc(self._names[port], kind, above, *counts, *_options(kind, parts.get(_OPTIONS))))
        return found

    def links(self) -> list[Link]:
        found = []
        for message in _dump(self._routes, _GET_LINK, bytes(_LINK_BYTES)):
            parts = dict(_attributes(message[_LINK_BYTES:]))
            name = bytes(parts[_NAME]).rstrip(b"\0").decode()
            found.append(Link(name, sum(_DROPPED.unpack_from(parts[_COUNTERS]))))
        return found

    def round_trips(self, destination_port: int) -> list[float]:
        """TCP's smoothed round-trip time, in seconds, of every established connection to a port, where measured."""
        asked = struct.pack("=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, 1 << (_TCP_INFO - 1), _ESTABLISHED)
        found = []
        for message in _dump(self._connections, _BY_FAMILY, asked):
            if _PORT.unpack_from(message) == (destination_port,):
                info = dict(_attributes(message[_CONNECTION_BYTES:])).get(_TCP_INFO, memoryview(b""))
                if rtt := _number(info[_RTT_AT : _RTT_AT + 4]):
                    found.append(rtt * 1e-6)
        return found


def has_family(name: str) -> bool:
    """Whether the kernel has a generic netlink family now, be it built in or in a module, which asking loads.

    OSError when the kernel does not answer.
    """
    text = name.encode() + b"\0"
    attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(text), _FAMILY_NAME) + text + bytes(-len(text) % 4)
    body = struct.pack("=BBxx", _GET_FAMILY, 1) + attribute
    with _opened(_GENERIC, PATIENCE_S) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(body), _CONTROL, _REQUEST, 1, 0) + body)
        answer = memoryview(kernel.recv(_ANSWER_BYTES))
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    if kind == _ERROR and (error := _error_in(answer)).errno != errno.ENOENT:
        raise error
    return bool(kind != _ERROR)


def _opened(protocol: int, patience_s: float = 1.0) -> socket.socket:
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
    opened.settimeout(patience_s)
    return opened


def _dump(opened: socket.socket, kind: int, question: bytes) -> Iterator[memoryview]:
    """The messages of the answer to a question, without their headers."""
    opened.send(_HEADER.pack(_HEADER.size + len(question), kind, _REQUEST | _DUMP, 0, 0) + question)
    while True:
        answer = memoryview(opened.recv(_ANSWER_BYTES))
        while answer:
            length, what, _, _, _ = _HEADER.unpack_from(answer)
            if what == _DONE:
                return
            if what == _ERROR:
                raise _error_in(answer)
            yield answer[_HEADER.size : length]
            answer = answer[_padded(length) :]


def _error_in(answer: memoryview) -> OSError:
    code = -int.from_bytes(answer[_HEADER.size : _HEADER.size + 4], sys.byteorder, signed=True)
    return OSError(code, os.strerror(code))


def _attributes(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """(kind, value) of each netlink attribute."""
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        yield kind & _NESTED, data[_ATTRIBUTE.size : length]
        data = data[_padded(length) :]


def _options(kind: str, data: memoryview | None) -> tuple[int, int, bool]:
    """Rate, limit and marking of a qdisc of a kind that is ours; of others nothing."""
    if data is None or kind not in ("bfifo", "tbf", "red"):
        return 0, 0, False
    if kind == "bfifo":
        return 0, _number(data[:4]), False
    parts = dict(_attributes(data))
    ours = parts[_PARAMETERS]
    if kind == "tbf":
        return _number(parts.get(_TBF_RATE64, ours[_TBF_RATE_AT:_TBF_RATE_END])), 0, False
    return 0, _number(ours[:4]), bool(ours[_RED_FLAGS_AT] & _RED_ECN)


def _number(data: memoryview) -> int:
    return int.from_bytes(data, sys.byteorder)


def _padded(length: int) -> int:
    return (length + 3) & ~3
