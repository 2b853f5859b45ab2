"""Traffic that comes and goes: a sender and a sink on every host that needs one, which are told of flows in time."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from harness.errors import RunFailed
from harness.network.cpulimit import HostGroups
from harness.network.fabric import Fabric
from harness.network.processes import Children, wait_until
from harness.run.senders import LINGER_S, EmulatedFlow, label, listens_on
from harness.run.spec import RunSpec
from topos.wire import ETHERNET_HEADER
from traffic.flows import Flow
from traffic.iperf import FlowReport, Interval
from traffic.ports import SERVER_PORT
from traffic.workload import Workload
from transfers import records
from transfers.sender import UNSENT_BYTES
from transfers.sink import BIN_S

PROGRAMS = Path(__file__).resolve().parents[2] / "transfers"
LEAD_S = 0.5
"""From telling the senders when to begin until then: all must have heard it."""
AHEAD_S = 3.0
"""How long before it is due a flow is told to its sender: much longer than the harness is ever away."""
WAKE_S = 0.01
"""For how long a flow at full rate may arrive before its sink is woken."""
SHARERS = 4
"""A lasting flow that has written all has so many times as long as it needs alone for what still waits, in its socket
and in a queue."""
MAX_WAITING = 1 << 24
"""Bytes that a sender may leave unread before it is taken to hang."""


@dataclass
class _Sender:
    process: subprocess.Popen[bytes]
    unread: bytearray = field(default_factory=bytearray)


class Transfers:
    """Runs a workload on a fabric: `listen`, `start`, `wait`, `hang_up`, `collect`, as `harness.run.senders`."""

    def __init__(
        self,
        fabric: Fabric,
        workload: Workload,
        spec: RunSpec,
        directory: Path,
        children: Children,
        groups: HostGroups,
    ) -> None:
        self._fabric = fabric
        self._workload = workload
        self._spec = spec
        self._directory = directory
        self._children = children
        self._groups = groups
        self._source: Iterator[Flow] = iter(workload)
        self._next = next(self._source, None)
        waiting = (UNSENT_BYTES + spec.queue * (spec.mtu + ETHERNET_HEADER)) * 8e-6 / spec.link_mbps
        self._linger_s = LINGER_S + SHARERS * waiting
        self._senders: dict[int, _Sender] = {}
        self._begin = 0.0
        self.flows: list[EmulatedFlow] = []
        self.troubles: list[str] = []
        """What went wrong, one sentence each, for the verdict."""

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

    def _spawn(self, host: int, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        topo = self._fabric.topo
        command = [sys.executable, "-I", "-S", str(PROGRAMS / f"{program}.py")]
        process = self._children.spawn(
            f"{program} of host {host}",
            [*command, topo.host_ip(host), str(SERVER_PORT), *map(str, arguments)],
            namespace=self._fabric.pid_of(topo.host_name(host)),
            output=self._file(program, host),
            cgroup_procs=self._groups.procs_file(topo.host_name(host)),
            commands=program == "sender",
        )
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(process.pid, os.SCHED_BATCH, os.sched_param(0))  # as iperf
        return process

    def _file(self, program: str, host: int) -> Path:
        return self._directory / f"{program}-{host}.jsonl"

    def listen(self, deadline: float = 60.0) -> None:
        """Start sinks and senders; RunFailed names a host whose sink does not listen within ``deadline`` seconds."""
        sending, receiving = self._hosts()
        wake_bytes = round(self._spec.link_mbps * 1e6 / 8 * WAKE_S)
        sinks = {host: self._spawn(host, "sink", wake_bytes) for host in receiving}
        for host in sending:
            process = self._spawn(host, "sender", self._linger_s)
            assert process.stdin is not None
            os.set_blocking(process.stdin.fileno(), False)
            self._senders[host] = _Sender(process)
        deaf = list(receiving)

        def listening_or_dead() -> bool:
            deaf[:] = [host for host in deaf if not self._is_listening(host)]
            return not deaf or sinks[deaf[0]].poll() is not None

        wait_until(listening_or_dead, deadline)
        if deaf:
            words = self._file("sink", deaf[0]).read_text(errors="replace").strip().splitlines()
            said = f": {words[-1]}" if words else f" within {deadline:g} s"
            raise RunFailed(f"the sink of host {deaf[0]} does not listen{said}")

    def _is_listening(self, host: int) -> bool:
        pid = self._fabric.pid_of(self._fabric.topo.host_name(host))
        return listens_on(Path(f"/proc/{pid}/net/tcp").read_text(), SERVER_PORT)

    def start(self) -> float:
        """Tell all senders when to begin, and the first flows; returns the beginning (seconds since the epoch)."""
        self._begin = time.monotonic() + LEAD_S
        for sender in self._senders.values():
            sender.unread += f"{self._begin} {self._begin + self._spec.seconds}\n".encode()
        self._feed()
        return self._epoch(self._begin)

    @staticmethod
    def _epoch(monotonic: float) -> float:
        return time.time() - time.monotonic() + monotonic

    def _feed(self) -> None:
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
        for host, sender in self._senders.items():
            self._tell(host, sender)

    def _tell(self, host: int, sender: _Sender) -> None:
        pipe = sender.process.stdin
        assert pipe is not None
        if pipe.closed:
            return
        try:
            while sender.unread:
                del sender.unread[: os.write(pipe.fileno(), sender.unread)]
        except BlockingIOError:
            if len(sender.unread) > MAX_WAITING:
                raise RunFailed(f"the sender of host {host} does not read what it is told") from None
        except BrokenPipeError:
            sender.unread.clear()
            pipe.close()  # it has ended: `wait` says so
            return
        if self._next is None and not sender.unread:
            pipe.close()

    def wait(self, tick: Callable[[], None]) -> list[str]:
        """Wait until every sender has sent its flows and gone; ``tick`` is called often.

        Senders cut off at the end what is under way then; one that is not gone some seconds later hangs. Returns
        nothing: how each flow went, `collect` says.
        """
        limit = self._begin + self._spec.seconds + self._linger_s + LINGER_S
        while time.monotonic() < limit and any(one.process.poll() is None for one in self._senders.values()):
            self._feed()
            tick()
            time.sleep(0.05)
        for host, sender in self._senders.items():
            status = sender.process.poll()
            if status is None:
                self.troubles.append(f"the sender of host {host} did not end")
            elif status:
                self.troubles.append(f"the sender of host {host} ended during the run (status {status})")
        self._children.end(self._children.named("sender of host"), deadline=0.0)
        return []

    def hang_up(self) -> None:
        """End the sinks, which write down what they still have."""
        self._children.end(self._children.named("sink of host"), deadline=2.0)

    def collect(self) -> list[str]:
        """Read the records into the flows; returns the flows that failed, with the reason.

        A sized flow that the end of the run cut off is none of them, but one that waits for its turn is.
        """
        topo = self._fabric.topo
        sent = {
            one.number: one for host in self._senders for one in records.sent_by(self._file("sender", host))
        }
        receivers = sorted({flow.dst for flow in self.flows})
        arrived = {topo.host_ip(host): records.arrived_at(self._file("sink", host)) for host in receivers}
        keys = [
            records.Connection(number, topo.host_ip(flow.src), topo.host_ip(flow.dst), flow.src_port)
            for number, flow in enumerate(self.flows)
        ]
        there = records.paired(keys, sent, arrived)
        failed = []
        turns = self._workload.matrix is not None
        for number, flow in enumerate(self.flows):
            flow.sent, flow.arrived = sent.get(number), there.get(number)
            flow.started = self._epoch(self._begin)
            if flow.sent is not None:
                flow.started = self._epoch(flow.sent.start or flow.sent.asked)
                flow.report = _report(topo.host_ip(flow.src), topo.host_ip(flow.dst), flow)
            how = "not started" if flow.sent is None else flow.sent.how
            cut = how == "cut off" or (how == "not started" and not turns and not self.troubles)
            if how != "done" and (turns or not (cut and flow.size_bytes is not None)):
                failed.append(f"{label(flow)} ({how})")
        return failed


def _report(source: str, destination: str, flow: EmulatedFlow) -> FlowReport | None:
    """What a sink saw of a flow, in the words that the judge knows: seconds count from the sender's start.

    None when nothing arrived.
    """
    sent, arrived = flow.sent, flow.arrived
    assert sent is not None
    if arrived is None or arrived.last is None or sent.start is None:
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
