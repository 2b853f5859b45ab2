"""How the benchmarks take times: many calls, their median and their best, and first calls in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Milliseconds per call, over many calls."""

    median: float
    best: float


def time_calls(
    call: Callable[[], object], prepare: Callable[[], object] = lambda: None, seconds: float = 0.5
) -> Timing:
    """Call for about ``seconds`` (5 to 1000 times), after one call that may compile; ``prepare`` is not timed."""
    prepare()
    call()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < 5 or (time.perf_counter() < end and len(taken) < 1000):
        prepare()
        start = time.perf_counter()
        call()
        taken.append((time.perf_counter() - start) * 1e3)
    return Timing(statistics.median(taken), min(taken))


def first_call_seconds(statements: str) -> tuple[float, float]:
    """Seconds the statements take in a fresh process: with an empty cache of compiled code, and a filled one."""
    code = f"import time\nstart = time.perf_counter()\n{statements}\nprint(time.perf_counter() - start)"
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", code]
        compiled, loaded = (
            float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
            for _ in range(2)
        )
    return compiled, loaded
