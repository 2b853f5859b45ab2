"""Curves of a run (``--trace``), and captures of ports (``--pcap``): files beside its other raw ones."""

from __future__ import annotations

import contextlib
import math
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TextIO

from harness.network import Fabric, Netlink, call_inside, count_ports
from harness.run.observation import Sampler
from record.run import CONNECTIONS, QUEUES
from record.spec import RunSpec
from traffic.flows import SERVER_PORT

ETH_P_ALL, SO_RCVBUFFORCE, SO_TIMESTAMPNS, SOL_PACKET, PACKET_STATISTICS = 3, 33, 35, 263, 6
# A link of 1 Gb/s brings 1.25 MB between two readings, and the kernel's default has room for 208 KiB.
ROOM = 1 << 26
"""Packets that wait to be read may take so many bytes."""
# Headers do not exceed it: Ethernet's 14 bytes, IP's 20 and TCP's 60 at most.
SNAP_BYTES = 128
"""A capture has so many bytes of each packet."""
LINKTYPE_ETHERNET = 1
MOST_BYTES = 256 << 20
"""A capture is not larger, which is 2 million packets."""


@contextmanager
def watch(fabric: Fabric, spec: RunSpec, raw: Path) -> Iterator[Trace | None]:
    """Trace and capture what ``spec`` asks for, while the block runs."""
    with contextlib.ExitStack() as stack:
        for port in spec.pcap:
            stack.enter_context(Capture(fabric, port, raw))
        yield None if spec.trace_ms is None else stack.enter_context(Trace(fabric, spec.trace_ms / 1e3, raw))


class Trace(Sampler):
    """Every ``period_s`` what waits in each port's queue and its pacer (not the empty ones), and each connection's
    congestion window and smoothed round trip, as its sender has them; from ``begin`` on, in seconds since the epoch."""

    def __init__(self, fabric: Fabric, period_s: float, raw: Path) -> None:
        self.period_s = period_s
        self.begin = math.inf
        self._hosts = {fabric.topo.host_ip(host): host for host in range(fabric.topo.num_hosts)}
        self._opened = contextlib.ExitStack()
        self._carrier, self._paced = fabric.options.shape.carrier, fabric.options.shape.pacer is not None
        self._switches, self._pids = fabric.open_vswitch.namespace, [*map(fabric.pid_of, fabric.topo.hosts)]
        self._queues, self._connections = map(self._open, (raw / QUEUES, raw / CONNECTIONS))
        self._queues.write("t,port,bytes\n")
        self._connections.write("t,src,dst,src_port,window_segments,rtt_ms\n")

    def _open(self, path: Path) -> TextIO:
        return self._opened.enter_context(path.open("w", encoding="utf-8"))

    def sample(self) -> None:
        # Until the traffic begins there is nothing to see, and in a guest each look moves the clock.
        if time.time() < self.begin:
            return
        t = f"{time.time() - self.begin:.4f}"
        for host, pid in enumerate((*self._pids, self._switches)):
            # A namespace's sockets are opened anew each time, because a thousand hosts are more than a process may have
            # open.
            with contextlib.closing(Netlink(pid)) as place:
                queues, connections = count_ports(place, self._carrier), place.connections(SERVER_PORT)
                for pacer in place.pacers() if self._paced else ():
                    queue = queues[pacer.port]
                    queues[pacer.port] = queue._replace(queued=queue.queued + pacer.queued)
            for port, queue in queues.items():
                if queue.queued:
                    self._queues.write(f"{t},{port},{queue.queued}\n")
            for connection in connections:
                ends = f"{host},{self._hosts.get(connection.to)},{connection.port}"
                self._connections.write(f"{t},{ends},{connection.window_segments},{connection.rtt_s * 1e3:.3f}\n")

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._opened.close()


class Packets(Sampler):
    """Hears every packet of a protocol (ETH_P_...) in a namespace, or at one ``port`` of it. `heard` is called with
    each packet, and with the moment at which the kernel had it (packet(7)), in ns since the epoch. ``missed``: at the
    end, how many packets were not heard."""

    period_s = 0.01
    missed = 0

    def __init__(self, namespace: int, protocol: int, port: str = "") -> None:
        opened = partial(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
        self._socket = call_inside(namespace, opened)
        if port:
            self._socket.bind((port, protocol))
        self._socket.setblocking(False)
        for option, value in ((SO_TIMESTAMPNS, 1), (SO_RCVBUFFORCE, ROOM)):
            self._socket.setsockopt(socket.SOL_SOCKET, option, value)

    def heard(self, ns: int, packet: bytes) -> None:
        raise NotImplementedError

    def sample(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                packet, ((_, _, stamp),), *_ = self._socket.recvmsg(1 << 16, 64)
                seconds, nanoseconds = struct.unpack("qq", stamp)
                self.heard(seconds * 10**9 + nanoseconds, packet)

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self.sample()
        _, self.missed = struct.unpack("II", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self._socket.close()


class Capture(Packets):
    """What a port sends and receives, the first `SNAP_BYTES` of each packet, as PORT.pcap (libpcap's format with
    nanoseconds)."""

    def __init__(self, fabric: Fabric, port: str, raw: Path) -> None:
        host = port.removesuffix("-eth0")
        namespace = fabric.pid_of(host) if host in fabric.topo.hosts else fabric.open_vswitch.namespace
        super().__init__(namespace, ETH_P_ALL, port)
        self._file = open(raw / f"{port}.pcap", "wb")  # noqa: SIM115
        self._file.write(struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP_BYTES, LINKTYPE_ETHERNET))

    def heard(self, ns: int, packet: bytes) -> None:
        if self._file.tell() < MOST_BYTES:
            captured = packet[:SNAP_BYTES]
            self._file.write(struct.pack("=IIII", *divmod(ns, 10**9), len(captured), len(packet)) + captured)

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._file.close()
