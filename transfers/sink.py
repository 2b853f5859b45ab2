"""Takes in the flows that come to one host, and writes down what arrived and when.

    python -I -S sink.py ADDRESS PORT WAKE_BYTES > records

Standard output: a line of JSON for every flow that has ended, times by the monotonic clock (`transfers.records`). At
SIGTERM the flows still under way are written down as they are. A flow's first 8 bytes are its size; when all has
arrived the connection is closed from here (`transfers.sender`).

WAKE_BYTES is how much must have arrived before the kernel wakes it: at 10 Mb/s a full segment comes every 1.2 ms, and
waking for each costs the machine more than all the rest. Ends of flows and of BIN_S are told apart all the same.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
import time

HEADER_BYTES = 8
BIN_S = 0.1
"""Bytes are counted in bins of this length, from the moment a flow was accepted."""
BACKLOG = 4096


class Arrival:
    """One flow under way."""

    def __init__(self, sock: socket.socket, peer: tuple[str, int], now: float) -> None:
        self.socket, self.peer, self.accepted = sock, peer, now
        self.first: float | None = None
        self.last: float | None = None
        self.header = b""
        self.size: int | None = None
        self.bytes = 0
        self.lowat = 1
        self.bins: list[int] = []


class Sink:
    """The loop: accepts at ``listener``, writes records to the file descriptor ``records``."""

    def __init__(self, listener: socket.socket, wake_bytes: int, records: int) -> None:
        self.listener, self.wake_bytes, self.records = listener, max(1, wake_bytes), records
        self.running: dict[int, Arrival] = {}
        self.buffer = bytearray(1 << 18)
        self.said: list[str] = []
        self.poll = select.epoll()
        self.poll.register(listener.fileno(), select.EPOLLIN)
        self.wakeup, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write)
        signal.signal(signal.SIGTERM, lambda *_: None)
        self.poll.register(self.wakeup, select.EPOLLIN)

    def run(self) -> None:
        """Until SIGTERM."""
        self.listener.listen(BACKLOG)  # not before SIGTERM is heard: whoever reaches this may then end it
        while True:
            for number, _ in self.poll.poll():
                if number == self.wakeup:
                    for arrival in list(self.running.values()):
                        self.finish(arrival, "cut off")
                    self.say()
                    return
                if number == self.listener.fileno():
                    self.accept()
                elif number in self.running:
                    self.serve(self.running[number])
            self.say()

    def accept(self) -> None:
        """Take all who knock."""
        while True:
            try:
                sock, peer = self.listener.accept()
            except BlockingIOError:
                return
            except OSError:
                return  # it had gone again
            sock.setblocking(False)
            arrival = self.running[sock.fileno()] = Arrival(sock, peer, time.monotonic())
            self.poll.register(sock.fileno(), select.EPOLLIN)
            self.serve(arrival)

    def serve(self, arrival: Arrival) -> None:
        """Read what is there."""
        while True:
            try:
                count = arrival.socket.recv_into(self.buffer)
            except BlockingIOError:
                break
            except OSError as error:
                self.finish(arrival, "cut off" if isinstance(error, ConnectionResetError) else str(error))
                return
            if not count:
                complete = arrival.size == 0 and arrival.bytes >= HEADER_BYTES
                self.finish(arrival, "done" if complete else "cut off")
                return
            self.count(arrival, count)
            if arrival.size and arrival.bytes >= arrival.size:
                self.finish(arrival, "done")
                return
            if count < len(self.buffer):
                break
        self.wake_later(arrival)

    def count(self, arrival: Arrival, count: int) -> None:
        """So much has arrived."""
        now = time.monotonic()
        if arrival.first is None:
            arrival.first = now
        arrival.last = now
        if arrival.size is None:
            arrival.header += self.buffer[: min(count, HEADER_BYTES - len(arrival.header))]
            if len(arrival.header) == HEADER_BYTES:
                (arrival.size,) = struct.unpack("!Q", arrival.header)
        arrival.bytes += count
        fill(arrival.bins, now - arrival.accepted, count)

    def wake_later(self, arrival: Arrival) -> None:
        """Not for every segment, but for the flow's last byte."""
        if arrival.size is not None:
            left = arrival.size - arrival.bytes if arrival.size else self.wake_bytes
            lowat = min(self.wake_bytes, left)
            if lowat != arrival.lowat:
                arrival.lowat = lowat
                arrival.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, lowat)

    def finish(self, arrival: Arrival, how: str) -> None:
        """Write down how a flow went."""
        del self.running[arrival.socket.fileno()]
        arrival.socket.close()
        record = {
            "from": arrival.peer[0],
            "port": arrival.peer[1],
            "accepted": arrival.accepted,
            "how": how,
            "first": arrival.first,
            "last": arrival.last,
            "bytes": arrival.bytes,
            "bins": arrival.bins,
        }
        self.said.append(json.dumps(record, separators=(",", ":")))

    def say(self) -> None:
        """Write the records that there are."""
        if self.said:
            data = ("\n".join(self.said) + "\n").encode()
            self.said = []
            while data:
                data = data[os.write(self.records, data) :]


def fill(bins: list[int], after_s: float, count: int) -> None:
    """So many bytes arrived that long after the flow was accepted: they go into their bin."""
    number = int(after_s / BIN_S)
    bins += [0] * (number + 1 - len(bins))
    bins[number] += count


def bound(address: str, port: int) -> socket.socket:
    """A socket that is to listen there; OSError when there can be none."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    return listener


if __name__ == "__main__":
    Sink(bound(sys.argv[1], int(sys.argv[2])), int(sys.argv[3]), 1).run()
