"""How times and memory are measured: median and best of many calls; memory in fresh processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

from hedera.options import Command, in_words, json_option, options, output
from paper.study import Row, table
from results.tasks import Computing

CAPTION = "Processor times, medians over the calls made and the best of them; ratio is the paper's over our median."

seconds_option = click.option(
    "--seconds", type=click.FloatRange(0.0), default=0.5, show_default=True, help="Measuring time per number."
)


class Timing(NamedTuple):
    """Processor milliseconds per call, over many calls, in one thread. Other work on the machine does not count,
    except for its effect on the caches."""

    median_ms: float
    best_ms: float


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
        start = time.thread_time()
        call()
        taken.append((time.thread_time() - start) * 1e3)
    return Timing(statistics.median(taken), min(taken))


def megabytes_grown(before: str, call: str) -> float:
    """A process's growth at its peak during the statements ``call``, in 10^6 bytes.

    Measured by the kernel, in a fresh process, after the statements ``before``, which compile and load the code.
    """
    code = f"""
import sys
sys.path[:] = {sys.path!r}
{before}
def kilobytes(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here
grown = kilobytes("VmRSS")
{call}
print((kilobytes("VmHWM") - grown) * 1024)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout) / 1e6


def conclude_timed(asked: Computing, name: str, title: str, rows: Iterable[Row], *notes: str) -> None:
    """The end of a command: its table, notes, and CSV file."""
    found = list(rows)
    asked.conclude(found, [table(title, found), *notes, CAPTION], [asked.csv(name, found)])


def timed(function: Command) -> Command:
    @wraps(function)
    def gathered(out: Path, as_json: bool, **own: Any) -> Any:
        return function(asked=Computing(out, as_json, jobs=1), **own)

    decorated: Command = options(output, json_option, in_words)(gathered)
    return decorated
