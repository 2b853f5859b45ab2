"""The traffic of a run on its hosts: what kinds of it share."""

from __future__ import annotations

import contextlib
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.hosts.records import Arrived, Sent
from harness.network.processes import Children
from harness.run.spec import RunSpec
from record.parts import Collective
from traffic.iperf import FlowReport

if TYPE_CHECKING:
    from harness.network.fabric import Fabric


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

    ``troubles``: what went wrong, one sentence each, for the verdict; ``collective``: what became of a graph of flows.
    """

    def __init__(self, fabric: Fabric, spec: RunSpec, directory: Path, children: Children) -> None:
        self._fabric = fabric
        self._spec = spec
        self._directory = directory
        self._children = children
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
    def wait(self, tick: Callable[[], None]) -> list[str]:
        """Wait until all is sent; ``tick`` is called often. Returns the flows that hang."""

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
        """Start a program of a host, or of all (None). One that is woken for a packet takes its turn and pushes nobody
        off a processor (SCHED_BATCH)."""
        process = self._children.spawn(
            name,
            command,
            namespace=None if host is None else self._namespace(host),
            output=self._directory / output,
            environment={**os.environ, "TZ": "UTC"},
            handed=handed,
            commands=commands,
        )
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(process.pid, os.SCHED_BATCH, os.sched_param(0))
        return process

    def _namespace(self, host: int) -> int:
        return self._fabric.pid_of(self._fabric.topo.host_name(host))
