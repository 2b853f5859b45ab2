"""Watching a run from outside: bwm-ng in every switch namespace, and the processors once a second."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

READINGS = 5
"""Of two clocks: one of so many is not interrupted."""

_Watch = TypeVar("_Watch", bound="Sampler")


class Sampler:
    """Calls `sample` every ``period_s`` seconds in a thread of its own while the ``with`` block runs."""

    period_s = 1.0

    def sample(self) -> None:
        """Look once."""
        raise NotImplementedError

    def __enter__(self: _Watch) -> _Watch:
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
    """The processors, once a second.

    ``idle_percent`` is the idle share of all of them; ``waiting_percent`` says of each process in ``pids``
    (name -> pid) how much of each second it was ready to run and had no processor; ``times`` are the
    ends of the seconds, since the epoch.
    """

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self.times: list[float] = []
        self.idle_percent: list[float] = []
        self.waiting_percent: dict[str, list[float]] = {name: [] for name in pids}
        self._last = self._look()

    def _look(self) -> tuple[float, tuple[int, int], dict[str, float]]:
        ticks = processor_ticks(Path("/proc/stat").read_text())
        return time.time(), ticks, {name: waited_s(pid) for name, pid in self._pids.items()}

    def sample(self) -> None:
        """One more second."""
        (last, ticks_before, waited_before), self._last = self._last, self._look()
        now, ticks, waited = self._last
        self.times.append(now)
        self.idle_percent.append(idle_share(ticks_before, ticks) * 100)
        for name, so_far in waited.items():
            self.waiting_percent[name].append((so_far - waited_before[name]) / (now - last) * 100)


class ClockWatch(Sampler):
    """Whether the machine's clock is set, while the ``with`` block runs.

    ``set_s`` is how far, in seconds, by the epoch's clock against the monotonic one: the farthest that it was from
    where it began. Slewing (NTP, adjtime) moves both clocks alike and does not show; what shows is a step, whoever
    made it, and the time for which the machine was suspended.
    """

    def __init__(self) -> None:
        self._first = clock_offset()
        self.set_s = 0.0

    def sample(self) -> None:
        """Look once."""
        moved = clock_offset() - self._first
        if abs(moved) > abs(self.set_s):
            self.set_s = moved

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        self.sample()


def clock_offset() -> float:
    """The epoch's clock minus the monotonic one, seconds: the best of some readings, as whoever reads two clocks may
    have to wait for a processor in between."""
    best, taken = math.inf, 0.0
    for _ in range(READINGS):
        before = time.monotonic()
        epoch = time.time()
        after = time.monotonic()
        if after - before < best:
            best, taken = after - before, epoch - (before + after) / 2
    return taken


def waited_s(pid: int) -> float:
    """Seconds the main thread of a process was ready to run and had no processor; 0 where no kernel says."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def processor_ticks(stat: str) -> tuple[int, int]:
    """(idle, all) clock ticks of all processors since boot, from the text of /proc/stat."""
    # user nice system idle iowait irq softirq steal; guest time is in user already
    ticks = [int(word) for word in stat.splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def idle_share(before: tuple[int, int], now: tuple[int, int]) -> float:
    """The idle fraction between two readings of `processor_ticks`."""
    total = now[1] - before[1]
    return (now[0] - before[0]) / total if total > 0 else 1.0
