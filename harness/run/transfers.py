"""Traffic that comes and goes: a sender and a sink on every host that needs one, which are told of flows in time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from harness.network.processes import wait_until
from harness.run.programs import Programs
from harness.run.senders import EmulatedFlow, listens_on
from traffic.flows import Flow
from traffic.ports import SERVER_PORT
from transfers import records

AHEAD_S = 3.0
"""How long before it is due a flow is told to its sender: much longer than the harness is ever away."""


class Transfers(Programs):
    """A workload whose flows start at their times, or in turn."""

    sends = "sender"

    def _prepare(self) -> None:
        self.all_must_end = self._workload.matrix is not None  # one that waits for its turn may not be left over
        self._source: Iterator[Flow] = iter(self._workload)
        self._next = next(self._source, None)

    def _hosts(self) -> tuple[list[int], list[int]]:
        """Who may send, and who may receive."""
        work = self._workload
        parts = [work.standing, work.listed]
        everybody = set(range(work.num_hosts))
        ends = []
        for side in ("src", "dst"):
            named = {int(host) for part in parts for host in getattr(part, side)}
            for one in work.arrivals:
                named |= everybody if one.matrix is None else set(getattr(one.matrix, side).tolist())
            ends.append(sorted(named))
        return ends[0], ends[1]

    def listen(self, deadline: float = 60.0) -> None:
        """Start sinks and senders; RunFailed names a host whose sink does not listen within ``deadline`` seconds."""
        sending, receiving = self._hosts()
        sinks = {host: self._spawn(host, "sink", self._wake_bytes) for host in receiving}
        for host in sending:
            self._spawn(host, "sender", self._linger_s)
        deaf = list(receiving)

        def listening_or_dead() -> bool:
            deaf[:] = [host for host in deaf if not self._is_listening(host)]
            return not deaf or sinks[deaf[0]].poll() is not None

        wait_until(listening_or_dead, deadline)
        if deaf:
            raise self._not_ready("sink", deaf[0], deadline)

    def _is_listening(self, host: int) -> bool:
        pid = self._fabric.pid_of(self._fabric.topo.host_name(host))
        return listens_on(Path(f"/proc/{pid}/net/tcp").read_text(), SERVER_PORT)

    def _feed(self) -> bool:
        """Tell the senders of the flows that are due soon."""
        horizon = time.monotonic() - self._begin + AHEAD_S
        topo = self._fabric.topo
        while (flow := self._next) is not None and (flow.start_s is None or flow.start_s <= horizon):
            words = (
                flow.number,
                flow.start_s,
                topo.host_ip(flow.dst),
                flow.src_port,
                flow.size_bytes,
                flow.after,
            )
            line = " ".join("-" if word is None else str(word) for word in words)
            self._senders[flow.src].unread += f"{line}\n".encode()
            self.flows.append(EmulatedFlow(flow.src, flow.dst, flow.src_port, flow.size_bytes))
            self._next = next(self._source, None)
        return self._next is not None

    def hang_up(self) -> None:
        """End the sinks, which write down what they still have."""
        self._children.end(self._children.named("sink of host"), deadline=2.0)

    def _records(self) -> tuple[Mapping[int, records.Sent], Mapping[int, records.Arrived]]:
        topo = self._fabric.topo
        sent = {one.number: one for host in self._senders for one in records.sent_by(self._file("sender", host))}
        receivers = sorted({flow.dst for flow in self.flows})
        arrived = {topo.host_ip(host): records.arrived_at(self._file("sink", host)) for host in receivers}
        keys = [
            records.Connection(number, topo.host_ip(flow.src), topo.host_ip(flow.dst), flow.src_port)
            for number, flow in enumerate(self.flows)
        ]
        return sent, records.paired(keys, sent, arrived)
