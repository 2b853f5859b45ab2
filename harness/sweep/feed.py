"""What is under way on this machine, written into the sweep's folder every second, by a process of its own.

So it costs the run no more than the reading of files that are written anyway, and at the lowest priority.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from files.rights import as_owner
from harness.network import footprint
from harness.sweep.tail import Tail
from results.live import LIVE, Live, write_live

EVERY_S = 1.0


class Feed:
    """Takes what the sweep knows; the process adds what the tools of the run under way have written."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __call__(self, live: Live) -> None:
        """What is so from now on. Never stops a sweep: without the process, nothing is shown, and that is all."""
        with contextlib.suppress(OSError):
            self._pipe.send_bytes(msgspec.json.encode(live))


@contextmanager
def feed(folder: Path) -> Iterator[Feed]:
    """A `Feed` for the runs that this process makes into ``folder``, which is there, while the block runs."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(
        target=_serve,
        args=(theirs, folder.resolve(), footprint.owner_name()),
        name="hedera-feed",
        daemon=True,
    )
    process.start()
    theirs.close()
    try:
        yield Feed(ours)
    finally:
        ours.close()
        process.join(5)
        if process.is_alive():
            process.terminate()


def _serve(pipe: Connection, folder: Path, owner: str) -> None:
    """In the process: until the sweep closes the pipe, or is no more."""
    for each in (signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # the sweep hears of it, and closes the pipe
    os.nice(19)
    raw = footprint.HOME / owner / "raw"
    live: Live | None = None
    tail: Tail | None = None
    try:
        while True:
            if pipe.poll(EVERY_S):
                told = msgspec.json.decode(pipe.recv_bytes(), type=Live)
                tail = _tail_of(live, told, tail, raw)
                live = told
            if live is not None:
                runs = tuple(tail.onto(run) if tail else run for run in live.runs)
                live = msgspec.structs.replace(live, runs=runs, written=time.time())
                with contextlib.suppress(OSError):
                    write_live(folder, live)
    except (EOFError, OSError, KeyboardInterrupt):
        pass
    with contextlib.suppress(OSError), as_owner(folder):
        (folder / LIVE).unlink()


def _tail_of(before: Live | None, now: Live, tail: Tail | None, raw: Path) -> Tail | None:
    """A new one when a run begins to send; the same one until another run comes."""
    if not now.runs:
        return None
    if now.runs[0].stage == "sending":
        return Tail(raw, now.runs[0], time.time())
    same = before is not None and before.runs and _name(before) == _name(now)
    return tail if same and now.runs[0].stage == "finishing" else None


def _name(live: Live) -> tuple[str, str, int]:
    run = live.runs[0]
    return run.pattern, run.scheme, run.trial
