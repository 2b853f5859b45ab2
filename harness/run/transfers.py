"""Traffic that comes and goes: a program on every host (`harness.hosts.peer`), which is told of its flows in time, and
writes down what became of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import RunFailed
from harness.hosts import peer, records
from harness.hosts.connections import BIN_S, UNSENT_BYTES
from harness.network.cpulimit import HostGroups
from harness.network.fabric import Fabric
from harness.network.processes import Children, wait_until
from harness.run.spec import RunSpec
from harness.run.traffic import LINGER_S, EmulatedFlow, Traffic
from topos.wire import ETHERNET_HEADER
from traffic.graph import FlowGraph, completed
from traffic.iperf import FlowReport, Interval
from traffic.ports import SERVER_PORT
from traffic.ranks import Rank, ranks
from traffic.workload import Workload

PROGRAM = Path(peer.__file__).resolve()
LEAD_S = 0.5
"""From telling the programs when to begin until then: all must have heard it."""
AHEAD_S = 3.0
"""How long before it is due a flow is told to its sender: much longer than the harness is ever away."""
WAKE_S = 0.01
"""For how long a flow at full rate may arrive before its receiver is woken."""
SHARERS = 4
"""A lasting flow that has written all has so many times as long as it needs alone for what still waits, in its socket
and in a queue."""
MAX_WAITING = 1 << 24
"""Bytes that a program may leave unread before it is taken to hang."""


@dataclass
class Told:
    """A host's program, and what it has not read yet of what it is told."""

    process: subprocess.Popen[bytes]
    unread: bytearray = field(default_factory=bytearray)

    def tell(self, *lines: object) -> None:
        self.unread += "".join(f"{json.dumps(line)}\n" for line in lines).encode()

    def write(self) -> None:
        """As much as it reads now. RunFailed when it does not read."""
        pipe = self.process.stdin
        assert pipe is not None
        try:
            while self.unread:
                del self.unread[: os.write(pipe.fileno(), self.unread)]
        except BlockingIOError:
            if len(self.unread) > MAX_WAITING:
                raise RunFailed(f"process {self.process.pid} of a host does not read what it is told") from None
        except BrokenPipeError:
            self.unread.clear()  # it has ended: `wait` says so


class Transfers(Traffic):
    """A workload whose flows start at their times, in turn, or when those that they wait for have ended. In a graph
    of flows hosts are connected before it begins, and stay so."""

    def __init__(
        self, fabric: Fabric, workload: Workload, spec: RunSpec, directory: Path, children: Children, groups: HostGroups
    ) -> None:
        super().__init__(fabric, spec, directory, children, groups)
        self._workload = workload
        self._graph = workload.graph
        self._ranks = [] if self._graph is None else ranks(self._graph, workload.standing.src_port)
        self._numbers: list[int] = []
        """Of each of ``flows``, as its hosts know it."""
        waiting = (UNSENT_BYTES + spec.queue * (spec.mtu + ETHERNET_HEADER)) * 8e-6 / spec.link_mbps
        self._linger_s = LINGER_S + SHARERS * waiting
        self._programs: dict[int, Told] = {}
        self._begin = 0.0
        self._told_all = False
        self._coming = self._lines() if self._graph is None else self._graph_lines(self._graph)
        self._next = next(self._coming, None)

    # --- what the programs are told -------------------------------------------------------------------------

    def _lines(self) -> Iterator[tuple[float, int, list[Any]]]:
        ip = self._fabric.topo.host_ip
        for flow in self._workload:
            self._add(flow.number, EmulatedFlow(flow.src, flow.dst, flow.src_port, flow.size_bytes))
            after = [] if flow.after is None else [flow.after]
            due = flow.start_s or 0.0
            yield due, flow.src, [flow.number, due, ip(flow.dst), flow.src_port, flow.size_bytes, after, None]

    def _graph_lines(self, graph: FlowGraph) -> Iterator[tuple[float, int, list[Any]]]:
        nodes = np.flatnonzero(~graph.computes).tolist()
        for node, flow in zip(nodes, self._workload.standing.take(np.array(nodes)), strict=True):
            self._add(node, EmulatedFlow(flow.src, flow.dst, flow.src_port, int(graph.size_bytes[node])))
        for rank in self._ranks:
            for step in rank.steps:
                line = [step.number, step.delay_s, None, 0, step.size_bytes, step.after, step.connection]
                yield 0.0, rank.host, line

    def _add(self, number: int, flow: EmulatedFlow) -> None:
        self._numbers.append(number)
        self.flows.append(flow)

    def _tell(self) -> None:
        """Tell the programs of what is due soon; at the end, how many flows come to each."""
        horizon = time.monotonic() - self._begin + AHEAD_S
        while self._next is not None and self._next[0] <= horizon:
            _, host, line = self._next
            self._programs[host].tell(line)
            self._next = next(self._coming, None)
        if self._next is None and not self._told_all:
            self._told_all = True
            expects = Counter(flow.dst for flow in self.flows)
            for host, program in self._programs.items():
                program.tell(expects[host])
        for program in self._programs.values():
            program.write()

    # --- the run --------------------------------------------------------------------------------------------

    def listen(self, deadline: float = 60.0) -> None:
        plans = {rank.host: rank for rank in self._ranks} or dict.fromkeys(_hosts(self._workload))
        wake_bytes = round(self._spec.link_mbps * 1e6 / 8 * WAKE_S)
        for host, rank in plans.items():
            arguments = (self._fabric.topo.host_ip(host), SERVER_PORT, wake_bytes, self._linger_s)
            command = [sys.executable, "-I", "-S", str(PROGRAM), *map(str, arguments)]
            process = self._spawn(host, f"peer of host {host}", command, self._file(host).name, commands=True)
            assert process.stdin is not None
            os.set_blocking(process.stdin.fileno(), False)
            program = self._programs[host] = Told(process)
            program.tell(self._connections(rank))
            program.write()
        left = list(plans)

        def ready_or_dead() -> bool:
            left[:] = [host for host in left if not self._file(host).read_bytes().startswith(b"ready")]
            return not left or self._programs[left[0]].process.poll() is not None

        wait_until(ready_or_dead, deadline)
        if left:
            words = self._file(left[0]).read_text(errors="replace").strip().splitlines()
            said = f": {words[-1]}" if words else f" within {deadline:g} s"
            raise RunFailed(f"the program of host {left[0]} does not listen{said}")

    def _connections(self, rank: Rank | None) -> dict[str, Any]:
        if rank is None:
            return {"connections": [], "accepts": 0}
        to = [(self._fabric.topo.host_ip(host), port) for host, port in rank.connections]
        return {"connections": to, "accepts": rank.accepts}

    def _file(self, host: int) -> Path:
        return self._directory / f"peer-{host}.jsonl"

    def start(self) -> float:
        """Tell all programs when to begin, and the first flows; returns the beginning (seconds since the epoch)."""
        self._begin = time.monotonic() + LEAD_S
        for program in self._programs.values():
            program.tell([self._begin, self._begin + self._spec.seconds])
        self._tell()
        return self._epoch(self._begin)

    @staticmethod
    def _epoch(monotonic: float) -> float:
        return time.time() - time.monotonic() + monotonic

    def wait(self, tick: Callable[[], None]) -> list[str]:
        """Wait until every program has gone: when all is over, or at the end, which cuts off what is under way. One
        that is not gone some seconds later hangs. How each flow went, `collect` says."""
        limit = self._begin + self._spec.seconds + self._linger_s + LINGER_S
        while time.monotonic() < limit and any(one.process.poll() is None for one in self._programs.values()):
            self._tell()
            tick()
            time.sleep(0.05)
        for host, program in self._programs.items():
            status = program.process.poll()
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
        sent, arrived = records.read(map(self._file, self._programs))
        if self._graph is not None:
            start, end = np.full((2, len(self._graph)), np.nan)
            for number, one in sent.items():
                if one.start is not None and one.how == "done":
                    start[number] = one.start - self._begin
                    end[number] = (arrived[number].last if number in arrived else one.end) - self._begin
            self.collective = completed(self._graph, start, end)
        all_must_end = self._graph is not None or self._workload.matrix is not None
        failed = []
        for number, flow in zip(self._numbers, self.flows, strict=True):
            flow.sent, flow.arrived = sent.get(number), arrived.get(number)
            flow.started = self._epoch(self._begin)
            if flow.sent is not None:
                flow.started = self._epoch(flow.sent.start or flow.sent.asked)
                flow.report = _report(topo.host_ip(flow.src), topo.host_ip(flow.dst), flow)
            how = "not started" if flow.sent is None else flow.sent.how
            cut = how == "cut off" or (how == "not started" and not self.troubles)
            if how != "done" and (all_must_end or not (cut and flow.size_bytes is not None)):
                failed.append(f"{flow} ({how})")
        return failed


def _hosts(work: Workload) -> list[int]:
    found = {int(host) for part in (work.standing, work.listed) for host in (*part.src, *part.dst)}
    for one in work.arrivals:
        matrix = one.matrix
        found |= set(range(work.num_hosts)) if matrix is None else {*matrix.src.tolist(), *matrix.dst.tolist()}
    return sorted(found)


def _report(source: str, destination: str, flow: EmulatedFlow) -> FlowReport | None:
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
