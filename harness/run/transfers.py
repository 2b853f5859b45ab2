"""Traffic that comes and goes: a program on every host (`harness.hosts.peer`), which is told of its flows, and writes
down what became of each."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import RunFailed
from harness.hosts import peer, records
from harness.hosts.connections import BIN_S, UNSENT_BYTES
from harness.network.fabric import Fabric
from harness.network.processes import Children, wait_until
from harness.run.spec import LINGER_S, RunSpec
from harness.run.traffic import EmulatedFlow, Traffic
from record.completion import completed
from topos.wire import ETHERNET_HEADER
from traffic.flows import SERVER_PORT
from traffic.graph import FlowGraph, ranks
from traffic.iperf import FlowReport, Interval
from traffic.workload import Workload

PROGRAM = Path(peer.__file__).resolve()
LEAD_S = 0.5
"""From telling the programs when to begin until then: all must have heard it."""
WAKE_S = 0.01
"""For how long a flow at full rate may arrive before its receiver is woken."""
SHARERS = 4
"""A lasting flow that has written all has so many times as long as it needs alone for what still waits, in its socket
and in a queue."""


class Transfers(Traffic):
    """A workload whose flows start at their times, in turn, or when those that they wait for have ended. In a graph
    of flows hosts are connected before it begins, and stay so."""

    def __init__(self, fabric: Fabric, workload: Workload, spec: RunSpec, directory: Path, children: Children) -> None:
        super().__init__(fabric, spec, directory, children)
        self._workload = workload
        self._graph = workload.graph
        waiting = (UNSENT_BYTES + spec.queue * (spec.mtu + ETHERNET_HEADER)) * 8e-6 / spec.slowest_mbps
        self._linger_s = LINGER_S + SHARERS * waiting
        self._programs: dict[int, subprocess.Popen[bytes]] = {}
        self._parts: dict[int, dict[str, Any]] = defaultdict(
            lambda: {"connections": [], "accepts": 0, "flows": [], "expects": 0}
        )
        """What each host is told of its part (`harness.hosts.peer`)."""
        self._by_number = self._planned() if self._graph is None else self._planned_graph(self._graph)
        self.flows = list(self._by_number.values())
        for flow in self.flows:
            self._parts[flow.dst]["expects"] += 1

    def _planned(self) -> dict[int, EmulatedFlow]:
        """Plan the parts; the flows by the numbers that hosts know them by."""
        found = {}
        for flow in self._workload:
            found[flow.number] = EmulatedFlow(flow.src, flow.dst, flow.src_port, flow.size_bytes)
            after = [] if flow.after is None else [flow.after]
            how = (flow.start_s or 0.0, self._fabric.topo.host_ip(flow.dst), flow.src_port, flow.size_bytes, after)
            self._parts[flow.src]["flows"].append([flow.number, *how, None])
        return found

    def _planned_graph(self, graph: FlowGraph) -> dict[int, EmulatedFlow]:
        for rank in ranks(graph, self._workload.standing.src_port):
            part = self._parts[rank.host]
            part["connections"] = [(self._fabric.topo.host_ip(host), port) for host, port in rank.connections]
            part["accepts"] = rank.accepts
            for step in rank.steps:
                how = (step.delay_s, None, 0, step.size_bytes, step.after, step.connection)
                part["flows"].append([step.number, *how])
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
            self._programs[host] = self._spawn(host, name, command, self._file(host).name, commands=True)
        for host, part in self._parts.items():
            self._tell(host, part)
        left = list(self._parts)

        def ready_or_dead() -> bool:
            left[:] = [host for host in left if not self._file(host).read_bytes().startswith(b"ready")]
            return not left or self._programs[left[0]].poll() is not None

        wait_until(ready_or_dead, deadline)
        if left:
            words = self._file(left[0]).read_text(errors="replace").strip().splitlines()
            said = f": {words[-1]}" if words else f" within {deadline:g} s"
            raise RunFailed(f"the program of host {left[0]} does not listen{said}")

    def _tell(self, host: int, line: object) -> None:
        pipe = self._programs[host].stdin
        assert pipe is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which others find out
            pipe.write(f"{json.dumps(line)}\n".encode())
            pipe.flush()

    def _file(self, host: int) -> Path:
        return self._directory / f"peer-{host}.jsonl"

    def start(self) -> float:
        """Tell all programs when to begin; returns the beginning (seconds since the epoch)."""
        self._begin = time.monotonic() + LEAD_S
        for host in self._programs:
            self._tell(host, [self._begin, self._begin + self._spec.seconds])
        return self._epoch(self._begin)

    @staticmethod
    def _epoch(monotonic: float) -> float:
        return time.time() - time.monotonic() + monotonic

    def wait(self, tick: Callable[[], None]) -> list[str]:
        """Wait until every program has gone: when all is over, or at the end, which cuts off what is under way. One
        that is not gone some seconds later hangs. How each flow went, `collect` says."""
        limit = self._begin + self._spec.seconds + self._linger_s + LINGER_S
        while time.monotonic() < limit and any(program.poll() is None for program in self._programs.values()):
            tick()
            time.sleep(0.05)
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
        sent, arrived = records.read(map(self._file, self._programs))
        if self._graph is not None:
            start, end = np.full((2, len(self._graph)), np.nan)
            for number, one in sent.items():
                if one.start is not None and one.how == "done":
                    start[number] = one.start - self._begin
                    end[number] = (arrived[number].last if number in arrived else one.end) - self._begin
            self.collective = completed(self._graph, start, end, self._spec.link_mbps)
        all_must_end = self._graph is not None or self._workload.matrix is not None
        failed = []
        for number, flow in self._by_number.items():
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
