"""Commands that work for another process, and are not to outlive it."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread


def end_with_caller(end: Callable[[], object]) -> None:
    """Have ``end`` called when standard input does: the caller holds on to its other end, however that ends.

    For what `files.unprivileged.tied` does not do: the kernel unties who gives root up, be it for a moment.
    """

    def follow() -> None:
        while os.read(0, 1 << 10):
            pass
        end()

    Thread(target=follow, daemon=True).start()
