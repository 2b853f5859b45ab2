"""The traffic of a run on its hosts, in two kinds.

Flows that last have an iperf client each, and iperf's server on every receiver, or a sink of ours for all. Traffic
that comes and goes has a program on every host (`harness.hosts.peer`), which is told of its flows, and writes down what
became of each, at both its ends: times are seconds of the monotonic clock.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from harness.hosts import peer
from harness.hosts.connections import BIN_S, UNSENT_BYTES
from harness.network import Children, call_inside, wait_until
from record.completion_times import summarise_collective
from record.errors import RunFailed
from record.run import Collective
from record.spec import LINGER_S, RunSpec, linger_s
from topos.wire import ETHERNET_HEADER
from traffic.flows import SERVER_PORT, Matrix, Stream, draw_source_ports, make_generator
from traffic.graph import FlowGraph, list_ranks
from traffic.programs import FlowReport, Interval, make_client_command, make_server_command, parse_report
from traffic.workload import Workload

if TYPE_CHECKING:
    from harness.network import Fabric
    from harness.network.cpulimit import HostGroups


# Twenty times a second cost a guest 190 of 1,920 calls of its kernel in each second of traffic (k = 4, 10 Mb/s).
LOOK_S = 0.25
"""How often a run looks whether its programs have ended."""
# The reporting thread of an iperf client sleeps 16 ms at a time, which makes a third of all calls of a guest's kernel
# at 10 Mb/s. It has room for 10,000 writes, which take 1 s at 10 Gb/s, so it may sleep longer; no other timer of a
# client matters.
REPORT_S = 0.25
"""The timers of iperf's clients may end so much later than they are set."""


def let_timers_be_late() -> None:
    """Let the timers of this thread, and of what it starts, end later by REPORT_S, if the kernel allows it."""
    file = f"/proc/{threading.get_native_id()}/timerslack_ns"
    with contextlib.suppress(OSError), open(file, "wb", buffering=0) as slack:
        slack.write(b"%d" % round(REPORT_S * 1e9))


class Sent(msgspec.Struct, frozen=True, rename={"scheduled": "asked", "outcome": "how"}):
    """One flow as its sender saw it, in a line that calls ``scheduled`` asked and ``outcome`` how.

    ``scheduled``: when it was to start; ``start``: when it asked for a connection, or was first written to one that
    stood, None when it could not even do that; ``connected``: when it had one of its own; ``end``: when the receiver
    had confirmed it. ``outcome``: ``done``, ``cut off`` by the end of the run, or what went wrong, in the system's
    words. ``rtt_us``: the smoothed round-trip time at the end.
    """

    number: int
    scheduled: float
    start: float | None
    connected: float | None
    end: float
    outcome: str
    retransmissions: int
    rtt_us: int


class Arrived(msgspec.Struct, frozen=True, rename={"outcome": "how"}):
    """One flow as its receiver saw it: its ``first`` and ``last`` byte, and ``bins``, the bytes in each
    `harness.hosts.connections.BIN_S` after ``accepted``. ``outcome``: ``done``, ``cut off``, or what went wrong."""

    number: int
    outcome: str
    accepted: float
    first: float
    last: float
    bytes: int
    bins: tuple[int, ...]


class _Line(msgspec.Struct):
    sent: Sent | None = None
    arrived: Arrived | None = None


def read_records(outputs: Iterable[Path]) -> tuple[dict[int, Sent], dict[int, Arrived]]:
    """The records of both ends, by the numbers of their flows. Lines that are not records are skipped."""
    sent, arrived = {}, {}
    decoder = msgspec.json.Decoder(_Line)
    for output in outputs:
        for line in output.read_bytes().splitlines(keepends=True) if output.exists() else ():
            if line.startswith(b"{") and line.endswith(b"\n"):
                try:
                    record = decoder.decode(line)
                except msgspec.DecodeError:
                    # A process that was ended while it wrote leaves half a line.
                    continue
                if record.sent is not None:
                    sent[record.sent.number] = record.sent
                if record.arrived is not None:
                    arrived[record.arrived.number] = record.arrived
    return sent, arrived


@dataclass
class EmulatedFlow:
    """One flow: its hosts, its source port, when its client was started (seconds since the epoch).

    ``size_bytes``: None when it lasts. ``sent`` and ``arrived``: of flows that come and go, what both ends say.
    """

    src: int
    dst: int
    src_port: int
    size_bytes: int | None = None
    started: float = 0.0
    report: FlowReport | None = None
    sent: Sent | None = None
    arrived: Arrived | None = None

    def __str__(self) -> str:
        return f"{self.src} to {self.dst}"


class Traffic(ABC):
    """Runs on a fabric: `listen`, `start`, `wait`, `hang_up`, `collect`, in this order.

    ``groups``: the hosts' limits on processors, if they have any.
    ``troubles``: what went wrong, one sentence each, for the verdict; ``collective``: what became of a graph of flows.
    """

    def __init__(
        self, fabric: Fabric, spec: RunSpec, directory: Path, children: Children, groups: HostGroups | None = None
    ) -> None:
        self._fabric = fabric
        self._spec = spec
        self._directory = directory
        self._children = children
        self._groups = groups
        self.flows: list[EmulatedFlow] = []
        self.troubles: list[str] = []
        self.collective: Collective | None = None

    @abstractmethod
    def listen(self, deadline: float = 60.0) -> None:
        """Start what receives; RunFailed names a host that is not ready within ``deadline`` seconds."""

    @abstractmethod
    def start(self) -> float:
        """Begin to send; returns when (seconds since the epoch)."""

    @abstractmethod
    def wait(self, tick: Callable[[], None], every_s: float = LOOK_S) -> list[str]:
        """Wait until all is sent, and call ``tick`` every so many seconds. Returns the flows that hang."""

    def hang_up(self) -> None:  # noqa: B027, not all have something
        """End what still listens."""

    @abstractmethod
    def collect(self) -> list[str]:
        """Read what both ends wrote into the flows; returns the flows that did not run from start to end."""

    def _spawn(
        self,
        host: int | None,
        name: str,
        command: Sequence[str],
        output: str,
        *,
        handed: Sequence[int] = (),
        commands: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start a program of a host, or of all (None), with its output in a file of that name."""
        process = self._children.spawn(
            name,
            command,
            namespace=None if host is None else self._find_namespace(host),
            output=self._directory / output,
            group=self._group(host),
            # Before 2.2 iperf's time stamps do not say in which zone they are.
            environment={**os.environ, "TZ": "UTC"},
            handed=handed,
            commands=commands,
        )
        # Under SCHED_BATCH a program that is woken for a packet takes its turn, and pushes nobody off a processor:
        # links carried 94 to 95 % of what they should, without it 90 to 92 (docs/notes/emulation.md).
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(process.pid, os.SCHED_BATCH, os.sched_param(0))
        return process

    def _group(self, host: int | None) -> Path | None:
        if host is None or self._groups is None:
            return None
        return self._groups.of_host(self._fabric.topo.host_name(host))

    def _find_namespace(self, host: int) -> int:
        return self._fabric.pid_of(self._fabric.topo.host_name(host))


BLOCK_BYTES = 128 << 10
"""iperf writes so many bytes at once."""
SINK = str(Path(__file__).parents[1] / "hosts" / "sink.py")
HELD_S = 0.02
"""A client may have to wait so long for a processor, seconds."""


def compute_unsent_bytes(mbps: float) -> int:
    """What TCP may hold of a flow that it has not sent once, on links of that rate, bytes."""
    # A block of iperf's at least, and what a link carries while a client may have to wait for a processor, so that TCP
    # never runs dry. Left to itself a socket holds as much again as its window, and runs end 1.5 s later for it
    # (docs/notes/emulation.md, "What is kept, and what decided it").
    return max(BLOCK_BYTES, round(mbps * 1e6 / 8 * HELD_S))


class LastingFlows(Traffic):
    """A traffic matrix."""

    def __init__(
        self,
        fabric: Fabric,
        matrix: Matrix,
        spec: RunSpec,
        directory: Path,
        children: Children,
        groups: HostGroups | None = None,
    ) -> None:
        super().__init__(fabric, spec, directory, children, groups)
        self.flows = [
            EmulatedFlow(int(src), int(dst), int(port))
            for src, dst, port in zip(matrix.src, matrix.dst, draw_source_ports(matrix.src, spec.seed), strict=True)
        ]
        self._clients: list[tuple[EmulatedFlow, subprocess.Popen[bytes]]] = []

    def listen(self, deadline: float = 60.0) -> None:
        receivers = sorted({flow.dst for flow in self.flows})
        if self._spec.sink == "blocks":
            return self._start_sink(receivers)
        servers = {
            host: self._spawn(host, f"receiver on host {host}", make_server_command(), f"server-{host}.csv")
            for host in receivers
        }
        # They are started side by side, and looked at in turn: most listen by the time that the first one does. One
        # that has ended will never listen, so nobody waits for it until the deadline.
        deaf = list(receivers)

        def is_listening_or_dead() -> bool:
            deaf[:] = [host for host in deaf if not self._is_listening(host)]
            return not deaf or servers[deaf[0]].poll() is not None

        wait_until(is_listening_or_dead, deadline)
        if deaf and (status := servers[deaf[0]].poll()) is not None:
            raise RunFailed(f"what receives on host {deaf[0]} ended at once (status {status})")
        if deaf:
            raise RunFailed(f"nothing listened on host {deaf[0]} within {deadline:g} s")

    def _start_sink(self, receivers: list[int]) -> None:
        # The sockets are opened here, in each host's namespace, and handed to the sink by their numbers: it needs no
        # rights then, and all of them listen before it runs. Our own copies are closed.
        with contextlib.ExitStack() as our_copies:
            listeners = []
            for host in receivers:
                # All flows of a hotspot call one host within some milliseconds.
                listen = partial(socket.create_server, (self._fabric.topo.host_ip(host), SERVER_PORT), backlog=512)
                listeners.append(our_copies.enter_context(call_inside(self._find_namespace(host), listen)).fileno())
            command = [sys.executable, "-I", "-S", SINK, *map(str, listeners)]
            self._spawn(None, "receiver of all hosts", command, "servers.csv", handed=listeners)

    def _is_listening(self, host: int) -> bool:
        return is_listening_on(Path(f"/proc/{self._find_namespace(host)}/net/tcp").read_text(), SERVER_PORT)

    def start(self) -> float:
        """Start the clients in succession (section 6.2), at the moments that the seed draws; returns when it began."""
        spread_s = (self._spec.start_spread_ms or 0.0) / 1e3
        after_s = make_generator(self._spec.seed, Stream.STARTS).uniform(0.0, spread_s, len(self.flows)).tolist()
        # The thread that holds a host's namespace starts the host's clients, and they inherit its timers.
        for host in {flow.src for flow in self.flows}:
            call_inside(self._find_namespace(host), let_timers_be_late)
        begin = time.time()
        topo = self._fabric.topo
        for start_s, flow in sorted(zip(after_s, self.flows, strict=True), key=itemgetter(0)):
            time.sleep(max(0.0, begin + start_s - time.time()))
            source = (topo.host_ip(flow.src), flow.src_port)
            command = make_client_command(topo.host_ip(flow.dst), source, seconds=self._spec.seconds)
            flow.started = time.time()
            name = f"client-{flow.src}-{flow.src_port}"
            self._clients.append((flow, self._spawn(flow.src, name, command, f"{name}.csv")))
        return begin

    def wait(self, tick: Callable[[], None], every_s: float = LOOK_S) -> list[str]:
        """Wait until every client has ended, each of which may take `linger_s` longer than asked."""
        limit = time.monotonic() + self._spec.seconds + linger_s(self._spec)
        while time.monotonic() < limit:
            if all(client.poll() is not None for _, client in self._clients):
                return []
            tick()
            time.sleep(every_s)
        return [str(flow) for flow, client in self._clients if client.poll() is None]

    def hang_up(self) -> None:
        """End the servers: at once when all of them have written all they will, else as they like to be ended."""
        # A server writes a flow's last line when it has read the flow's end.
        # Where a flow was lost its line never comes, so a second is enough to wait; SIGTERM then makes iperf write what
        # it has.
        complete = wait_until(lambda: all(report and report.total for report in self._read_reports()), 1.0)
        servers = self._children.named("receiver")
        self._children.end(servers, deadline=0.0 if complete else 2.0)

    def _read_reports(self) -> list[FlowReport | None]:
        reports: dict[tuple[str, int], FlowReport] = {}
        for file in self._directory.glob("server*.csv"):
            reports.update(parse_report(file.read_text(errors="replace")))
        return [reports.get((self._fabric.topo.host_ip(flow.src), flow.src_port)) for flow in self.flows]

    def collect(self) -> list[str]:
        incomplete = []
        for flow, report in zip(self.flows, self._read_reports(), strict=True):
            flow.report = report
            if report is None or report.total is None:
                incomplete.append(str(flow))
            # A receiver's time begins when it accepts a flow and ends with the last byte that it gets, so it is a bit
            # shorter than the client's. A flow may miss one report of 1 s. This limit is as old as the first runs,
            # and no measurement of it is kept. One whose client died misses more.
            elif report.total.end_s < self._spec.seconds - 1:
                incomplete.append(f"{flow} ({report.total.end_s:g} s)")
        return incomplete


def is_listening_on(proc_net_tcp: str, port: int) -> bool:
    """Whether some socket in the text of /proc/PID/net/tcp listens on a port."""
    ends = f":{port:04X}"
    lines = (line.split() for line in proc_net_tcp.splitlines()[1:])
    return any(fields[1].endswith(ends) and fields[3] == "0A" for fields in lines)


PROGRAM = Path(peer.__file__).resolve()
# All programs have to hear of the beginning before it comes. One that heard too late would send its first flows late,
# which the verdict notices.
LEAD_S = 0.5
"""The traffic begins this many seconds after the programs are told."""
# A receiver that is woken for each segment costs the machine more than all the rest (`harness.hosts.connections`).
WAKE_S = 0.01
"""What a flow at full rate brings in this time wakes its receiver; less does not."""
# It shares its link with others to the end, so it gets more time than it would take alone.
LINGER_FACTOR = 4
"""A lasting flow that has written everything gets so many times as long as what still waits, in its socket and in a
queue, takes when it is alone."""


class Transfers(Traffic):
    """A workload whose flows start at their times, in turn, or when those that they wait for have ended. In a graph
    of flows hosts are connected before it begins, and stay so."""

    def __init__(
        self,
        fabric: Fabric,
        workload: Workload,
        spec: RunSpec,
        directory: Path,
        children: Children,
        groups: HostGroups | None = None,
    ) -> None:
        super().__init__(fabric, spec, directory, children, groups)
        self._workload = workload
        self._graph = workload.graph
        waiting = (UNSENT_BYTES + spec.queue * (spec.mtu + ETHERNET_HEADER)) * 8e-6 / spec.slowest_mbps
        self._linger_s = LINGER_S + LINGER_FACTOR * waiting
        self._programs: dict[int, subprocess.Popen[bytes]] = {}
        self._parts: dict[int, dict[str, Any]] = defaultdict(
            lambda: {"connections": [], "accepts": 0, "flows": [], "expects": 0}
        )
        """What each host is told of its part (`harness.hosts.peer`)."""
        self._by_number = self._plan() if self._graph is None else self._plan_graph(self._graph)
        self.flows = list(self._by_number.values())
        for flow in self.flows:
            self._parts[flow.dst]["expects"] += 1

    def _plan(self) -> dict[int, EmulatedFlow]:
        """Plan the parts; the flows by the numbers that hosts know them by."""
        flows = {}
        for flow in self._workload:
            flows[flow.number] = EmulatedFlow(flow.src, flow.dst, flow.src_port, flow.size_bytes)
            after = [] if flow.after is None else [flow.after]
            description = (
                flow.start_s or 0.0,
                self._fabric.topo.host_ip(flow.dst),
                flow.src_port,
                flow.size_bytes,
                after,
            )
            self._parts[flow.src]["flows"].append([flow.number, *description, None])
        return flows

    def _plan_graph(self, graph: FlowGraph) -> dict[int, EmulatedFlow]:
        for rank in list_ranks(graph, self._workload.standing.src_port):
            part = self._parts[rank.host]
            part["connections"] = [(self._fabric.topo.host_ip(host), port) for host, port in rank.connections]
            part["accepts"] = rank.accepts
            for step in rank.steps:
                description = (step.delay_s, None, 0, step.size_bytes, step.after, step.connection)
                part["flows"].append([step.number, *description])
        nodes = np.flatnonzero(~graph.computes)
        flows = self._workload.standing.take(nodes)
        sizes = graph.size_bytes[nodes].tolist()
        return {
            node: EmulatedFlow(flow.src, flow.dst, flow.src_port, size)
            for node, flow, size in zip(nodes.tolist(), flows, sizes, strict=True)
        }

    def listen(self, deadline: float = 60.0) -> None:
        wake_bytes = round(self._spec.link_mbps * 1e6 / 8 * WAKE_S)
        for host in self._parts:
            arguments = (self._fabric.topo.host_ip(host), SERVER_PORT, wake_bytes, self._linger_s)
            command = [sys.executable, "-I", "-S", str(PROGRAM), *map(str, arguments)]
            name = f"peer of host {host}"
            self._programs[host] = self._spawn(host, name, command, self._name_file(host).name, commands=True)
        for host, part in self._parts.items():
            self._tell(host, part)
        left = list(self._parts)

        def is_ready_or_dead() -> bool:
            left[:] = [host for host in left if not self._name_file(host).read_bytes().startswith(b"ready")]
            return not left or self._programs[left[0]].poll() is not None

        wait_until(is_ready_or_dead, deadline)
        if left:
            words = self._name_file(left[0]).read_text(errors="replace").strip().splitlines()
            reason = f": {words[-1]}" if words else f" within {deadline:g} s"
            raise RunFailed(f"the program of host {left[0]} does not listen{reason}")

    def _tell(self, host: int, line: object) -> None:
        pipe = self._programs[host].stdin
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which others find out
            pipe.write(f"{json.dumps(line)}\n".encode())
            pipe.flush()

    def _name_file(self, host: int) -> Path:
        return self._directory / f"peer-{host}.jsonl"

    def start(self) -> float:
        """Tell all programs when to begin; returns the beginning (seconds since the epoch)."""
        self._begin = time.monotonic() + LEAD_S
        for host in self._programs:
            self._tell(host, [self._begin, self._begin + self._spec.seconds])
        return self._to_epoch(self._begin)

    @staticmethod
    def _to_epoch(monotonic: float) -> float:
        return time.time() - time.monotonic() + monotonic

    def wait(self, tick: Callable[[], None], every_s: float = LOOK_S) -> list[str]:
        """Wait until every program has gone: when all is over, or at the end, which cuts off what is under way. One
        that is not gone some seconds later hangs. How each flow went, `collect` says."""
        # The programs themselves end at the end of the run, and wait `linger_s` for what is under way.
        limit = self._begin + self._spec.seconds + self._linger_s + LINGER_S
        while time.monotonic() < limit and any(program.poll() is None for program in self._programs.values()):
            tick()
            time.sleep(every_s)
        for host, program in self._programs.items():
            status = program.poll()
            if status is None:
                self.troubles.append(f"the program of host {host} did not end")
            elif status:
                self.troubles.append(f"the program of host {host} ended during the run (status {status})")
        self._children.end(self._children.named("peer of host"), deadline=0.0)
        return []

    def collect(self) -> list[str]:
        """Read the records into the flows. A sized flow that the end of the run cut off is not among those returned,
        unless all have to end: one that waits for its turn may not be left over."""
        topo = self._fabric.topo
        sent, arrived = read_records(map(self._name_file, self._programs))
        if self._graph is not None:
            start, end = np.full((2, len(self._graph)), np.nan)
            for number, record in sent.items():
                if record.start is not None and record.outcome == "done":
                    start[number] = record.start - self._begin
                    end[number] = (arrived[number].last if number in arrived else record.end) - self._begin
            self.collective = summarise_collective(self._graph, start, end, self._spec.link_mbps)
        all_must_end = self._graph is not None or self._workload.matrix is not None
        failed = []
        for number, flow in self._by_number.items():
            flow.sent, flow.arrived = sent.get(number), arrived.get(number)
            flow.started = self._to_epoch(self._begin)
            if flow.sent is not None:
                flow.started = self._to_epoch(flow.sent.start or flow.sent.scheduled)
                flow.report = _make_flow_report(topo.host_ip(flow.src), topo.host_ip(flow.dst), flow)
            outcome = "not started" if flow.sent is None else flow.sent.outcome
            cut = outcome == "cut off" or (outcome == "not started" and not self.troubles)
            if outcome != "done" and (all_must_end or not (cut and flow.size_bytes is not None)):
                failed.append(f"{flow} ({outcome})")
        return failed


def _make_flow_report(source: str, destination: str, flow: EmulatedFlow) -> FlowReport | None:
    """What a receiver saw of a flow, in the words that the verdict knows: seconds count from the sender's start.

    None when nothing arrived.
    """
    sent, arrived = flow.sent, flow.arrived
    assert sent is not None
    if arrived is None or sent.start is None:
        return None
    offset, last = arrived.accepted - sent.start, arrived.last - sent.start
    per_bin = [0, *accumulate(arrived.bins)]
    per_second = round(1 / BIN_S)
    whole = []
    for second in range(int(arrived.last - arrived.accepted)):
        count = per_bin[(second + 1) * per_second] - per_bin[second * per_second]
        begin = 0.0 if second == 0 else offset + second
        end = offset + second + 1
        whole.append(Interval(begin, end, count, count * 8 / (end - begin)))
    total = Interval(0.0, last, arrived.bytes, arrived.bytes * 8 / last if last > 0 else 0.0)
    return FlowReport(source, flow.src_port, destination, tuple(whole), total)
