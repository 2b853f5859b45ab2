"""Sends the flows of one host, each when it is due, whatever has become of those before (open loop).

    python -I -S sender.py ADDRESS PORT LINGER_S < flows > records

Standard input, line by line: first ``BEGIN END``, by the monotonic clock, in seconds; then flows in the order of
their starts, as ``NUMBER START DESTINATION SOURCE_PORT SIZE AFTER``: START in seconds after BEGIN, SIZE in bytes,
AFTER the number of the flow of this host whose end starts this one; ``-`` for a START or AFTER that there is none of,
and for the SIZE of a flow that sends until END. At the end of its input it goes when its flows have ended; at END it
stops all.

Standard output: a line of JSON for every flow that has ended, times by the monotonic clock (`transfers.records`).

A flow's first 8 bytes tell the sink its size, so the smallest flow has as many. The sink closes first, when it has
all: that confirms the flow, and leaves the source port free to be used again. Nothing but the standard library is
imported, so that a host's sender is there within some tens of milliseconds.
"""

from __future__ import annotations

import errno
import fcntl
import heapq
import json
import os
import select
import socket
import struct
import sys
import time

HEADER_BYTES = 8
BLOCK = bytes(1 << 16)
UNSENT_BYTES = 1 << 16
"""How much of a flow waits in the socket at most, beyond what is under way (TCP_NOTSENT_LOWAT)."""
NOTSENT_LOWAT = 25
IN, OUT, BROKEN = select.EPOLLIN, select.EPOLLOUT, select.EPOLLERR | select.EPOLLHUP
LASTING = 0
"""The size in the header of a flow that sends until the end."""


class Transfer:
    """One flow under way."""

    def __init__(self, number: int, to: str, port: int, size: int | None) -> None:
        self.number, self.to, self.port, self.size = number, to, port, size
        self.asked: float | None = None
        self.left = None if size is None else max(size, HEADER_BYTES)
        self.header = struct.pack("!Q", LASTING if self.left is None else self.left)
        self.start: float | None = None
        self.connected: float | None = None
        self.draining = False
        self.socket: socket.socket


class Sender:
    """The loop: takes flows from ``commands`` (a file descriptor), writes records to ``records``."""

    def __init__(self, address: str, port: int, linger_s: float, commands: int, records: int) -> None:
        self.address, self.port, self.linger_s = address, port, linger_s
        self.commands, self.records = commands, records
        self.begin = 0.0
        self.end: float | None = None
        self.text, self.more = b"", True
        self.due: list[tuple[float, int, Transfer]] = []
        self.waiting: dict[int, list[Transfer]] = {}
        self.finished: set[int] = set()
        self.running: dict[int, Transfer] = {}
        self.said: list[str] = []
        self.poll = select.epoll()
        fcntl.fcntl(commands, fcntl.F_SETFL, fcntl.fcntl(commands, fcntl.F_GETFL) | os.O_NONBLOCK)
        self.poll.register(commands, IN)

    def run(self) -> None:
        """Until all flows have ended, or END and the time to linger have come."""
        while self.more or self.due or self.running:
            now = time.monotonic()
            while self.due and self.due[0][0] <= now:
                self.connect(heapq.heappop(self.due)[2])
            self.say()
            until = [self.due[0][0]] if self.due else []
            if self.end is not None:
                until.append(self.end + (self.linger_s if now >= self.end else 0))
            for number, events in self.poll.poll(max(0.0, min(until) - now) if until else None):
                if number == self.commands:
                    self.read()
                elif number in self.running:
                    self.serve(self.running[number], events)
            if self.end is not None and time.monotonic() >= self.end:
                self.stop(late=time.monotonic() >= self.end + self.linger_s)
        self.say()

    # --- what is to be sent -----------------------------------------------------------------------------

    def read(self) -> None:
        """Take in what has been asked for."""
        try:
            data = os.read(self.commands, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self.poll.unregister(self.commands)
            self.more = False
        *lines, self.text = (self.text + data).split(b"\n")
        for line in lines:
            if self.end is None:
                self.begin, self.end = (float(word) for word in line.split())
            else:
                self.take(*line.decode().split())

    def take(self, number: str, start: str, to: str, port: str, size: str, after: str) -> None:
        """One flow more."""
        transfer = Transfer(int(number), to, int(port), None if size == "-" else int(size))
        if start != "-":
            transfer.asked = self.begin + float(start)
        if after != "-" and int(after) not in self.finished:
            self.waiting.setdefault(int(after), []).append(transfer)
        else:
            self.schedule(transfer)

    def schedule(self, transfer: Transfer) -> None:
        """It is due at its time, or now."""
        due = transfer.asked = time.monotonic() if transfer.asked is None else transfer.asked
        heapq.heappush(self.due, (due, transfer.number, transfer))

    # --- one flow ---------------------------------------------------------------------------------------

    def connect(self, transfer: Transfer) -> None:
        """Open its connection."""
        sock = transfer.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            bind(sock, self.address, transfer.port)
            transfer.start = time.monotonic()
            error = sock.connect_ex((transfer.to, self.port))
        except OSError as problem:
            error = problem.errno or errno.EIO
        self.running[sock.fileno()] = transfer
        if error not in (0, errno.EINPROGRESS):
            self.finish(transfer, os.strerror(error))
        else:
            self.poll.register(sock.fileno(), OUT)

    def serve(self, transfer: Transfer, events: int) -> None:
        """Something can be done for a flow."""
        sock = transfer.socket
        if transfer.connected is None or events & BROKEN:
            error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                self.finish(transfer, os.strerror(error))
                return
            if transfer.connected is None:
                transfer.connected = time.monotonic()
        try:
            if events & OUT and not transfer.draining:
                self.write(transfer)
            if events & (IN | BROKEN):
                # The sink never says anything: this is its end of the connection, or that of the connection.
                self.finish(transfer, "done" if sock.recv(1) == b"" and transfer.draining else "closed early")
        except BlockingIOError:
            pass
        except OSError as error:
            self.finish(transfer, error.strerror or type(error).__name__)

    def write(self, transfer: Transfer) -> None:
        """Hand over what the socket takes. Only a flow's last segment is shorter than the others (MSG_MORE)."""
        sock = transfer.socket
        while True:
            block = transfer.header or BLOCK
            last = transfer.left is not None and transfer.left <= len(block)
            data = memoryview(block)[: transfer.left] if last else block
            sent = sock.send(data, 0 if last else socket.MSG_MORE)
            if transfer.header:
                transfer.header = transfer.header[sent:]
            if transfer.left is not None:
                transfer.left -= sent
                if not transfer.left:
                    self.drain(transfer)
                    return

    def drain(self, transfer: Transfer) -> None:
        """All is written: wait for the sink."""
        transfer.draining = True
        self.poll.modify(transfer.socket.fileno(), IN)

    def finish(self, transfer: Transfer, how: str) -> None:
        """Write down how a flow went, and start those that waited for it."""
        sock, now = transfer.socket, time.monotonic()
        del self.running[sock.fileno()]
        retransmissions, rtt_us = tcp_info(sock)
        sock.close()
        record = {
            "number": transfer.number,
            "asked": transfer.asked,
            "start": transfer.start,
            "end": now,
            "connected": transfer.connected,
            "how": how,
            "retransmissions": retransmissions,
            "rtt_us": rtt_us,
        }
        self.said.append(json.dumps(record))
        self.finished.add(transfer.number)
        for other in self.waiting.pop(transfer.number, ()):
            self.schedule(other)

    # --- the end ----------------------------------------------------------------------------------------

    def stop(self, late: bool) -> None:
        """It is END: nothing starts any more, lasting flows end, and sized ones are cut off; ``late``: all are."""
        self.due, self.more = [], False
        for transfer in list(self.running.values()):
            sock = transfer.socket
            if late or transfer.size is not None or transfer.connected is None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset
                self.finish(transfer, "cut off")
            elif not transfer.draining:
                self.drain(transfer)
                sock.shutdown(socket.SHUT_WR)
        self.waiting = {}

    def say(self) -> None:
        """Write the records that there are."""
        if self.said:
            data = ("\n".join(self.said) + "\n").encode()
            self.said = []
            while data:
                data = data[os.write(self.records, data) :]


def bind(sock: socket.socket, address: str, port: int) -> None:
    """Give a socket that is to send its address, and what TCP is to do for it; OSError when it cannot have that."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, UNSENT_BYTES)
    sock.bind((address, port))


def tcp_info(sock: socket.socket) -> tuple[int, int]:
    """Segments sent again, and the smoothed round-trip time in microseconds (TCP_INFO)."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    words = struct.unpack("=24I", info[8:104])
    return words[23], words[15]


if __name__ == "__main__":
    Sender(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), 0, 1).run()
