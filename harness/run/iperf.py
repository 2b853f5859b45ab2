"""The processes of a run whose flows last: iperf's server on every receiver or a sink of ours for all, an iperf client
for every flow."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from pathlib import Path

from harness.errors import RunFailed
from harness.network.fabric import Fabric
from harness.network.namespaces import inside
from harness.network.processes import Children, wait_until
from harness.run.spec import RunSpec, linger_s
from harness.run.traffic import EmulatedFlow, Traffic
from traffic.flows import SERVER_PORT, Matrix, source_ports
from traffic.iperf import FlowReport, client_command, parse_report, server_command
from traffic.streams import Stream, generator

BLOCK_BYTES = 128 << 10
"""What iperf writes at once."""
SINK = str(Path(__file__).parents[1] / "hosts" / "sink.py")
HELD_S = 0.02
"""For how long a client may have to wait for a processor, seconds."""


def unsent_bytes(mbps: float) -> int:
    """What TCP may hold of a flow that it has not sent once, on links of that rate.

    A block of iperf's at least, and what a link carries while a client may have to wait for a processor, so that TCP
    never runs dry. Left to itself a socket holds as much again as its window, and a client is done the later for it:
    at 10 Mb/s by a second and a half (docs/notes/emulation.md).
    """
    return max(BLOCK_BYTES, round(mbps * 1e6 / 8 * HELD_S))


class Iperf(Traffic):
    """A traffic matrix."""

    def __init__(self, fabric: Fabric, matrix: Matrix, spec: RunSpec, directory: Path, children: Children) -> None:
        super().__init__(fabric, spec, directory, children)
        self.flows = [
            EmulatedFlow(int(src), int(dst), int(port))
            for src, dst, port in zip(matrix.src, matrix.dst, source_ports(matrix, spec.seed), strict=True)
        ]
        self._clients: list[tuple[EmulatedFlow, subprocess.Popen[bytes]]] = []

    def listen(self, deadline: float = 60.0) -> None:
        receivers = sorted({flow.dst for flow in self.flows})
        if self._spec.sink == "blocks":
            return self._take_in(receivers)
        servers = {
            host: self._spawn(host, f"receiver on host {host}", server_command(), f"server-{host}.csv")
            for host in receivers
        }
        deaf = list(receivers)

        def listening_or_dead() -> bool:
            deaf[:] = [host for host in deaf if not self._is_listening(host)]
            return not deaf or servers[deaf[0]].poll() is not None

        wait_until(listening_or_dead, deadline)
        if deaf and (status := servers[deaf[0]].poll()) is not None:
            raise RunFailed(f"what receives on host {deaf[0]} ended at once (status {status})")
        if deaf:
            raise RunFailed(f"nothing listened on host {deaf[0]} within {deadline:g} s")

    def _take_in(self, receivers: list[int]) -> None:
        with contextlib.ExitStack() as ours:
            listeners = []
            for host in receivers:
                listen = partial(socket.create_server, (self._fabric.topo.host_ip(host), SERVER_PORT), backlog=512)
                listeners.append(ours.enter_context(inside(self._namespace(host), listen)).fileno())
            command = [sys.executable, "-I", "-S", SINK, *map(str, listeners)]
            self._spawn(None, "receiver of all hosts", command, "servers.csv", handed=listeners)

    def _is_listening(self, host: int) -> bool:
        return listens_on(Path(f"/proc/{self._namespace(host)}/net/tcp").read_text(), SERVER_PORT)

    def start(self) -> float:
        """Start the clients in succession (section 6.2), at the moments that the seed draws; returns when it began."""
        spread_s = (self._spec.start_spread_ms or 0.0) / 1e3
        after_s = generator(self._spec.seed, Stream.STARTS).uniform(0.0, spread_s, len(self.flows)).tolist()
        begin = time.time()
        topo = self._fabric.topo
        for due_s, flow in sorted(zip(after_s, self.flows, strict=True), key=itemgetter(0)):
            time.sleep(max(0.0, begin + due_s - time.time()))
            source = (topo.host_ip(flow.src), flow.src_port)
            command = client_command(topo.host_ip(flow.dst), source, seconds=self._spec.seconds)
            flow.started = time.time()
            name = f"client-{flow.src}-{flow.src_port}"
            self._clients.append((flow, self._spawn(flow.src, name, command, f"{name}.csv")))
        return begin

    def wait(self, tick: Callable[[], None]) -> list[str]:
        """Wait until every client has ended, each of which may take `linger_s` longer than asked."""
        limit = time.monotonic() + self._spec.seconds + linger_s(self._spec.slowest_mbps)
        while time.monotonic() < limit:
            if all(client.poll() is not None for _, client in self._clients):
                return []
            tick()
            time.sleep(0.05)
        return [str(flow) for flow, client in self._clients if client.poll() is None]

    def hang_up(self) -> None:
        """End the servers: at once when all of them have written all they will, else as they like to be ended."""
        # A server writes a flow's last line when it has read the flow's end.
        complete = wait_until(lambda: all(report and report.total for report in self._reports()), 1.0)
        servers = self._children.named("receiver")
        self._children.end(servers, deadline=0.0 if complete else 2.0)

    def _reports(self) -> list[FlowReport | None]:
        reports: dict[tuple[str, int], FlowReport] = {}
        for file in self._directory.glob("server*.csv"):
            reports.update(parse_report(file.read_text(errors="replace")))
        return [reports.get((self._fabric.topo.host_ip(flow.src), flow.src_port)) for flow in self.flows]

    def collect(self) -> list[str]:
        incomplete = []
        for flow, report in zip(self.flows, self._reports(), strict=True):
            flow.report = report
            if report is None or report.total is None:
                incomplete.append(str(flow))
            elif report.total.end_s < self._spec.seconds - 1:
                incomplete.append(f"{flow} ({report.total.end_s:g} s)")
        return incomplete


def listens_on(proc_net_tcp: str, port: int) -> bool:
    """Whether some socket in the text of /proc/PID/net/tcp listens on a port."""
    ends = f":{port:04X}"
    lines = (line.split() for line in proc_net_tcp.splitlines()[1:])
    return any(fields[1].endswith(ends) and fields[3] == "0A" for fields in lines)
