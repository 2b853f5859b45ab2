"""How long round trips take while a run goes on, and what waits in the queues of the links meanwhile.

A packet on its way waits for its turn in the queue of a link, or for the machine. TCP knows the sum, the queues their
part; the rest is the machine's (`harness.judge.links_alone`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.network.queries import Queries
from harness.run.watch import Sampler
from traffic.ports import SERVER_PORT

if TYPE_CHECKING:
    from harness.network.fabric import Fabric

Connection = tuple[int, int, int]
"""Its two hosts and the client's port."""
SHARE_OF_A_PROCESSOR = 0.01
"""At most; with many hosts it looks more rarely."""


@dataclass(frozen=True)
class Look:
    """At one moment (seconds since the epoch): TCP's smoothed round-trip time of each connection, seconds, and the
    bytes in the queue of each sending port, a host standing for its own."""

    t: float
    rtt_s: Mapping[Connection, float]
    queued_bytes: Mapping[str, int]


class RoundTrips(Sampler):
    """Looks twice a second. ``looks`` stays short where the kernel does not answer: then nothing is known."""

    period_s = 0.5

    def __init__(self, fabric: Fabric) -> None:
        self.looks: list[Look] = []
        self._topo = fabric.topo
        self._opened = contextlib.ExitStack()
        self._switches: list[Queries] = []
        self._hosts: list[Queries] = []
        with contextlib.suppress(OSError):
            self._switches = [self._open(instance.pid) for instance in fabric.instances]
            self._hosts = [self._open(fabric.pid_of(name)) for name in fabric.topo.hosts]

    def _open(self, pid: int) -> Queries:
        return self._opened.enter_context(contextlib.closing(Queries(pid)))

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self._opened.close()

    def sample(self) -> None:
        """One look."""
        if len(self._hosts) < self._topo.num_hosts:
            return
        began = time.thread_time()
        try:
            self.looks.append(self._look())
        except OSError:
            self._hosts = []  # it will not answer the next time either
        cost = time.thread_time() - began
        self.period_s = max(self.period_s, cost / SHARE_OF_A_PROCESSOR)

    def _look(self) -> Look:
        rtt_s: dict[Connection, float] = {}
        queued: dict[str, int] = {}
        t = time.time()
        for instance in self._switches:
            queued |= instance.queued_bytes()
        for host, (name, queries) in enumerate(zip(self._topo.hosts, self._hosts, strict=True)):
            queued[name] = sum(queries.queued_bytes().values())
            for one in queries.round_trips(SERVER_PORT):
                rtt_s[host, self._topo.host_by_ip[one.destination], one.source_port] = one.rtt_s
        return Look(t, rtt_s, queued)
