"""How times and memory are measured: median and best of many calls; first calls in fresh processes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.table import Table

CAPTION = "Processor times, medians over the calls made and the best of them; ratio is the paper's over our median."

seconds_option = click.option(
    "--seconds", type=click.FloatRange(0.0), default=0.5, show_default=True, help="Measuring time per number."
)


@dataclass(frozen=True)
class Timing:
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


def first_call(statements: str) -> str:
    """A sentence on the time of statements in a fresh process, with compiled code on disk and without."""
    code = f"{_found()}import time\nstart = time.perf_counter()\n{statements}\nprint(time.perf_counter() - start)"
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-I", "-c", code]
        compiled, loaded = (
            float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
            for _ in range(2)
        )
    return f"Imports and first call in a new process: {loaded:.2f} s, or {compiled:.2f} s when it has to be compiled."


def megabytes_grown(before: str, call: str) -> float:
    """A process's growth at its peak during the statements ``call``, in 10^6 bytes.

    Measured by the kernel, in a fresh process, after the statements ``before``, which compile and load the code.
    """
    code = f"""
{_found()}{before}
def kilobytes(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here
grown = kilobytes("VmRSS")
{call}
print((kilobytes("VmHWM") - grown) * 1024)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout) / 1e6


def _found() -> str:
    """Code that gives an isolated process our import path."""
    return f"import sys\nsys.path[:] = {sys.path!r}\n"


def timings(title: str, rows: Sequence[DataclassInstance]) -> Table:
    """Rows as a table for the terminal: a column per field, as wide as its numbers need."""
    from rich.table import Table

    made = Table(title=title)
    for field in fields(rows[0]):
        made.add_column(field.name.replace("_", "\n"), justify="right", no_wrap=True)
    for row in rows:
        made.add_row(*(_cell(name, value) for name, value in asdict(row).items()))
    return made


def told_of(title: str, rows: Sequence[DataclassInstance], statements: str, *notes: str) -> list[Table | str]:
    """The output for rows: the table, the time of a first call of ``statements``, and the notes."""
    return [timings(title, rows), first_call(statements), *notes, CAPTION]


def _cell(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if name.endswith("ratio"):
        return f"{value:.0f}x"
    if isinstance(value, int):
        return f"{value:,}"
    return (
        f"{value:.2f}"
        if name == "published_ms"
        else f"{value:.3f}"
        if name.endswith(("_ms", "_us"))
        else f"{value:,.1f}"
    )
