"""Commands that work for another process, and are not to outlive it."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread


def end_with_caller(end: Callable[[], object]) -> None:
    """Call ``end`` when standard input ends: the caller holds its other end open until the caller itself ends.

    `files.unprivileged.tied` is not enough here: the kernel drops that tie when a process gives up root's rights.
    """

    def follow() -> None:
        while os.read(0, 1 << 10):
            pass
        end()

    Thread(target=follow, daemon=True).start()
