"""Watching a run from outside: bwm-ng in every switch namespace, and the processors once a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass
class ProcessorWatch:
    """The processors, sampled once a second in a thread while the ``with`` block runs.

    ``idle_percent`` is the idle share of all of them; ``waiting_percent`` says of each process in ``pids``
    (name -> pid) how much of each second it was ready to run and had no processor.
    """

    pids: Mapping[str, int] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    idle_percent: list[float] = field(default_factory=list)
    waiting_percent: dict[str, list[float]] = field(default_factory=dict)

    def __enter__(self) -> ProcessorWatch:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        self.waiting_percent = {name: [] for name in self.pids}
        clock, before = time.time(), processor_ticks(Path("/proc/stat").read_text())
        waited = {name: waited_s(pid) for name, pid in self.pids.items()}
        while not self._stop.wait(1.0):
            last, clock = clock, time.time()
            now = processor_ticks(Path("/proc/stat").read_text())
            self.times.append(clock)
            self.idle_percent.append(idle_share(before, now) * 100)
            before = now
            for name, pid in self.pids.items():
                so_far = waited_s(pid)
                self.waiting_percent[name].append((so_far - waited[name]) / (clock - last) * 100)
                waited[name] = so_far


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


def mean_over(times: NDArray[np.float64], rates: NDArray[np.float64], window: tuple[float, float]) -> float:
    """The mean over ``window`` of a rate sampled as averages, sample i covering (times[i-1], times[i]].

    ``times`` and ``rates`` have one shape (samples,); the first sample is taken to cover one second.
    Samples that the window cuts count by the part inside it; nan when none is inside.
    """
    if len(times) == 0:
        return float("nan")
    starts = np.concatenate([[times[0] - 1.0], times[:-1]])
    inside = np.clip(np.minimum(times, window[1]) - np.maximum(starts, window[0]), 0, None)
    return float(np.sum(inside * rates) / np.sum(inside)) if np.sum(inside) > 0 else float("nan")
