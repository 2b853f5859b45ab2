"""The iperf processes of a run whose flows last: a server on every receiver, a client for every flow."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RunFailed
from harness.network.cpulimit import HostGroups
from harness.network.processes import Children, wait_until
from harness.run.spec import RunSpec
from traffic.iperf import FlowReport, client_command, parse_report, server_command
from traffic.matrix import Matrix
from traffic.ports import SERVER_PORT, source_ports
from transfers.records import Arrived, Sent

if TYPE_CHECKING:
    from harness.network.fabric import Fabric

LINGER_S = 5.0
LINGERING_BYTES = 1 << 20
"""What a client may have written when its time is over and still has to get through a link that it shares: iperf's
block, what TCP holds of it, and two windows."""
BLOCK_BYTES = 128 << 10
"""What iperf writes at once."""
HELD_S = 0.02
"""For how long a client may have to wait for a processor, seconds."""


def unsent_bytes(bw: float) -> int:
    """What TCP may hold of a flow that it has not sent once, on links of ``bw`` Mb/s.

    A block of iperf's at least, and what a link carries while a client may have to wait for a processor, so that TCP
    never runs dry. Left to itself a socket holds as much again as its window, and a client is done the later for it:
    at 10 Mb/s by a second and a half (docs/notes/emulation.md).
    """
    return max(BLOCK_BYTES, round(bw * 1e6 / 8 * HELD_S))


def linger_s(bw: float) -> float:
    """Seconds a client may take longer than asked on links of ``bw`` Mb/s."""
    return LINGER_S + LINGERING_BYTES * 8e-6 / bw


@dataclass
class EmulatedFlow:
    """One flow: its hosts, its source port, when its client was started (seconds since the epoch).

    ``size_bytes``: None when it lasts. ``sent`` and ``arrived``: of flows that come and go, what both ends say.
    """

    src: int
    dst: int
    src_port: int
    size_bytes: int | None = None
    client: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    report: FlowReport | None = None
    sent: Sent | None = None
    arrived: Arrived | None = None


class Senders:
    """Runs a traffic matrix on a fabric: `listen`, `start`, `wait`, `collect`."""

    def __init__(
        self,
        fabric: Fabric,
        matrix: Matrix,
        spec: RunSpec,
        directory: Path,
        children: Children,
        groups: HostGroups,
    ) -> None:
        self._fabric = fabric
        self._seconds = spec.seconds
        self._linger_s = linger_s(spec.link_mbps)
        self._directory = directory
        self._children = children
        self._groups = groups
        self.troubles: list[str] = []
        self.flows = [
            EmulatedFlow(int(src), int(dst), int(port))
            for src, dst, port in zip(matrix.src, matrix.dst, source_ports(matrix, spec.seed), strict=True)
        ]

    def _spawn(self, host: int, name: str, command: list[str], output: Path) -> subprocess.Popen[bytes]:
        node = self._fabric.topo.host_name(host)
        process = self._children.spawn(
            name,
            command,
            namespace=self._fabric.pid_of(node),
            output=output,
            cgroup_procs=self._groups.procs_file(node),
            environment={**os.environ, "TZ": "UTC"},
        )
        with contextlib.suppress(ProcessLookupError):
            # An iperf that is woken for a packet takes its turn and pushes nobody off a processor.
            os.sched_setscheduler(process.pid, os.SCHED_BATCH, os.sched_param(0))
        return process

    def listen(self, deadline: float = 10.0) -> None:
        """Start the servers; RunFailed names a host whose server does not listen within ``deadline`` seconds."""
        receivers = sorted({flow.dst for flow in self.flows})
        servers = {
            host: self._spawn(host, f"iperf server on host {host}", server_command(), self._server_file(host))
            for host in receivers
        }
        deaf = list(receivers)

        def listening_or_dead() -> bool:
            deaf[:] = [host for host in deaf if not self._is_listening(host)]
            return not deaf or servers[deaf[0]].poll() is not None

        wait_until(listening_or_dead, deadline)
        if deaf and (status := servers[deaf[0]].poll()) is not None:
            raise RunFailed(f"iperf on host {deaf[0]} ended at once (status {status})")
        if deaf:
            raise RunFailed(f"iperf did not listen on host {deaf[0]} within {deadline:g} s")

    def _is_listening(self, host: int) -> bool:
        pid = self._fabric.pid_of(self._fabric.topo.host_name(host))
        return listens_on(Path(f"/proc/{pid}/net/tcp").read_text(), SERVER_PORT)

    def start(self) -> float:
        """Start the clients in succession (section 6.2); returns when the first one started."""
        begin = time.time()
        for flow in self.flows:
            self._start_client(flow)
        return begin

    def _start_client(self, flow: EmulatedFlow) -> None:
        topo = self._fabric.topo
        source = (topo.host_ip(flow.src), flow.src_port)
        command = client_command(topo.host_ip(flow.dst), source, seconds=self._seconds)
        flow.started = time.time()
        name = f"client-{flow.src}-{flow.src_port}"
        flow.client = self._spawn(flow.src, name, command, self._directory / f"{name}.csv")

    def wait(self, tick: Callable[[], None]) -> list[str]:
        """Wait until every client has ended; ``tick`` is called often.

        A client may take LINGER_S and the time of LINGERING_BYTES at the link rate longer than asked. Returns the
        flows that had not ended by then.
        """
        limit = time.monotonic() + self._seconds + self._linger_s
        while time.monotonic() < limit:
            running = [flow for flow in self.flows if flow.client is not None and flow.client.poll() is None]
            if not running:
                return []
            tick()
            time.sleep(0.05)
        return [label(flow) for flow in self.flows if flow.client is None or flow.client.poll() is None]

    def hang_up(self) -> None:
        """End the servers: at once when all of them have written all they will, else as they like to be ended."""
        # A server writes a flow's last line when it has read the flow's end.
        complete = wait_until(lambda: all(report and report.total for report in self._reports()), 1.0)
        servers = self._children.named("iperf server")
        self._children.end(servers, deadline=0.0 if complete else 2.0)

    def _reports(self) -> list[FlowReport | None]:
        """The servers' report on each flow, as far as it is written."""
        reports: dict[tuple[str, int], FlowReport] = {}
        for host in {flow.dst for flow in self.flows}:
            reports.update(parse_report(self._server_file(host).read_text(errors="replace")).flows)
        return [reports.get((self._fabric.topo.host_ip(flow.src), flow.src_port)) for flow in self.flows]

    def collect(self) -> list[str]:
        """Read the servers' reports into the flows; returns the flows that did not run from start to end."""
        incomplete = []
        for flow, report in zip(self.flows, self._reports(), strict=True):
            flow.report = report
            total = None if flow.report is None else flow.report.total
            if total is None:
                incomplete.append(label(flow))
            elif total.end_s < self._seconds - 1:
                incomplete.append(f"{label(flow)} ({total.end_s:g} s)")
        return incomplete

    def _server_file(self, host: int) -> Path:
        return self._directory / f"server-{host}.csv"


def label(flow: EmulatedFlow) -> str:
    """A flow by its hosts, as sentences name it."""
    return f"{flow.src} to {flow.dst}"


def listens_on(proc_net_tcp: str, port: int) -> bool:
    """Whether some socket in the text of /proc/PID/net/tcp listens on a port."""
    ends = f":{port:04X}"
    for line in proc_net_tcp.splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(ends) and fields[3] == "0A":
            return True
    return False
