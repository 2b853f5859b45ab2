"""The two ends of a connection on which one host sends messages to another, and hears which have ended.

A message begins with 16 bytes, its number and its size, which count among its bytes. The receiver answers with the 8
bytes of its number when all has arrived. Nothing but the standard library and this package is imported.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from transfers.sender import BLOCK, tcp_info
from transfers.sink import fill

HEADER = struct.Struct("!QQ")
NUMBER = struct.Struct("!Q")


class Message:
    """One that this host sends, or computing. Times are seconds of the monotonic clock."""

    def __init__(self, number: int, size: int, delay: float) -> None:
        self.number, self.delay = number, delay
        self.left = max(size, HEADER.size)
        self.header = HEADER.pack(number, self.left)
        self.asked = 0.0
        self.start: float | None = None
        self.sent_again = 0

    def record(self, end: float, how: str = "done", again: int = 0, rtt_us: int = 0) -> dict[str, Any]:
        """How it went, as `transfers.records.Sent`."""
        return {
            "number": self.number,
            "asked": self.asked,
            "start": self.start,
            "connected": None,
            "end": end,
            "how": how,
            "retransmissions": again,
            "rtt_us": rtt_us,
        }


class Outgoing:
    """A connection that this host sends on: the first message of ``queue`` is under way, the rest wait.

    ``lost``: why no more can be sent, in the system's words.
    """

    def __init__(self, sock: socket.socket, poll: select.epoll) -> None:
        self.socket, self.poll = sock, poll
        self.queue: deque[Message] = deque()
        self.unanswered: dict[int, Message] = {}
        self.text = b""
        self.lost = ""
        poll.register(sock.fileno(), select.EPOLLIN)

    def write(self) -> None:
        """Hand over what the socket takes; OSError when the connection is gone."""
        wants = select.EPOLLIN
        try:
            while self.queue:
                self._write(self.queue[0])
                self.queue.popleft()
        except BlockingIOError:
            wants |= select.EPOLLOUT
        self.poll.modify(self.socket.fileno(), wants)

    def _write(self, message: Message) -> None:
        if message.start is None:
            message.start = time.monotonic()
            message.sent_again = tcp_info(self.socket)[0]
            self.unanswered[message.number] = message
        while message.left:
            block = message.header or BLOCK
            last = message.left <= len(block)
            sent = self.socket.send(memoryview(block)[: message.left], 0 if last else socket.MSG_MORE)
            message.header = message.header[sent:]
            message.left -= sent

    def hear(self) -> Iterator[dict[str, Any]]:
        """The records of the messages that have arrived, as the receiver says.

        OSError when the connection is gone before all has been answered.
        """
        data = self.socket.recv(1 << 16)
        if not data:
            self.lost = "closed early"
            if self.queue or self.unanswered:
                raise ConnectionResetError(errno.ECONNRESET, self.lost)
            self.poll.unregister(self.socket.fileno())  # the other host is done
            return
        self.text += data
        now = time.monotonic()
        while len(self.text) >= NUMBER.size:
            (number,) = NUMBER.unpack_from(self.text)
            self.text = self.text[NUMBER.size :]
            message = self.unanswered.pop(number)
            again, rtt_us = tcp_info(self.socket)
            yield message.record(now, "done", again - message.sent_again, rtt_us)

    def lose(self, why: str) -> list[dict[str, Any]]:
        """The connection is lost: the records of all that was to go there."""
        self.lost = why
        self.poll.unregister(self.socket.fileno())
        left = {message.number: message for message in (*self.unanswered.values(), *self.queue)}
        self.queue.clear()
        self.unanswered.clear()
        return [message.record(time.monotonic(), why) for message in left.values()]

    def cut_off(self) -> Iterator[dict[str, Any]]:
        """The records of what is under way when all stops."""
        again, rtt_us = tcp_info(self.socket) if self.unanswered else (0, 0)
        for message in self.unanswered.values():
            yield message.record(time.monotonic(), "cut off", again - message.sent_again, rtt_us)


class Incoming:
    """A connection that this host receives on, and the message that is arriving there."""

    def __init__(self, sock: socket.socket, peer: tuple[str, int], poll: select.epoll) -> None:
        self.socket, self.peer, self.poll = sock, peer, poll
        self.lowat = 1
        self.answers = b""
        self._clear()
        poll.register(sock.fileno(), select.EPOLLIN)

    def _clear(self) -> None:
        self.header = b""
        self.number = self.size = self.bytes = 0
        self.accepted = self.last = 0.0
        self.bins: list[int] = []

    def receive(self, buffer: bytearray, wake_bytes: int) -> Iterator[dict[str, Any]]:
        """Read what is there: the record of each message that has ended, as `transfers.records.Message`."""
        if self.answers:
            self.answer(b"")
        while True:
            want = self.size - self.bytes if self.size else HEADER.size - len(self.header)
            try:
                count = self.socket.recv_into(buffer, min(want, len(buffer)))
            except BlockingIOError:
                break
            except OSError:
                count = 0
            if not count:
                self.poll.unregister(self.socket.fileno())
                if self.size:
                    yield self.record("closed early")
                return
            self._count(buffer, count)
            if self.size and self.bytes >= self.size:
                yield self.record("done")
        lowat = min(wake_bytes, self.size - self.bytes) if self.size else 1
        if lowat != self.lowat:
            self.lowat = lowat
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, lowat)

    def _count(self, buffer: bytearray, count: int) -> None:
        self.last = time.monotonic()
        if not self.bytes:
            self.accepted = self.last
        if not self.size:
            self.header += buffer[:count]
            if len(self.header) == HEADER.size:
                self.number, self.size = HEADER.unpack(self.header)
        self.bytes += count
        fill(self.bins, self.last - self.accepted, count)

    def record(self, how: str) -> dict[str, Any]:
        """The message so far, which then is over."""
        record = {
            "number": self.number,
            "from": self.peer[0],
            "port": self.peer[1],
            "accepted": self.accepted,
            "how": how,
            "first": self.accepted,
            "last": self.last,
            "bytes": self.bytes,
            "bins": self.bins,
        }
        self._clear()
        return record

    def answer(self, numbers: bytes) -> None:
        """Tell the sender that messages have arrived; a sender that is gone needs no answer."""
        self.answers += numbers
        try:
            self.answers = self.answers[self.socket.send(self.answers) :]
            self.poll.modify(self.socket.fileno(), select.EPOLLIN)
        except BlockingIOError:
            self.poll.modify(self.socket.fileno(), select.EPOLLIN | select.EPOLLOUT)
        except OSError:
            self.answers = b""
