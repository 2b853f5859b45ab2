"""What the kernel says of ports, queues and TCP connections, and is told of ports, in the namespaces of nodes; and who
holds those namespaces.

`tc`, `ip`, `ethtool` and `ss` say the same, but starting them takes longer than the answer, and pyroute2 takes ten
times as long to read it: a network that is being measured has no processor time for that. The layouts are those of
linux/rtnetlink.h, pkt_sched.h, inet_diag.h, tcp.h, genetlink.h and ethtool.h, which no kernel changes, and of our
guests' eport.h and hull_pacer.h (virtual/kernel/patches).
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

# The kernel looks for a family's module first, and loads it from a disk that may be busy.
PATIENCE_S = 10.0
"""The kernel may take so long to answer whether it has a family."""
_GENERIC, _SOCK_DIAG = 16, 4
_REQUEST, _ACKNOWLEDGE, _DUMP, _REPLACE, _NEW = 0x1, 0x4, 0x300, 0x500, 0x600
_ERROR, _DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_IS_NESTED, _NESTED = 0x8000, 0x3FFF
_ANSWER_BYTES = 1 << 17

_CONTROL, _GET_FAMILY, _FAMILY_NAME = 16, 3, 2

_NEW_QDISC, _GET_QDISC = 36, 38
_QDISC = struct.Struct("=BxxxiIII")
_ROOT = 0xFFFF_FFFF
_KIND, _OPTIONS, _STATISTICS, _OF_THE_QUEUE, _SENT = 1, 2, 7, 3, 1
_PARAMETERS, _TBF_RATE64, _TBF_BURST = 1, 4, 6
_TBF_RATE_AT, _TBF_RATE_END = 8, 12
_RED_FLAGS_AT, _RED_ECN = 15, 1
_NETEM_BYTES, _NETEM_DELAY_NS = 24, 10

_NEW_LINK, _GET_LINK = 16, 18
_LINK = struct.Struct("=BxHiII")
_HARDWARE_ADDRESS, _NAME, _MTU, _LINK_INFO, _NAMESPACE_OF, _COUNTERS = 1, 3, 4, 18, 19, 23
_SEGMENTS = 40
_DROPPED, _SENT_BYTES = struct.Struct("=48xQQ"), struct.Struct("=24xQ")
_COUNTED, _PEER = 3, 1
_RATE, _LIMIT, _DELAY, _MARK_MIN, _MARK_MAX, _DRAIN, _PHANTOM = 2, 3, 4, 5, 6, 7, 8
_EPORT_COUNTERS = struct.Struct("=QQQQQ")
VETH, EPORT = "veth", "eport"
"""Kinds of devices that come in pairs. The first is Linux's. The second is of our guests' kernel, and has a rate and a
queue of its own."""

_PACER_WIDE, _PACER_LAST = (7, 8, 9), 9
_PACER_COUNTERS, _STATISTICS_OF_ITS_OWN = struct.Struct("=10Q"), 4
PACER = "hull_pacer"
"""The qdisc of our guests that paces as HULL does."""

_NEW_ADDRESS, _ADDRESS, _OUR_ADDRESS = 20, 1, 2
_NEW_NEIGHBOUR, _TO, _AT, _PERMANENT = 28, 1, 2, 0x80
LOOPBACK = 1
"""The index of `lo` in every namespace."""
# The kernel's buffer for a socket has room for 208 KiB, and a message has some 150 bytes at most. Only the last of them
# asks for an answer: the kernel answers at once where it refuses one.
MESSAGES = 1000
"""So many messages are sent to the kernel at once."""
_ETHTOOL = 0x8946
OFFLOADS = {"tx": 0x17, "sg": 0x19, "tso": 0x1F, "gso": 0x24}
"""The names that ethtool has for offloads, and the numbers by which the kernel is told to set them."""

_BY_FAMILY = 20
_TCP_INFO = 2
_ESTABLISHED = 1 << 1
_CONNECTION_BYTES = 72
_PORT = struct.Struct(">6xH")
_RTT_AT, _WINDOW_AT = 68, 80
_FROM_PORT, _TO_AT = struct.Struct(">4xH"), 24


class Qdisc(NamedTuple):
    """A port's qdisc: below which other (``1:1``; empty for the root), packets dropped, bytes that wait and that have
    left; of a bucket its rate in bytes per second, of a queue its limit in bytes and whether it marks (ECN), of netem
    its delay in ns."""

    port: str
    kind: str
    parent: str
    drops: int
    queued: int
    sent: int
    rate: int = 0
    limit: int = 0
    ecn: bool = False
    delay_ns: int = 0


class Eport(NamedTuple):
    """What a port of our guests' kernel was told, and counts: bytes per second; bytes of its queue, which marks some
    packets from ``mark_min`` on and all from ``mark_max`` on (0: none); ns of its cable; a phantom queue's ``drain`` in
    bytes per second, and the bytes above which it marks (0: there is none). It counts bytes that wait, packets dropped
    for want of room, packets marked by the queue and by the phantom queue, bytes that waited times ns (without the
    packet that is being sent), bytes that have left."""

    name: str
    rate: int
    limit: int
    mark_min: int = 0
    mark_max: int = 0
    delay_ns: int = 0
    drain: int = 0
    phantom: int = 0
    queued: int = 0
    drops: int = 0
    marked: int = 0
    phantom_marked: int = 0
    waited: int = 0
    sent: int = 0


class Pacer(NamedTuple):
    """What a pacer is told, in the order and the units of our guests' hull_pacer.h: packets that may wait; bytes of its
    bucket; the weight of a new rate (of 2^32); beta (of 2^16 per second); the time between two rates, ns; the
    probability that an echo associates its flow (of 2^32), and for how long, ns; its first rate, and that of the link
    if it is behind the host's queue (0: in front), bytes per second."""

    limit: int
    depth: int
    eta: int
    beta: int
    period_ns: int
    associate: int
    lasts_ns: int
    rate: int
    link: int = 0


class Paced(NamedTuple):
    """What a pacer counts, of which port: bytes that wait in it, for tokens or for the link; its rate R in bytes per
    second; bytes of tokens, bytes that wait for them (Q)
    and bytes that came since the last new rate (M); new rates; packets that passed and that waited for tokens; ACKs
    that echo a mark, those that associated their flow, and of these those of a flow that was not associated."""

    port: str
    settings: Pacer
    queued: int
    rate: int
    tokens: int
    held: int
    counted: int
    updates: int
    passed: int
    paced: int
    echoes: int
    associations: int
    begun: int


class Link(NamedTuple):
    """An interface, and packets dropped outside its queue."""

    name: str
    dropped: int


class Connection(NamedTuple):
    """A TCP connection: its own port, the other's address, its smoothed round-trip time and congestion window."""

    port: int
    to: str
    rtt_s: float
    window_segments: int


class Netlink:
    """Netlink sockets in a namespace that we hold. Raises OSError where the kernel or a container does not allow
    them; each question does, too, where the kernel cannot answer it."""

    def __init__(self, namespace: int) -> None:
        self._routes, self._connections = call_inside(
            namespace, lambda: (_open_socket(socket.NETLINK_ROUTE), _open_socket(_SOCK_DIAG))
        )
        self._names = dict(call_inside(namespace, socket.if_nameindex))

    def close(self) -> None:
        self._routes.close()
        self._connections.close()

    def qdiscs(self) -> list[Qdisc]:
        qdiscs = []
        for message in _dump(self._routes, _GET_QDISC, bytes(_QDISC.size)):
            _, port, _, parent, _ = _QDISC.unpack_from(message)
            parts = dict(_read_attributes(message[_QDISC.size :]))
            kind = _decode_text(parts[_KIND])
            statistics = dict(_read_attributes(parts.get(_STATISTICS, memoryview(b""))))
            queue = statistics.get(_OF_THE_QUEUE, memoryview(bytes(12)))
            sent = statistics.get(_SENT, memoryview(bytes(8)))
            above = "" if parent == _ROOT else f"{parent >> 16:x}:{parent & 0xFFFF:x}"
            counts = _decode_number(queue[8:12]), _decode_number(queue[4:8]), _decode_number(sent[:8])
            qdiscs.append(
                Qdisc(self._names[port], kind, above, *counts)._replace(**_read_options(kind, parts.get(_OPTIONS)))
            )
        return qdiscs

    def pacers(self) -> list[Paced]:
        paced = []
        for message in _dump(self._routes, _GET_QDISC, bytes(_QDISC.size)):
            parts = dict(_read_attributes(message[_QDISC.size :]))
            if _decode_text(parts[_KIND]) == PACER:
                attributes = dict(_read_attributes(parts[_OPTIONS]))
                counted = dict(_read_attributes(parts[_STATISTICS]))
                port, waits = self._names[_QDISC.unpack_from(message)[1]], _decode_number(counted[_OF_THE_QUEUE][4:8])
                values = (_decode_number(attributes[number]) for number in range(1, _PACER_LAST + 1))
                of_its_own = _PACER_COUNTERS.unpack_from(counted[_STATISTICS_OF_ITS_OWN])
                paced.append(Paced(port, Pacer(*values), waits, *of_its_own))
        return paced

    def links(self) -> list[Link]:
        return [
            Link(_decode_text(parts[_NAME]), sum(_DROPPED.unpack_from(parts[_COUNTERS])))
            for parts in self._dump_links()
        ]

    def eports(self) -> list[Eport]:
        ports = []
        for parts in self._dump_links():
            device = dict(_read_attributes(parts.get(_LINK_INFO, memoryview(b""))))
            if _KIND in device and _decode_text(device[_KIND]) == EPORT:
                attributes = dict(_read_attributes(device[_OPTIONS]))
                order = (_RATE, _LIMIT, _MARK_MIN, _MARK_MAX, _DELAY, _DRAIN, _PHANTOM)
                shape = (_decode_number(attributes[attribute]) for attribute in order)
                counted = (*_EPORT_COUNTERS.unpack_from(device[_COUNTED]), *_SENT_BYTES.unpack_from(parts[_COUNTERS]))
                ports.append(Eport(_decode_text(parts[_NAME]), *shape, *counted))
        return ports

    def _dump_links(self) -> Iterator[dict[int, memoryview]]:
        for message in _dump(self._routes, _GET_LINK, bytes(_LINK.size)):
            yield dict(_read_attributes(message[_LINK.size :]))

    def connections(self, destination_port: int) -> list[Connection]:
        """Every established connection to a port whose round-trip time is measured."""
        question = struct.pack("=BBBxI48x", socket.AF_INET, socket.IPPROTO_TCP, 1 << (_TCP_INFO - 1), _ESTABLISHED)
        connections = []
        for message in _dump(self._connections, _BY_FAMILY, question):
            if _PORT.unpack_from(message) == (destination_port,):
                info = dict(_read_attributes(message[_CONNECTION_BYTES:])).get(_TCP_INFO, memoryview(b""))
                if rtt_us := _decode_number(info[_RTT_AT : _RTT_AT + 4]):
                    (port,), to = _FROM_PORT.unpack_from(message), socket.inet_ntoa(message[_TO_AT : _TO_AT + 4])
                    window = _decode_number(info[_WINDOW_AT : _WINDOW_AT + 4])
                    connections.append(Connection(port, to, rtt_us * 1e-6, window))
        return connections


def index_of(interface: str, namespace: int) -> int:
    return call_inside(namespace, partial(socket.if_nametoindex, interface))


def send(namespace: int | None, messages: Sequence[bytes]) -> None:
    """Send messages to the kernel in a namespace (None: our own). Raises OSError for the first thing that it
    refuses."""
    with call_inside(namespace, partial(_open_socket, socket.NETLINK_ROUTE)) as opened:
        for first in range(0, len(messages), MESSAGES):
            *some, last = messages[first : first + MESSAGES]
            length, kind, flags, _, _ = _HEADER.unpack_from(last)
            last = _HEADER.pack(length, kind, flags | _ACKNOWLEDGE, 0, 0) + last[_HEADER.size :]
            opened.send(b"".join([*some, last]))
            if error := _read_error(memoryview(opened.recv(_ANSWER_BYTES))).errno:
                raise OSError(error, os.strerror(error))


def _make_message(kind: int, flags: int, body: bytes, *attributes: tuple[int, bytes]) -> bytes:
    body += b"".join(_make_attribute(*attribute) for attribute in attributes)
    return _HEADER.pack(_HEADER.size + len(body), kind, _REQUEST | flags, 0, 0) + body


def _make_attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def make_pair(kind: str, ends: Sequence[tuple[str, int]], mtu: int) -> bytes:
    """A cable of a kind: the names of its two ends, and the namespaces that they are to be in."""
    this_end, other_end = (
        b"".join(
            _make_attribute(*attribute)
            for attribute in (
                (_NAME, name.encode() + b"\0"), (_MTU, struct.pack("=I", mtu)),
                (_NAMESPACE_OF, struct.pack("=I", namespace)),
            )
        )
        for name, namespace in ends
    )  # fmt: skip
    device = _make_attribute(_KIND, kind.encode()) + _make_attribute(
        _OPTIONS, _make_attribute(_PEER, bytes(_LINK.size) + other_end)
    )
    return _make_message(_NEW_LINK, _NEW, bytes(_LINK.size) + this_end, (_LINK_INFO, device))


def has_kind(kind: str) -> bool:
    """Whether the kernel has devices of a kind that come in pairs. It is asked to make one without its other end, which
    it refuses with another error where it knows the kind."""
    try:
        send(
            None,
            [_make_message(_NEW_LINK, _NEW, bytes(_LINK.size), (_LINK_INFO, _make_attribute(_KIND, kind.encode())))],
        )
    except OSError as error:
        return error.errno == errno.EINVAL
    return True


def shape(index: int, port: Eport) -> bytes:
    """Tell a port its rate, its queue and its cable."""
    wide = ((_RATE, port.rate), (_DELAY, port.delay_ns), (_DRAIN, port.drain))
    narrow = (
        (_LIMIT, port.limit), (_MARK_MIN, port.mark_min), (_MARK_MAX, port.mark_max), (_PHANTOM, port.phantom),
    )  # fmt: skip
    attributes = [(attribute, struct.pack("=Q", value)) for attribute, value in wide if value]
    attributes += [(attribute, struct.pack("=I", value)) for attribute, value in narrow if value]
    device = _make_attribute(_KIND, EPORT.encode()) + _make_attribute(
        _OPTIONS, b"".join(_make_attribute(*attribute) for attribute in attributes)
    )
    return _make_message(_NEW_LINK, 0, _LINK.pack(0, 0, index, 0, 0), (_LINK_INFO, device))


def set_up(index: int) -> bytes:
    return _make_message(_NEW_LINK, 0, _LINK.pack(0, 0, index, 1, 1))


def set_hardware_address(index: int, mac: str) -> bytes:
    return _make_message(_NEW_LINK, 0, _LINK.pack(0, 0, index, 0, 0), (_HARDWARE_ADDRESS, _encode_mac(mac)))


def limit_segments(index: int, most: int) -> bytes:
    """So many segments at most TCP hands an interface as one packet. Since Linux 4.17 it does so whatever
    `switch_offload` says, and they are cut up behind the interface's qdisc."""
    return _make_message(_NEW_LINK, 0, _LINK.pack(0, 0, index, 0, 0), (_SEGMENTS, struct.pack("=I", most)))


def add_address(index: int, ip: str, prefix: int) -> bytes:
    packed = socket.inet_aton(ip)
    body = struct.pack("=BBBBi", socket.AF_INET, prefix, 0, 0, index)
    return _make_message(_NEW_ADDRESS, _NEW, body, (_OUR_ADDRESS, packed), (_ADDRESS, packed))


def add_neighbour(index: int, ip: str, mac: str) -> bytes:
    body = struct.pack("=BxxxiHBB", socket.AF_INET, index, _PERMANENT, 0, 0)
    return _make_message(_NEW_NEIGHBOUR, _NEW, body, (_TO, socket.inet_aton(ip)), (_AT, _encode_mac(mac)))


def _encode_mac(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def limit(index: int, rate: int, burst: int, queue: int) -> list[bytes]:
    """A token bucket of ``rate`` bytes per second and ``burst`` bytes as the interface's qdisc, in place of what there
    is, and below it a FIFO of ``queue`` bytes."""
    ethernet = struct.pack("=BBHhHI", 0, 1, 0, 0, 0, min(rate, 0xFFFF_FFFF))
    options = _make_attribute(_PARAMETERS, ethernet + bytes(12) + struct.pack("=III", queue, 0, 0))
    options += _make_attribute(_TBF_BURST, struct.pack("=I", burst))
    if rate > 0xFFFF_FFFF:
        options += _make_attribute(_TBF_RATE64, struct.pack("=Q", rate))
    bucket, fifo = (_QDISC.pack(0, index, handle << 16, above, 0) for handle, above in ((1, _ROOT), (0x10, 0x10001)))
    return [
        _make_message(_NEW_QDISC, _REPLACE, bucket, (_KIND, b"tbf\0"), (_OPTIONS, options)),
        _make_message(_NEW_QDISC, _REPLACE, fifo, (_KIND, b"bfifo\0"), (_OPTIONS, struct.pack("=I", queue))),
    ]


def add_pacer(index: int, settings: Pacer) -> bytes:
    """Pace what an interface sends: its qdisc, in place of what there is."""
    options = b"".join(
        _make_attribute(kind, struct.pack("=Q" if kind in _PACER_WIDE else "=I", value))
        for kind, value in enumerate(settings, start=1)
    )
    head = _QDISC.pack(0, index, 1 << 16, _ROOT, 0)
    return _make_message(_NEW_QDISC, _REPLACE, head, (_KIND, PACER.encode() + b"\0"), (_OPTIONS | _IS_NESTED, options))


def switch_offload(interface: str, namespace: int, **wanted: bool) -> None:
    """Switch OFFLOADS of an interface on or off; what it does not have is off. OSError where that is not possible."""
    with call_inside(namespace, socket.socket) as opened:
        for name, on in wanted.items():
            value = array.array("I", [OFFLOADS[name], on])
            try:
                fcntl.ioctl(opened, _ETHTOOL, struct.pack("16sP16x", interface.encode(), value.buffer_info()[0]))
            except OSError as error:
                if on or error.errno != errno.EOPNOTSUPP:
                    raise


def has_family(name: str) -> bool:
    """Whether the kernel has a generic netlink family now, be it built in or in a module, which asking loads.

    OSError when the kernel does not answer.
    """
    body = struct.pack("=BBxx", _GET_FAMILY, 1) + _make_attribute(_FAMILY_NAME, name.encode() + b"\0")
    with _open_socket(_GENERIC, PATIENCE_S) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(body), _CONTROL, _REQUEST, 1, 0) + body)
        answer = memoryview(kernel.recv(_ANSWER_BYTES))
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    if kind == _ERROR and (error := _read_error(answer)).errno != errno.ENOENT:
        raise error
    return bool(kind != _ERROR)


def _open_socket(protocol: int, patience_s: float = 1.0) -> socket.socket:
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
    opened.settimeout(patience_s)
    return opened


def _dump(opened: socket.socket, kind: int, question: bytes) -> Iterator[memoryview]:
    """The messages of the answer to a question, without their headers."""
    opened.send(_HEADER.pack(_HEADER.size + len(question), kind, _REQUEST | _DUMP, 0, 0) + question)
    while True:
        answer = memoryview(opened.recv(_ANSWER_BYTES))
        while answer:
            length, kind_of_answer, _, _, _ = _HEADER.unpack_from(answer)
            if kind_of_answer == _DONE:
                return
            if kind_of_answer == _ERROR:
                raise _read_error(answer)
            yield answer[_HEADER.size : length]
            answer = answer[_pad(length) :]


def _read_error(answer: memoryview) -> OSError:
    code = -int.from_bytes(answer[_HEADER.size : _HEADER.size + 4], sys.byteorder, signed=True)
    return OSError(code, os.strerror(code))


def _read_attributes(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """(kind, value) of each netlink attribute."""
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        yield kind & _NESTED, data[_ATTRIBUTE.size : length]
        data = data[_pad(length) :]


def _read_options(kind: str, data: memoryview | None) -> dict[str, Any]:
    """The fields of `Qdisc` that come from the options of a qdisc. Kinds that we do not use have none."""
    if data is None or kind not in ("bfifo", "tbf", "red", "netem"):
        return {}
    if kind == "bfifo":
        return {"limit": _decode_number(data[:4])}
    if kind == "netem":
        parts = dict(_read_attributes(data[_NETEM_BYTES:]))
        return {"delay_ns": _decode_number(parts[_NETEM_DELAY_NS])}
    parts = dict(_read_attributes(data))
    parameters = parts[_PARAMETERS]
    if kind == "tbf":
        return {"rate": _decode_number(parts.get(_TBF_RATE64, parameters[_TBF_RATE_AT:_TBF_RATE_END]))}
    return {"limit": _decode_number(parameters[:4]), "ecn": bool(parameters[_RED_FLAGS_AT] & _RED_ECN)}


def _decode_text(data: memoryview) -> str:
    return bytes(data).rstrip(b"\0").decode()


def _decode_number(data: memoryview) -> int:
    return int.from_bytes(data, sys.byteorder)


def _pad(length: int) -> int:
    return (length + 3) & ~3


# --- network namespaces -----------------------------------------------------------------------------------------------

# Threads of ours hold them: no process for each, and none to enter it. What a thread starts is born in the thread's
# namespace. They end with this process, however that ends, and so does all that was started in them.

T = TypeVar("T")
_CLONE_NEWNET = 0x4000_0000
_threads: dict[int, ThreadPoolExecutor] = {}


def hold_namespace() -> int:
    """Make a network namespace, and a thread of ours that is in it: its id stands for the namespace, as that of a
    process would. OSError where it cannot be made."""
    thread = ThreadPoolExecutor(1)
    try:
        pid = thread.submit(_leave).result()
    except OSError:
        thread.shutdown()
        raise
    _threads[pid] = thread
    return pid


def _leave() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return threading.get_native_id()


def release_namespace(pid: int) -> None:
    _threads.pop(pid).shutdown(wait=False)


def call_inside(pid: int | None, work: Callable[[], T]) -> T:
    """Do ``work`` in a namespace that we hold (None: in our own), and return what it returns."""
    return work() if pid is None else _threads[pid].submit(work).result()
