"""What is seen of a run while it goes on, for the judge (`harness.verdict`): among it the machine's processors, once a
second, and what TCP counts. It leaves a guest, or root's process, as a file beside what the tools wrote."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from harness.run.controller import LOG, Event, Restart, parse_events
from harness.run.traffic import EmulatedFlow
from record.run import Collective
from traffic.programs import Series, parse_samples
from traffic.user_files import read_regular

if TYPE_CHECKING:
    from harness.network import Fabric

Say = Callable[[str], None]
"""A function that is told which stage a run is at."""
OBSERVATION_FILE, SAMPLES = "seen.json", "bwm-ng.csv"
"""Files of a run. The first has what was seen of it; bwm-ng's samples are the second, and the controller's log is a
third."""
# What a guest or root's process hands out is read within bounds: a user's scheduler may have written it.
MAX_RAW_BYTES = 1 << 30
"""No file of a run is read that is larger."""
# Whoever reads two clocks may have to wait for a processor in between. The closest of five pairs was not interrupted.
READINGS = 5
"""Two clocks are read so often, one after the other."""
COUNTERS = {
    "RetransSegs": "retransmitted_segments",
    "TCPOFOQueue": "segments_out_of_order",
    "TCPSACKReorder": "reorderings_by_sack",
    "TCPTSReorder": "reorderings_by_timestamp",
    "TCPDSACKRecv": "needless_retransmissions",
    "TCPTimeouts": "timeouts",
    "TCPDeliveredCE": "segments_marked",
}
"""The kernel's names of its counters (Tcp and TcpExt in /proc/net/snmp and netstat; snmp_counter.rst), and our names
for them."""
_Sampler = TypeVar("_Sampler", bound="Sampler")


@dataclass(frozen=True)
class Outage:
    """From time ``t`` (seconds since the traffic started) these directed links are out of service, and no others."""

    t: float
    links: frozenset[int]


class Observation(msgspec.Struct, rename={"controller_lost": "lost", "dead_programs": "dead"}):
    """What is seen of a run. Times are seconds since the epoch, ``begin`` the first client's.

    ``tcp``: what hosts counted meanwhile (`read_tcp_counters`); ``hull``: what phantom queues and pacers counted;
    ``troubles``: what went wrong with what sends, a sentence each; ``clock_offset``: the epoch's clock minus the
    monotonic one, ``clock_moved_s``: what it then gained; ``collective``: what became of a graph of flows.
    ``controller_lost``: why there is no controller any longer, or None; ``dead_programs``: which of the run's programs
    ended before they were to. In the file these two are called ``lost`` and ``dead``, as in files of before.
    ``failed``: why the run broke off, if it did; ``log_bytes``: how much of the controller's log counts;
    ``timing``: durations by the names of `record.run.Timing`, seconds.
    """

    started: datetime | None = None
    failed: str | None = None
    log_bytes: int = 0
    timing: dict[str, float] = {}
    environment: dict[str, Any] = {}
    begin: float = 0.0
    series: Mapping[str, Series] = {}
    drops: dict[str, int] = {}
    cpu_times: list[float] = []
    cpu_idle: list[float] = []
    lost_packets: dict[str, int] = {}
    throttled_s: dict[str, float] = {}
    flows: list[EmulatedFlow] = []
    unfinished: list[str] = []
    dead_programs: list[str] = []
    events: list[Event] = []
    outages: list[Outage] = []
    restarts: list[Restart] = []
    controller_lost: str | None = None
    tcp: dict[str, int] = {}
    hull: dict[str, int] = {}
    troubles: list[str] = []
    clock_offset: float = 0.0
    clock_moved_s: float = 0.0
    collective: Collective | None = None


def write_observation(observation: Observation, folder: Path) -> None:
    # These two are in files of the tools beside it, from which the judge reads them himself.
    stored = msgspec.structs.replace(observation, series={}, events=[])
    (folder / OBSERVATION_FILE).write_bytes(msgspec.json.encode(stored, enc_hook=lambda number: number.item()))


def read_observation(folder: Path) -> Observation:
    """What was seen of the run whose files are in ``folder``; that a tool wrote nothing that can be used is why the run
    failed. ValueError, one sentence, where `OBSERVATION_FILE` cannot be read."""
    try:
        observation = msgspec.json.decode(read_regular(folder / OBSERVATION_FILE, MAX_RAW_BYTES), type=Observation)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"what was seen of the run cannot be read: {error}") from None
    if observation.failed is None:
        wrote = "bwm-ng"
        try:
            observation.series = parse_samples(read_regular(folder / SAMPLES, MAX_RAW_BYTES).decode(errors="replace"))
            wrote = "the controller"
            observation.events = parse_events(read_regular(folder / LOG, MAX_RAW_BYTES)[: observation.log_bytes])
        except ValueError as error:
            observation.failed = f"what {wrote} wrote cannot be used: {error}"
    return observation


class Sampler:
    """Calls `sample` every ``period_s`` seconds in a thread of its own while the ``with`` block runs."""

    period_s = 1.0

    def sample(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Sampler) -> _Sampler:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self.period_s):
            self.sample()


class ProcessorWatch(Sampler):
    """``idle_percent``: the idle share of all processors in each second; ``times``: the ends of these seconds, since
    the epoch."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.idle_percent: list[float] = []
        self._last = parse_processor_ticks(Path("/proc/stat").read_text())

    def sample(self) -> None:
        before, self._last = self._last, parse_processor_ticks(Path("/proc/stat").read_text())
        self.times.append(time.time())
        self.idle_percent.append(compute_idle_share(before, self._last) * 100)


def measure_clock_offset() -> float:
    """The epoch's clock minus the monotonic one, seconds, by the closest of some readings."""
    shortest_s, offset_s = math.inf, 0.0
    for _ in range(READINGS):
        before = time.monotonic()
        epoch = time.time()
        after = time.monotonic()
        if after - before < shortest_s:
            shortest_s, offset_s = after - before, epoch - (before + after) / 2
    return offset_s


def parse_processor_ticks(stat: str) -> tuple[int, int]:
    """(idle, all) clock ticks of all processors since boot, from the text of /proc/stat."""
    # user nice system idle iowait irq softirq steal; guest time is in user already
    ticks = [int(word) for word in stat.splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def compute_idle_share(before: tuple[int, int], now: tuple[int, int]) -> float:
    """The idle fraction between two readings of `parse_processor_ticks`."""
    total = now[1] - before[1]
    return (now[0] - before[0]) / total if total > 0 else 1.0


def read_tcp_counters(fabric: Fabric) -> Counter[str]:
    total: Counter[str] = Counter()
    for host in fabric.topo.hosts:
        net = Path(f"/proc/{fabric.pid_of(host)}/net")
        total.update(parse_counters((net / "snmp").read_text() + (net / "netstat").read_text()))
    return total


def parse_counters(text: str) -> Counter[str]:
    """The counters in a text of pairs of lines, of which the first has names and the second numbers. Counters that the
    kernel does not have are missing in the result."""
    lines = [line.split() for line in text.splitlines()]
    counters: Counter[str] = Counter()
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        for name, value in zip(names[1:], values[1:], strict=False):
            if name in COUNTERS and names[0] in ("Tcp:", "TcpExt:"):
                counters[COUNTERS[name]] += int(value)
    return counters
