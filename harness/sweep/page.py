"""`hedera watch` beside a sweep: as a process of the user behind sudo, for as long as the sweep lasts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from hedera.text import one_line

BEGINS_S, ENDS_S = 30.0, 5.0
"""How long the page may take to say where it is, and to end when it is told to."""


@contextmanager
def served(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Serve the page about ``folder`` while the block runs; ``say`` hears where."""
    hedera = Path(sys.executable).with_name("hedera")
    command = [sys.executable, "-I", str(hedera), "watch", "--beside", str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            with _killed_after(BEGINS_S, process):
                said = process.stdout.readline()
            say(one_line(said) or "the page could not be served; the sweep goes on without it")
            yield
        finally:
            process.terminate()
            with _killed_after(ENDS_S, process):
                process.wait()


@contextmanager
def _killed_after(seconds: float, process: subprocess.Popen[str]) -> Iterator[None]:
    """Wait for a process no longer than that."""
    timer = Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
