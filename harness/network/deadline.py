"""Deadlines for what has none: code of others that waits for a process without looking whether it lives."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from harness.errors import RunFailed

AGAIN_S = 30.0
"""After the first time the alarm rings every so often: a tear-down that hangs is got over as well."""
_hurried = False


@contextmanager
def deadline(seconds: float, reason: str) -> Iterator[None]:
    """RunFailed with ``reason`` when the block takes longer than ``seconds``, whatever it waits for.

    By an alarm, so in the main thread alone (ValueError in any other). A block can hold another.
    """

    def ring(number: int, frame: FrameType | None) -> NoReturn:
        raise RunFailed(reason)

    outer_handler = signal.signal(signal.SIGALRM, ring)
    began = time.monotonic()
    outer_s, outer_again_s = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, outer_handler)
        if outer_s:
            left_s = max(outer_s - (time.monotonic() - began), 0.001)
            signal.setitimer(signal.ITIMER_REAL, min(left_s, AGAIN_S) if _hurried else left_s, outer_again_s)


def hurry() -> None:
    """This process is to end: what deadlines it is under ring within AGAIN_S, for what hangs in its tear-down."""
    global _hurried
    _hurried = True
    left_s, _ = signal.getitimer(signal.ITIMER_REAL)
    if left_s > AGAIN_S:
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S, AGAIN_S)
