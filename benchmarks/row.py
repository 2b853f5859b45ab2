"""A line of the table of benchmarks, and what processes cost."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """``paper``: the paper's number, or what is aimed at; None where there is neither."""

    case: str
    ours: float
    unit: str
    paper: float | None = None

    def said(self, value: float | None) -> str:
        """A number with its unit."""
        return "" if value is None else f"{value:,.3g} {self.unit}"

    @property
    def ratio(self) -> str:
        return f"{self.ours / self.paper:.2f}" if self.paper else ""


def median_s(function: Callable[[], object], repeats: int = 5) -> float:
    spent = []
    for _ in range(repeats):
        before = time.perf_counter()
        function()
        spent.append(time.perf_counter() - before)
    return statistics.median(spent)


def child(command: Sequence[str | Path]) -> resource.struct_rusage:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"{' '.join(map(str, command))} failed")
    return usage
