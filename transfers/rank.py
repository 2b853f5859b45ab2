"""Does one host's part in a collective: sends each message when all that it waits for has happened.

    python -I -S rank.py ADDRESS PORT WAKE_BYTES PROGRAM < begin > records

PROGRAM is a file of JSON (`traffic.ranks.Rank`, with addresses for hosts). When all connections are there
(`transfers.wires`), the first line of standard output is ``connected``. Standard input then tells ``BEGIN END``, by
the monotonic clock, in seconds: nothing is sent before BEGIN, and at END all stops. It goes when it has sent and
received everything. A connection carries its messages in the order in which they become due.

Standard output: two lines of JSON for a message, its sender's and its receiver's, one for computing
(`transfers.records`). WAKE_BYTES: see `transfers.sink`.
"""

from __future__ import annotations

import errno
import heapq
import json
import os
import select
import socket
import sys
import time
from collections import defaultdict
from typing import Any

if not __package__:  # started as a program, which sees nothing but the standard library
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from transfers.sender import bind
from transfers.sink import BACKLOG, bound
from transfers.wires import NUMBER, Incoming, Message, Outgoing

CONNECT_S = 30.0
AGAIN_S = 0.05
"""How long to try to connect, and how often: the others listen when they are there."""
GOODBYE_S = 0.2
"""After END nobody closes a connection for so long: what is cut off ends at both its hosts by itself."""


class Rank:
    """The loop; ``left`` messages and computing of its own, and ``expects`` messages of others, have not ended."""

    def __init__(self, address: str, port: int, wake_bytes: int, program: dict[str, Any]) -> None:
        self.address, self.port, self.wake_bytes = address, port, max(1, wake_bytes)
        self.places: list[tuple[str, int]] = program["connections"]
        self.accepts, self.expects = program["accepts"], program["expects"]
        self.messages: dict[int, Message] = {}
        self.connection: dict[int, int | None] = {}
        self.missing: dict[int, int] = {}
        self.followers: dict[int, list[int]] = defaultdict(list)
        for number, connection, size, delay, after in program["steps"]:
            self.messages[number] = Message(number, size, delay)
            self.connection[number] = connection
            self.missing[number] = len(after)
            for earlier in after:
                self.followers[earlier].append(number)
        self.left = len(self.messages)
        self.due: list[tuple[float, int]] = []
        self.said: list[str] = []
        self.buffer = bytearray(1 << 18)
        self.poll = select.epoll()
        self.to: list[Outgoing] = []
        self.outgoing: dict[int, Outgoing] = {}
        self.incoming: dict[int, Incoming] = {}

    def run(self) -> None:
        """Connect, wait for BEGIN, then until all is done or END has come."""
        self.connect()
        write_out("connected\n")
        begin, end = (float(word) for word in sys.stdin.readline().split())
        for number, missing in self.missing.items():
            if not missing:
                heapq.heappush(self.due, (begin + self.messages[number].delay, number))
        while self.left or self.expects:
            now = time.monotonic()
            if now >= end:
                self.stop()
                break
            while self.due and self.due[0][0] <= now:
                self.begin(*heapq.heappop(self.due))
            self.say()
            until = min(self.due[0][0], end) if self.due else end
            for number, events in self.poll.poll(max(0.0, until - time.monotonic())):
                if number in self.outgoing:
                    self.serve(self.outgoing[number], events)
                else:
                    self.receive(self.incoming[number])
        self.say()
        if self.left or self.expects:
            time.sleep(GOODBYE_S)

    # --- connections ------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Open those that this host sends on, and take those that it receives on; OSError where that takes long."""
        listener = bound(self.address, self.port)
        listener.listen(BACKLOG)
        limit = time.monotonic() + CONNECT_S
        for host, source_port in self.places:
            sock = self.opened(host, source_port, limit)
            self.to.append(Outgoing(sock, self.poll))
            self.outgoing[sock.fileno()] = self.to[-1]
        while len(self.incoming) < self.accepts:
            select.select([listener], [], [], max(0.0, limit - time.monotonic()))
            sock, peer = listener.accept()  # BlockingIOError: nobody came in time
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.incoming[sock.fileno()] = Incoming(sock, peer, self.poll)
        listener.close()

    def opened(self, host: str, source_port: int, limit: float) -> socket.socket:
        """A connection; tried again while nobody listens there yet."""
        while True:
            sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                bind(sock, self.address, source_port)
                sock.settimeout(CONNECT_S)
                sock.connect((host, self.port))
            except OSError as error:
                sock.close()
                if error.errno != errno.ECONNREFUSED or time.monotonic() > limit:
                    raise
                time.sleep(AGAIN_S)
            else:
                sock.setblocking(False)
                return sock

    # --- what happens -----------------------------------------------------------------------------------

    def begin(self, asked: float, number: int) -> None:
        """A node is due: its message is queued, or its computing has ended."""
        message = self.messages[number]
        message.asked = asked
        connection = self.connection[number]
        if connection is None:
            message.start = asked
            self.done(message.record(asked))
        elif self.to[connection].lost:
            self.done(message.record(asked, self.to[connection].lost))
        else:
            self.to[connection].queue.append(message)
            self.serve(self.to[connection], select.EPOLLOUT)

    def done(self, record: dict[str, Any]) -> None:
        """A message or computing of this host is over."""
        self.said.append(json.dumps(record))
        self.left -= 1
        if record["how"] == "done":
            self.end(record["number"])

    def end(self, number: int) -> None:
        """A node has ended, and this host knows: what waited for it may be due."""
        now = time.monotonic()
        for other in self.followers.get(number, ()):
            self.missing[other] -= 1
            if not self.missing[other]:
                heapq.heappush(self.due, (now + self.messages[other].delay, other))

    def serve(self, one: Outgoing, events: int) -> None:
        """Something can be done for a connection that this host sends on."""
        try:
            if events & ~select.EPOLLOUT:
                for record in one.hear():
                    self.done(record)
            if not one.lost:
                one.write()
        except OSError as error:
            for record in one.lose(error.strerror or type(error).__name__):
                self.done(record)

    def receive(self, one: Incoming) -> None:
        """Something has come."""
        for record in one.receive(self.buffer, self.wake_bytes):
            self.said.append(json.dumps(record))
            self.expects -= 1
            if record["how"] == "done":
                one.answer(NUMBER.pack(record["number"]))
                self.end(record["number"])

    def stop(self) -> None:
        """It is END: what is under way is cut off, at both hosts; what has not begun stays unsaid."""
        for sending in self.to:
            self.said += map(json.dumps, sending.cut_off())
        self.said += [json.dumps(one.record("cut off")) for one in self.incoming.values() if one.size]

    def say(self) -> None:
        """Write the records that there are."""
        if self.said:
            write_out("\n".join(self.said) + "\n")
            self.said = []


def write_out(text: str) -> None:
    """All of it to standard output."""
    data = text.encode()
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    with open(sys.argv[4]) as file:
        Rank(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.load(file)).run()
