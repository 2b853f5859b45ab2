"""The `hedera` command: reads the command line, calls the part that does the work, turns errors into words.

A module for each command; none is imported before it is asked for.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import warnings

from virtual import cache

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 5.0
"""A second Ctrl-C within this time is ignored. Tearing down takes a second or two, and neither a key pressed twice
nor a terminal that sends two signals as it closes may cut it short."""
_last_s = float("-inf")


def _interrupt(number: int, frame: object) -> None:
    """At first, have everything torn down. Later, end the step that hangs, so that the rest is torn down."""
    global _last_s
    now = time.monotonic()
    if now - _last_s < PATIENCE_S:
        wait_s = PATIENCE_S - (now - _last_s)
        with contextlib.suppress(OSError):
            os.write(2, f"hedera: tearing down; if it hangs, Ctrl-C ends that in {wait_s:.0f} s\n".encode())
        return
    _last_s = now
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the `hedera` command. Exit status: 0 done, 1 invalid or failed, 2 wrong use, 3 unfit machine."""
    # SIGHUP (the terminal closes) and SIGTERM tear the network down as Ctrl-C does; what nohup ignores stays ignored.
    for each in _SIGNALS:
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _interrupt)
    warnings.showwarning = lambda message, *_, **__: print(f"hedera: {message}", file=sys.stderr)
    cache.settle()
    from harness.cli.group import cli
    from harness.jobs import root
    from record.errors import status_of

    try:
        status = status_of(lambda: cli.main(standalone_mode=False))
    finally:
        root.end()
    sys.exit(status)
