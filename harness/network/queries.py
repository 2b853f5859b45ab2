"""What the kernel says of ports, queues and TCP connections, asked over netlink in the namespaces of nodes.

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
from typing import Any, NamedTuple

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
_ROOT = 0xFFFF_FFFF
_KIND, _OPTIONS, _STATISTICS, _OF_THE_QUEUE, _SENT = 1, 2, 7, 3, 1
_PARAMETERS, _TBF_RATE64 = 1, 4
_TBF_RATE_AT, _TBF_RATE_END = 8, 12
_RED_FLAGS_AT, _RED_ECN = 15, 1

_GET_LINK = 18
_LINK_BYTES = 16
_NAME, _MTU, _COUNTERS = 3, 4, 23
_DROPPED = struct.Struct("=48xQQ")

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

    def qdiscs(self) -> list[dict[str, Any]]:
        """Every qdisc, as ``tc -s -j qdisc show`` has it, as far as `harness.network.shaping` looks: ``dev``,
        ``kind``, ``root`` or ``parent``, ``drops``, and of ``options`` the ``rate`` (bytes per second) of a bucket,
        the ``limit`` (bytes) of a queue, and whether it does ``ecn``."""
        found = []
        for message in _dump(self._routes, _GET_QDISC, bytes(_QDISC.size)):
            _, port, _, parent, _ = _QDISC.unpack_from(message)
            parts = dict(_attributes(message[_QDISC.size :]))
            kind = bytes(parts[_KIND]).rstrip(b"\0").decode()
            above = {"root": True} if parent == _ROOT else {"parent": f"{parent >> 16:x}:{parent & 0xFFFF:x}"}
            statistics = dict(_attributes(parts.get(_STATISTICS, memoryview(b""))))
            drops = _number(statistics[_OF_THE_QUEUE][8:12]) if _OF_THE_QUEUE in statistics else 0
            options = _options(kind, parts.get(_OPTIONS, memoryview(b"")))
            found.append({"dev": self.names[port], "kind": kind, **above, "drops": drops, "options": options})
        return found

    def links(self) -> list[dict[str, Any]]:
        """Every interface, as ``ip -s -j link`` has it: ``ifname``, ``mtu``, and of ``stats64`` what was dropped."""
        found = []
        for message in _dump(self._routes, _GET_LINK, bytes(_LINK_BYTES)):
            parts = dict(_attributes(message[_LINK_BYTES:]))
            received, sent = _DROPPED.unpack_from(parts[_COUNTERS])
            found.append(
                {
                    "ifname": bytes(parts[_NAME]).rstrip(b"\0").decode(),
                    "mtu": _number(parts[_MTU]),
                    "stats64": {"rx": {"dropped": received}, "tx": {"dropped": sent}},
                }
            )
        return found

    def queued_bytes(self) -> dict[str, int]:
        """What waits in the queue of each port that is limited, by the port's name."""
        return {name: queued for name, (queued, _) in self.queues().items()}

    def queues(self) -> dict[str, tuple[int, int]]:
        """Bytes that wait in the queue of each port that is limited, and that have left it, by the port's name."""
        found = {}
        for message in _dump(self._routes, _GET_QDISC, bytes(_QDISC.size)):
            _, port, _, parent, _ = _QDISC.unpack_from(message)
            if parent != _LEAF_OF_THE_LIMIT:
                continue
            for kind, statistics in _attributes(message[_QDISC.size :]):
                if kind == _STATISTICS:
                    parts = dict(_attributes(statistics))
                    found[self.names[port]] = (
                        _number(parts[_OF_THE_QUEUE][4:8]),
                        _number(parts[_SENT][:8]),
                    )
        return found

    def round_trips(self, destination_port: int) -> list[RoundTrip]:
        """Of every established connection to a port, as far as it has been measured."""
        asked = struct.pack("=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, 1 << (_TCP_INFO - 1), _ESTABLISHED)
        found = []
        for message in _dump(self._connections, _BY_FAMILY, asked):
            source_port, port, _, destination = _ADDRESSES.unpack_from(message)
            if port != destination_port:
                continue
            for kind, info in _attributes(message[_CONNECTION_BYTES:]):
                if kind == _TCP_INFO and (rtt := _number(info[_RTT_AT : _RTT_AT + 4])):
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


def _options(kind: str, data: memoryview) -> dict[str, Any]:
    """Of a qdisc of that kind; none of kinds that are not ours."""
    if kind == "bfifo":
        return {"limit": _number(data[:4])}
    if kind not in ("tbf", "red"):
        return {}
    parts = dict(_attributes(data))
    ours = parts[_PARAMETERS]
    if kind == "tbf":
        return {"rate": _number(parts.get(_TBF_RATE64, ours[_TBF_RATE_AT:_TBF_RATE_END]))}
    return {"limit": _number(ours[:4]), "ecn": bool(ours[_RED_FLAGS_AT] & _RED_ECN)}


def _number(data: memoryview) -> int:
    return int.from_bytes(data, sys.byteorder)


def _padded(length: int) -> int:
    return (length + 3) & ~3
