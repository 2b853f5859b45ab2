"""Programs on the hosts that send and receive as they are told, and write down what became of each flow."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from harness.errors import RunFailed
from harness.network.cpulimit import HostGroups
from harness.network.fabric import Fabric
from harness.network.processes import Children
from harness.run.senders import LINGER_S, EmulatedFlow, label
from harness.run.spec import RunSpec
from topos.wire import ETHERNET_HEADER
from traffic.graph import Collective
from traffic.iperf import FlowReport, Interval
from traffic.ports import SERVER_PORT
from traffic.workload import Workload
from transfers.records import Arrived, Sent
from transfers.sender import UNSENT_BYTES
from transfers.sink import BIN_S

PROGRAMS = Path(__file__).resolve().parents[2] / "transfers"
LEAD_S = 0.5
"""From telling the programs when to begin until then: all must have heard it."""
WAKE_S = 0.01
"""For how long a flow at full rate may arrive before its receiver is woken."""
SHARERS = 4
"""A lasting flow that has written all has so many times as long as it needs alone for what still waits, in its socket
and in a queue."""
MAX_WAITING = 1 << 24
"""Bytes that a program may leave unread before it is taken to hang."""


@dataclass
class Sending:
    """A program that sends, and what it has not read yet of what it is told."""

    process: subprocess.Popen[bytes]
    unread: bytearray = field(default_factory=bytearray)


class Programs(ABC):
    """Runs a workload on a fabric: `listen`, `start`, `wait`, `hang_up`, `collect`, as `harness.run.senders`.

    ``sends``: the program that sends; ``all_must_end``: whether the end of the run may cut off none of the flows.
    """

    sends: str
    all_must_end: bool

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
        waiting = (UNSENT_BYTES + spec.queue * (spec.mtu + ETHERNET_HEADER)) * 8e-6 / spec.link_mbps
        self._linger_s = LINGER_S + SHARERS * waiting
        self._wake_bytes = round(spec.link_mbps * 1e6 / 8 * WAKE_S)
        self._senders: dict[int, Sending] = {}
        self._begin = 0.0
        self.flows: list[EmulatedFlow] = []
        self.troubles: list[str] = []
        """What went wrong, one sentence each, for the verdict."""
        self.collective: Collective | None = None
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """What a kind of workload needs besides; called once, at the end of the making."""

    @abstractmethod
    def listen(self, deadline: float = 60.0) -> None:
        """Start the programs; RunFailed names a host whose program is not ready within ``deadline`` seconds."""

    @abstractmethod
    def _records(self) -> tuple[Mapping[int, Sent], Mapping[int, Arrived]]:
        """What both ends wrote down of each flow, by its place in ``flows``."""

    def _feed(self) -> bool:
        """Tell the senders what they need to know next; whether there is more to come."""
        return False

    def _spawn(self, host: int, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        topo = self._fabric.topo
        command = [sys.executable, "-I", "-S", str(PROGRAMS / f"{program}.py")]
        process = self._children.spawn(
            f"{program} of host {host}",
            [*command, topo.host_ip(host), str(SERVER_PORT), *map(str, arguments)],
            namespace=self._fabric.pid_of(topo.host_name(host)),
            output=self._file(program, host),
            cgroup_procs=self._groups.procs_file(topo.host_name(host)),
            commands=program == self.sends,
        )
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(process.pid, os.SCHED_BATCH, os.sched_param(0))  # as iperf
        if program == self.sends:
            assert process.stdin is not None
            os.set_blocking(process.stdin.fileno(), False)
            self._senders[host] = Sending(process)
        return process

    def _file(self, program: str, host: int) -> Path:
        return self._directory / f"{program}-{host}.jsonl"

    def _not_ready(self, program: str, host: int, deadline: float) -> RunFailed:
        """Why a program is not ready, in its own words if it has any."""
        words = self._file(program, host).read_text(errors="replace").strip().splitlines()
        said = f": {words[-1]}" if words else f" within {deadline:g} s"
        return RunFailed(f"the {program} of host {host} does not listen{said}")

    def start(self) -> float:
        """Tell all senders when to begin, and the first flows; returns the beginning (seconds since the epoch)."""
        self._begin = time.monotonic() + LEAD_S
        for sender in self._senders.values():
            sender.unread += f"{self._begin} {self._begin + self._spec.seconds}\n".encode()
        self._tell_all()
        return self._epoch(self._begin)

    @staticmethod
    def _epoch(monotonic: float) -> float:
        return time.time() - time.monotonic() + monotonic

    def _tell_all(self) -> None:
        more = self._feed()
        for host, sender in self._senders.items():
            self._tell(host, sender, more)

    def _tell(self, host: int, sender: Sending, more: bool) -> None:
        pipe = sender.process.stdin
        assert pipe is not None
        if pipe.closed:
            return
        try:
            while sender.unread:
                del sender.unread[: os.write(pipe.fileno(), sender.unread)]
        except BlockingIOError:
            if len(sender.unread) > MAX_WAITING:
                raise RunFailed(f"the {self.sends} of host {host} does not read what it is told") from None
        except BrokenPipeError:
            sender.unread.clear()
            pipe.close()  # it has ended: `wait` says so
            return
        if not more and not sender.unread:
            pipe.close()

    def wait(self, tick: Callable[[], None]) -> list[str]:
        """Wait until every sender has sent its flows and gone; ``tick`` is called often.

        Senders cut off at the end what is under way then; one that is not gone some seconds later hangs. Returns
        nothing: how each flow went, `collect` says.
        """
        limit = self._begin + self._spec.seconds + self._linger_s + LINGER_S
        while time.monotonic() < limit and any(one.process.poll() is None for one in self._senders.values()):
            self._tell_all()
            tick()
            time.sleep(0.05)
        for host, sender in self._senders.items():
            status = sender.process.poll()
            if status is None:
                self.troubles.append(f"the {self.sends} of host {host} did not end")
            elif status:
                self.troubles.append(f"the {self.sends} of host {host} ended during the run (status {status})")
        self._children.end(self._children.named(f"{self.sends} of host"), deadline=0.0)
        return []

    def hang_up(self) -> None:  # noqa: B027, not all have something
        """End what still listens, which writes down what it still has."""

    def collect(self) -> list[str]:
        """Read the records into the flows; returns the flows that failed, with the reason.

        A sized flow that the end of the run cut off is none of them, unless all have to end.
        """
        topo = self._fabric.topo
        sent, arrived = self._records()
        failed = []
        for number, flow in enumerate(self.flows):
            flow.sent, flow.arrived = sent.get(number), arrived.get(number)
            flow.started = self._epoch(self._begin)
            if flow.sent is not None:
                flow.started = self._epoch(flow.sent.start or flow.sent.asked)
                flow.report = _report(topo.host_ip(flow.src), topo.host_ip(flow.dst), flow)
            how = "not started" if flow.sent is None else flow.sent.how
            cut = how == "cut off" or (how == "not started" and not self.troubles)
            if how != "done" and (self.all_must_end or not (cut and flow.size_bytes is not None)):
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
