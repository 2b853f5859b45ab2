"""What the kernel says of queues and of TCP connections, asked over netlink in the namespaces of a network's nodes.

`tc -s` and `ss -i` say the same, but starting them takes longer than the answer, and pyroute2 takes ten times as long
to read it: a network that is being measured has no processor time for that. The layouts are those of
linux/rtnetlink.h, pkt_sched.h, inet_diag.h and tcp.h, which no kernel changes.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_NETLINK_SOCK_DIAG = 4
_CLONE_NEWNET = 0x4000_0000
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_NESTED = 0x3FFF
_ANSWER_BYTES = 1 << 17

_GET_QDISC = 38
_QDISC = struct.Struct("=BxxxiIII")
_LEAF_OF_THE_LIMIT = 0x1_0001
"""``parent 1:1``, where `harness.network.shaping` puts the queue of a port."""
_STATISTICS, _OF_THE_QUEUE = 7, 3

_BY_FAMILY = 20
_TCP_INFO = 2
_ESTABLISHED = 1 << 1
_CONNECTION_BYTES = 72
_ADDRESSES = struct.Struct(">4xHH4s12x4s12x")
_RTT_AT = 68


class RoundTrip(NamedTuple):
    """Of one connection, at the end that sends: the address of the other, both ports, TCP's smoothed round-trip time
    in seconds."""

    destination: str
    source_port: int
    destination_port: int
    rtt_s: float


class Queries:
    """Netlink sockets in the network namespace of a process. Raises OSError where the kernel or a container does not
    allow them; each question does, too, where the kernel cannot answer it."""

    def __init__(self, pid: int) -> None:
        self._opened: list[socket.socket] = []
        failed: list[OSError] = []

        def enter() -> None:
            try:
                with Path(f"/proc/{pid}/ns/net").open("rb") as namespace:
                    libc = ctypes.CDLL(None, use_errno=True)
                    if libc.setns(namespace.fileno(), _CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
                for protocol in (socket.NETLINK_ROUTE, _NETLINK_SOCK_DIAG):
                    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
                    self._opened.append(opened)
                    opened.settimeout(1.0)
                self.names = dict(socket.if_nameindex())
            except OSError as error:
                failed.append(error)

        thread = threading.Thread(target=enter)  # a namespace is a thread's, and this one ends with it
        thread.start()
        thread.join()
        if failed:
            self.close()
            raise failed[0]
        self._routes, self._connections = self._opened

    def close(self) -> None:
        """Close the sockets."""
        for opened in self._opened:
            opened.close()

    def queued_bytes(self) -> dict[str, int]:
        """What waits in the queue of each port that is limited, by the port's name."""
        found = {}
        for message in _dump(self._routes, _GET_QDISC, bytes(_QDISC.size)):
            _, port, _, parent, _ = _QDISC.unpack_from(message)
            if parent != _LEAF_OF_THE_LIMIT:
                continue
            for kind, statistics in _attributes(message[_QDISC.size :]):
                if kind == _STATISTICS:
                    for part, values in _attributes(statistics):
                        if part == _OF_THE_QUEUE:
                            found[self.names[port]] = int.from_bytes(values[4:8], sys.byteorder)
        return found

    def round_trips(self, destination_port: int) -> list[RoundTrip]:
        """Of every established connection to a port, as far as it has been measured."""
        asked = struct.pack(
            "=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, 1 << (_TCP_INFO - 1), _ESTABLISHED
        )
        found = []
        for message in _dump(self._connections, _BY_FAMILY, asked):
            source_port, port, _, destination = _ADDRESSES.unpack_from(message)
            if port != destination_port:
                continue
            for kind, info in _attributes(message[_CONNECTION_BYTES:]):
                if kind == _TCP_INFO and (rtt := int.from_bytes(info[_RTT_AT : _RTT_AT + 4], sys.byteorder)):
                    found.append(RoundTrip(socket.inet_ntoa(destination), source_port, port, rtt * 1e-6))
        return found


def _dump(opened: socket.socket, kind: int, question: bytes) -> Iterator[memoryview]:
    """The messages of the answer to a question, without their headers."""
    opened.send(_HEADER.pack(_HEADER.size + len(question), kind, _REQUEST_DUMP, 0, 0) + question)
    while True:
        answer = memoryview(opened.recv(_ANSWER_BYTES))
        while answer:
            length, what, _, _, _ = _HEADER.unpack_from(answer)
            if what == _DONE:
                return
            if what == _ERROR:
                code = -int.from_bytes(answer[_HEADER.size : _HEADER.size + 4], sys.byteorder, signed=True)
                raise OSError(code, os.strerror(code))
            yield answer[_HEADER.size : length]
            answer = answer[_padded(length) :]


def _attributes(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """(kind, value) of each netlink attribute."""
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        yield kind & _NESTED, data[_ATTRIBUTE.size : length]
        data = data[_padded(length) :]


def _padded(length: int) -> int:
    return (length + 3) & ~3
