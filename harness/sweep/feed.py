"""What is under way on this machine, written into the sweep's folder every second, by a process of its own.

So it costs the run no more than the reading of files that are written anyway, and at the lowest priority.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import msgspec

from files.rights import as_owner
from harness.network import footprint
from harness.sweep.tail import Tail
from results.live import LIVE, Live, write_live
from results.temporary import owner_name

EVERY_S = 1.0
ENDS_S = 5.0
"""How long the process may take to end when the sweep does."""
_MAX_BYTES = 1 << 16


class Feed:
    """Takes what the sweep knows; the process adds what the tools of the run under way have written."""

    def __init__(self, to: socket.socket) -> None:
        self._to = to

    def __call__(self, live: Live) -> None:
        """What is so from now on. Never stops a sweep: without a process that listens, less is shown: that is all."""
        with contextlib.suppress(OSError):
            self._to.send(msgspec.json.encode(live))


@contextmanager
def feed(folder: Path) -> Iterator[Feed]:
    """A `Feed` for the runs that this process makes into ``folder``, which is there, while the block runs."""
    # A message arrives whole or not at all, so that one who does not read makes nobody wait.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    process = get_context("spawn").Process(
        target=_serve,
        args=(theirs, folder.resolve(), owner_name()),
        name="hedera-feed",
        daemon=True,
    )
    with ours:
        with theirs:
            process.start()
        try:
            yield Feed(ours)
        finally:
            ours.close()
            process.join(ENDS_S)
            process.kill()
            process.join()


def _serve(sweep: socket.socket, folder: Path, owner: str) -> None:
    """In the process: until the sweep closes its end, or is no more."""
    for each in (signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # the sweep hears of it, and closes its end
    os.nice(19)
    raw = footprint.HOME / owner / "raw"
    live: Live | None = None
    tail: Tail | None = None
    sweep.settimeout(EVERY_S)
    with contextlib.suppress(OSError):
        while True:
            with contextlib.suppress(TimeoutError):
                if not (said := sweep.recv(_MAX_BYTES)):
                    break
                told = msgspec.json.decode(said, type=Live)
                tail = _tail_of(live, told, tail, raw)
                live = told
            if live is not None:
                runs = tuple(tail.onto(run) if tail else run for run in live.runs)
                live = msgspec.structs.replace(live, runs=runs, written=time.time())
                with contextlib.suppress(OSError):
                    write_live(folder, live)
    with contextlib.suppress(OSError), as_owner(folder):
        (folder / LIVE).unlink()


def _tail_of(before: Live | None, now: Live, tail: Tail | None, raw: Path) -> Tail | None:
    """A new one when a run begins to send; the same one until another run comes."""
    if not now.runs:
        return None
    if now.runs[0].stage == "sending":
        return Tail(raw, now.runs[0], time.time())
    same = before is not None and before.runs and _name(before) == _name(now)
    return tail if same and now.runs[0].stage != "building" else None


def _name(live: Live) -> tuple[str, str, int]:
    run = live.runs[0]
    return run.pattern, run.scheme, run.trial
