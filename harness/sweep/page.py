"""`hedera watch` beside a sweep: as a process of the user behind sudo, for as long as the sweep lasts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from files.unprivileged import tied


@contextmanager
def served(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Serve the page about ``folder`` while the block runs; ``say`` hears where."""
    hedera = Path(sys.executable).with_name("hedera")
    command = [*tied("TERM"), sys.executable, "-I", str(hedera), "watch", str(folder)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, text=True) as process:
        assert process.stdout is not None
        say(process.stdout.readline().strip() or "the page could not be served; the sweep goes on without it")
        try:
            yield
        finally:
            process.terminate()
