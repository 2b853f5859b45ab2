"""The two ends of a connection on which one host sends flows to another.

A flow begins with 16 bytes, its number and its size, which count among its bytes; size 0: it lasts until the sender
ends it. A connection carries one flow: then the receiver closes it when all has arrived, which confirms the flow and
leaves the sender's port free to be used again. Or it was opened before the traffic and carries one after the other:
then the receiver answers with the 8 bytes of each flow's number. Nothing but the standard library is imported, so that
a host's program is there within some tens of milliseconds. Times are seconds of the monotonic clock.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

HEADER = struct.Struct("!QQ")
NUMBER = struct.Struct("!Q")
BLOCK = bytes(1 << 16)
# What waits in a socket when the run ends is not sent any longer, and delays the end of a flow that lasts. A block is
# written at a time, so a socket with less would run dry between two of them.
UNSENT_BYTES = 1 << 16
"""How much of a flow waits in the socket at most, beyond what is under way (TCP_NOTSENT_LOWAT)."""
NOTSENT_LOWAT = 25
BIN_S = 0.1
"""What arrives is counted in bins of this length, from the moment a flow was accepted."""
IN, OUT, BROKEN = select.EPOLLIN, select.EPOLLOUT, select.EPOLLERR | select.EPOLLHUP


class Flow:
    """One flow that this host sends, or computing (``to`` is empty). ``missing``: how many ends it still waits for;
    ``after_s``: when it is due, after the last of them or after the beginning."""

    def __init__(self, number: int, after_s: float, to: str, port: int, size: int | None, missing: int) -> None:
        self.number, self.after_s, self.to, self.port, self.missing = number, after_s, to, port, missing
        self.lasts = size is None
        self.left = 0 if size is None else max(size, HEADER.size)
        self.header = HEADER.pack(number, self.left)
        self.scheduled = 0.0
        self.start: float | None = None
        self.connected: float | None = None
        self.sent_again = 0

    def record(self, outcome: str, end: float, retransmissions: int = 0, rtt_us: int = 0) -> dict[str, Any]:
        """What became of the flow, by the names of a line that `harness.run.traffic.Sent` reads."""
        return {
            "number": self.number,
            "asked": self.scheduled,
            "start": self.start,
            "connected": self.connected,
            "end": end,
            "how": outcome,
            "retransmissions": retransmissions,
            "rtt_us": rtt_us,
        }


class Outgoing:
    """A connection that this host sends on: the first flow of ``queue`` is being written, ``unanswered`` have begun
    and are not confirmed. ``standing``: it was opened before the traffic. ``lost``: why no more can be sent."""

    def __init__(self, sock: socket.socket, poll: select.epoll, *, standing: bool) -> None:
        self.socket, self.poll, self.standing = sock, poll, standing
        self.connecting = not standing
        self.queue: deque[Flow] = deque()
        self.unanswered: dict[int, Flow] = {}
        self.answers = b""
        self.lost = ""
        poll.register(sock.fileno(), IN if standing else OUT)

    @property
    def flows(self) -> list[Flow]:
        return list({flow.number: flow for flow in (*self.unanswered.values(), *self.queue)}.values())

    def serve(self, events: int) -> Iterator[dict[str, Any]]:
        """Do what can be done; the records of the flows that are over by it."""
        try:
            if (self.connecting or events & BROKEN) and (
                error := self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            ):
                raise OSError(error, "")
            if self.connecting:
                self.connecting = False
                self.queue[0].connected = time.monotonic()
            if events & OUT:
                self._write()
            if events & (IN | BROKEN):
                yield from self._hear()
        except BlockingIOError:
            pass
        except OSError as error:
            yield from self.end(_describe_error(error))

    def _write(self) -> None:
        """Hand over what the socket takes."""
        # With MSG_MORE the kernel fills each segment before it sends it, so that only a flow's last one is shorter.
        wants = IN
        try:
            while self.queue:
                flow = self.queue[0]
                if flow.number not in self.unanswered:
                    flow.start = flow.start or time.monotonic()
                    flow.sent_again = read_tcp_info(self.socket)[0] if self.standing else 0
                    self.unanswered[flow.number] = flow
                while flow.left or flow.lasts:
                    block = flow.header or BLOCK
                    last = not flow.lasts and flow.left <= len(block)
                    data = memoryview(block)[: flow.left] if last else block
                    sent = self.socket.send(data, 0 if last else socket.MSG_MORE)
                    flow.header = flow.header[sent:]
                    flow.left -= 0 if flow.lasts else sent
                self.queue.popleft()
        except BlockingIOError:
            wants |= OUT
        self.poll.modify(self.socket.fileno(), wants)

    def _hear(self) -> Iterator[dict[str, Any]]:
        data = self.socket.recv(1 << 16)
        if not data:
            yield from self.end("closed early" if self.queue or self.standing else "done")
        self.answers += data
        while len(self.answers) >= NUMBER.size:
            (number,) = NUMBER.unpack_from(self.answers)
            self.answers = self.answers[NUMBER.size :]
            retransmissions, rtt_us = read_tcp_info(self.socket)
            flow = self.unanswered.pop(number)
            yield flow.record("done", time.monotonic(), retransmissions - flow.sent_again, rtt_us)

    def finish(self) -> None:
        """The flow that lasts has lasted: no more is written, and what is written still arrives."""
        self.queue.clear()
        self.poll.modify(self.socket.fileno(), IN)
        self.socket.shutdown(socket.SHUT_WR)

    def end(self, outcome: str) -> Iterator[dict[str, Any]]:
        now, retransmissions, rtt_us = time.monotonic(), 0, 0
        if not self.lost:
            retransmissions, rtt_us = read_tcp_info(self.socket)
            # A reset drops what waits in the socket. To close it would first have that sent, through queues that are
            # full.
            if outcome == "cut off":
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.socket.close()
        self.lost = outcome
        for flow in self.flows:
            yield flow.record(outcome, now, retransmissions - flow.sent_again, rtt_us)
        self.queue.clear()
        self.unanswered.clear()


class Incoming:
    """A connection that this host receives on, and the flow that is arriving there."""

    def __init__(self, sock: socket.socket, poll: select.epoll, wake_bytes: int, *, standing: bool) -> None:
        self.socket, self.poll, self.wake_bytes, self.standing = sock, poll, wake_bytes, standing
        self.lowat = 1
        self.answers = b""
        self.closed = False
        self._clear()
        if not standing:
            self.accepted = time.monotonic()
        poll.register(sock.fileno(), IN)

    def _clear(self) -> None:
        self.header = b""
        self.number, self.bytes = 0, 0
        self.size: int | None = None
        self.accepted = self.first = self.last = 0.0
        self.bins: list[int] = []

    def serve(self, buffer: bytearray) -> Iterator[dict[str, Any]]:
        """Read what is there: the record of each flow that is over, as `harness.run.traffic.Arrived`."""
        if self.answers:
            self._answer(b"")
        while not self.closed:
            want = len(buffer) if self.size == 0 else (self.size or HEADER.size) - self.bytes
            try:
                count = self.socket.recv_into(buffer, min(want, len(buffer)))
            except BlockingIOError:
                break
            except OSError as error:
                yield from self.end("cut off" if isinstance(error, ConnectionResetError) else _describe_error(error))
                return
            if not count:
                yield from self.end("done" if self.size == 0 else "cut off")
                return
            self._count(buffer, count)
            if self.size and self.bytes >= self.size:
                number = self.number
                if self.standing:
                    yield self._end_flow("done")
                    self._answer(NUMBER.pack(number))
                else:
                    yield from self.end("done")
        self._wake_later()

    def _count(self, buffer: bytearray, count: int) -> None:
        now = self.last = time.monotonic()
        if not self.bytes:
            self.first = now
            self.accepted = self.accepted or now
        if self.size is None:
            self.header += buffer[:count]
            if len(self.header) == HEADER.size:
                self.number, self.size = HEADER.unpack(self.header)
        self.bytes += count
        place = int((now - self.accepted) / BIN_S)
        self.bins += [0] * (place + 1 - len(self.bins))
        self.bins[place] += count

    def _wake_later(self) -> None:
        """Have the kernel wake this program when so much has come, or the flow's last byte."""
        # At 10 Mb/s a segment comes every 1.2 ms, and to be woken for each costs the machine more than all the rest.
        # What comes in 10 ms (`harness.run.traffic.WAKE_S`) still tells the ends of flows and of BIN_S apart.
        if self.closed:
            return
        left = 1 if self.size is None else self.size - self.bytes if self.size else self.wake_bytes
        if (lowat := min(self.wake_bytes, left)) != self.lowat:
            self.lowat = lowat
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, lowat)

    def _answer(self, numbers: bytes) -> None:
        """Tell the sender that flows have arrived; a sender that is gone needs no answer."""
        self.answers += numbers
        try:
            self.answers = self.answers[self.socket.send(self.answers) :]
            self.poll.modify(self.socket.fileno(), IN)
        except BlockingIOError:
            self.poll.modify(self.socket.fileno(), IN | OUT)
        except OSError:
            self.answers = b""

    def end(self, outcome: str) -> Iterator[dict[str, Any]]:
        """Close it; the record of what was arriving, if that has said its number."""
        self.closed = True
        self.socket.close()
        if self.size is not None:
            yield self._end_flow(outcome)

    def _end_flow(self, outcome: str) -> dict[str, Any]:
        names = ("number", "accepted", "first", "last", "bytes", "bins")
        record = {"how": outcome, **{name: getattr(self, name) for name in names}}
        self._clear()
        return record


def open_outgoing_socket(address: str, port: int) -> socket.socket:
    """A socket that is to send from there; OSError when it cannot have that."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        # A flow may have the port of one that has just ended, which Linux keeps for a minute (TIME_WAIT). A short last
        # segment does not wait for acknowledgements of those before it (Nagle's algorithm): it would count as time of
        # the network.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.IPPROTO_TCP, NOTSENT_LOWAT, UNSENT_BYTES)
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def read_tcp_info(sock: socket.socket) -> tuple[int, int]:
    """Segments sent again, and the smoothed round-trip time in microseconds (TCP_INFO)."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    words = struct.unpack("=24I", info[8:104])
    return words[23], words[15]


def _describe_error(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else type(error).__name__
