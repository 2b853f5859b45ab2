"""A command of this project, run in a guest: its output, and the folder that it writes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from virtual.guest import RESULTS, Ended, Guest, Progress
from virtual.harvest import take


def run(
    linux: Path,
    arguments: Sequence[str],
    out: Path,
    report: Callable[[Progress], None] = lambda progress: None,
    **settings: Any,
) -> Ended:
    """``hedera ARGUMENTS --out OUT`` in a guest. ``out`` is a new folder, created here; ``settings`` are `Guest`'s.

    Raises GuestFailed when the guest ends without a result, FileExistsError when ``out`` exists, OSError when it
    cannot be written. A failing command raises nothing: its exit status is returned.
    """
    hedera = Path(sys.executable).with_name("hedera")
    command = [sys.executable, "-I", str(hedera), *arguments, "--out", f"{RESULTS}/out"]
    with Guest(linux, command, **settings) as guest:
        ended = guest.wait(report)
        if (guest.results / "out").is_dir():
            out.mkdir()
            take(guest.results / "out", out)
    return ended
