"""Does one host's part in traffic that comes and goes: sends each flow when it is due, takes in those of others.

    python -I -S peer.py ADDRESS PORT WAKE_BYTES LINGER_S < told > records

A flow is due at its time, whatever has become of those before (open loop); or when all that it waits for has ended:
flows that this host sent, flows that have arrived here, computing. It is told two lines of JSON. The first is its part:

    {"connections": [[HOST, SOURCE_PORT], ...], "accepts": N,   opened before the traffic, to others and from others
     "flows": [[NUMBER, AFTER_S, TO, SOURCE_PORT, SIZE, AFTER, CONNECTION], ...],    AFTER_S after the last of AFTER
     "expects": N}                                              so many flows of others come here

Without AFTER a flow is due AFTER_S after BEGIN. SIZE null: until END. TO null: over a CONNECTION of the list, or
computing if that is null too. The second, when it has said "ready", is [BEGIN, END], seconds of the monotonic clock.
It goes when all is sent and received; at END it cuts off what is under way and ends what lasts.

Standard output: "ready", then a line of JSON for each end of each flow that is over (`harness.run.traffic`).
WAKE_BYTES: how much must have arrived before the kernel wakes it. LINGER_S: what a flow that lasts has to arrive
after END.
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
from collections.abc import Iterable
from typing import Any

if not __package__:  # started as a program, which sees nothing but the standard library
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from harness.hosts.connections import IN, OUT, Flow, Incoming, Outgoing, open_outgoing_socket

# Every flow of a run may be to one host and come at once. A call beyond the backlog would be lost, and TCP makes it
# again only after a second.
BACKLOG = 4096
"""So many calls may wait to be accepted."""
# The programs of all hosts are started in turn, so others may not listen yet when the first one calls them.
CONNECT_S, AGAIN_S = 30.0, 0.05
"""For how long a host tries to connect, and after how long it tries again."""
# A program that goes resets what still arrives, and the other host would take a flow that was cut off for one that
# failed.
GOODBYE_S = 0.2
"""Every host stays so long after END, so that what is cut off has ended at both its hosts before one of them goes."""


class Peer:
    """The loop. ``left`` flows and computing of its own, and ``coming`` flows of others, are not over."""

    def __init__(self, address: str, port: int, wake_bytes: int, linger_s: float) -> None:
        self.address, self.port, self.wake_bytes, self.linger_s = address, port, max(1, wake_bytes), linger_s
        self.left = self.coming = 0
        self.end_at = 0.0
        self.agenda: list[tuple[float, int, Flow, int | None]] = []
        self.followers: dict[int, list[tuple[Flow, int | None]]] = defaultdict(list)
        self.standing: list[Outgoing] = []
        self.outgoing: dict[int, Outgoing] = {}
        self.incoming: dict[int, Incoming] = {}
        self.unwritten: list[str] = []
        self.buffer = bytearray(1 << 18)
        self.poll = select.epoll()
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, port))
        self.listener.listen(BACKLOG)

    def run(self) -> None:
        """Connect, wait for BEGIN, then until all is over or END has come."""
        plan = json.loads(sys.stdin.readline())
        self.connect(plan["connections"], plan["accepts"])
        self.left, self.coming = len(plan["flows"]), plan["expects"]
        for flow in plan["flows"]:
            self.take(*flow)
        self.say("ready")
        begin, self.end_at = json.loads(sys.stdin.readline())
        self.agenda = [(begin + scheduled_s, *entry) for scheduled_s, *entry in self.agenda]
        self.poll.register(self.listener.fileno(), IN)
        while self.left or self.coming:
            now = time.monotonic()
            if now >= self.end_at:
                self.wind_up()
                return
            while self.agenda and self.agenda[0][0] <= now:
                moment, _, flow, connection = heapq.heappop(self.agenda)
                self.start(flow, moment, connection)
            self.say()
            self.wait(min(self.agenda[0][0], self.end_at) if self.agenda else self.end_at)
        self.say()

    def take(
        self,
        number: int,
        after_s: float,
        to: str | None,
        port: int,
        size: int | None,
        after: list[int],
        connection: int | None,
    ) -> None:
        """A flow of this host's; it is due after BEGIN, which is not known yet."""
        flow = Flow(number, after_s, to or "", port, size, len(after))
        for awaited in after:
            self.followers[awaited].append((flow, connection))
        if not after:
            self.schedule(flow, connection, 0.0)

    def schedule(self, flow: Flow, connection: int | None, since: float) -> None:
        heapq.heappush(self.agenda, (since + flow.after_s, flow.number, flow, connection))

    def wait(self, until: float) -> None:
        for number, events in self.poll.poll(max(0.0, until - time.monotonic())):
            if number in self.outgoing:
                self.sent(self.outgoing[number], events)
            elif number in self.incoming:
                self.receive(self.incoming[number], number)
            elif number == self.listener.fileno():
                self.accept()

    # --- connections --------------------------------------------------------------------------------------

    def connect(self, connections: list[tuple[str, int]], accepts: int) -> None:
        """Open those that stand, to others and from others; OSError where that takes long."""
        limit = time.monotonic() + CONNECT_S
        for host, source_port in connections:
            sock = self.opened(host, source_port, limit)
            self.standing.append(Outgoing(sock, self.poll, standing=True))
            self.outgoing[sock.fileno()] = self.standing[-1]
        while len(self.incoming) < accepts:
            select.select([self.listener], [], [], max(0.0, limit - time.monotonic()))
            sock, _ = self.listener.accept()  # BlockingIOError: nobody came in time
            self.add(sock, standing=True)

    def opened(self, host: str, source_port: int, limit: float) -> socket.socket:
        """A connection; tried again while nobody listens there yet."""
        while True:
            sock = open_outgoing_socket(self.address, source_port)
            try:
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

    def accept(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return  # no more, or it had gone again
            self.receive(self.add(sock, standing=False), sock.fileno())

    def add(self, sock: socket.socket, *, standing: bool) -> Incoming:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        incoming = self.incoming[sock.fileno()] = Incoming(sock, self.poll, self.wake_bytes, standing=standing)
        return incoming

    # --- what happens -------------------------------------------------------------------------------------

    def start(self, flow: Flow, scheduled_s: float, connection: int | None) -> None:
        flow.scheduled = scheduled_s
        if connection is not None:
            outgoing = self.standing[connection]
            outgoing.queue.append(flow)
            if outgoing.lost:
                self.over(outgoing.end(outgoing.lost))
            else:
                self.sent(outgoing, OUT)
        elif flow.to:
            self.open(flow)
        else:
            flow.start = scheduled_s
            self.over([flow.record("done", scheduled_s)])

    def open(self, flow: Flow) -> None:
        try:
            sock = open_outgoing_socket(self.address, flow.port)
        except OSError as error:
            self.over([flow.record(os.strerror(error.errno or 0), time.monotonic())])
            return
        flow.start = time.monotonic()
        refused = sock.connect_ex((flow.to, self.port))
        outgoing = self.outgoing[sock.fileno()] = Outgoing(sock, self.poll, standing=False)
        outgoing.queue.append(flow)
        if refused not in (0, errno.EINPROGRESS):
            del self.outgoing[sock.fileno()]
            self.over(outgoing.end(os.strerror(refused)))

    def sent(self, outgoing: Outgoing, events: int) -> None:
        """Something can be done for a connection that this host sends on."""
        number = outgoing.socket.fileno()
        records = list(outgoing.serve(events))
        if outgoing.lost:
            del self.outgoing[number]
        self.over(records)

    def over(self, records: Iterable[dict[str, Any]]) -> None:
        """Flows of this host are over, however they went; after END a host may be gone before the other knows."""
        for record in records:
            if record["how"] != "done" and time.monotonic() >= self.end_at:
                record["how"] = "cut off"
            self.left -= 1
            self.unwritten.append(json.dumps({"sent": record}, separators=(",", ":")))
            self.end(record["number"])

    def receive(self, incoming: Incoming, number: int) -> None:
        records = list(incoming.serve(self.buffer))
        if incoming.closed:
            del self.incoming[number]
        for record in records:
            self.coming -= 1
            self.unwritten.append(json.dumps({"arrived": record}, separators=(",", ":")))
            if record["how"] == "done":
                self.end(record["number"])

    def end(self, number: int) -> None:
        """A flow has ended, and this host knows: what waited for it may be due."""
        now = time.monotonic()
        for flow, connection in self.followers.pop(number, ()):
            flow.missing -= 1
            if not flow.missing:
                self.schedule(flow, connection, now)

    def wind_up(self) -> None:
        """END has come. Nothing starts any more, flows with a size are cut off, and flows that last end; what they have
        sent may still arrive."""
        self.agenda.clear()
        self.followers.clear()
        for outgoing in list(self.outgoing.values()):
            if not outgoing.connecting and any(flow.lasts for flow in outgoing.flows):
                outgoing.finish()
            elif outgoing.flows:
                self.cut_off(outgoing)
        earliest = self.end_at + GOODBYE_S
        latest = earliest + self.linger_s
        while (now := time.monotonic()) < latest and (now < earliest or self.under_way()):
            self.say()
            self.wait(earliest if now < earliest else latest)
        for outgoing in list(self.outgoing.values()):
            self.cut_off(outgoing)
        for coming in self.incoming.values():
            self.unwritten += [json.dumps({"arrived": record}) for record in coming.end("cut off")]
        self.say()

    def under_way(self) -> bool:
        going = any(connection.flows for connection in self.outgoing.values())
        return going or any(
            not connection.standing or connection.size is not None for connection in self.incoming.values()
        )

    def cut_off(self, outgoing: Outgoing) -> None:
        del self.outgoing[outgoing.socket.fileno()]
        self.over(outgoing.end("cut off"))

    def say(self, *words: str) -> None:
        if lines := [*words, *self.unwritten]:
            data = ("\n".join(lines) + "\n").encode()
            self.unwritten = []
            while data:
                data = data[os.write(1, data) :]


if __name__ == "__main__":
    Peer(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])).run()
