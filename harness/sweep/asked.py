"""A question to a worker of a cluster, which may never answer it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from commands.output import duration
from harness.errors import HarnessError, WorkerFailed

HANDED_OVER_S = 300.0
"""How long an answer that is there may take from the worker to us: 150 MB, at 4 Mb/s."""


class Lost(Exception):
    """The worker that was asked is no more."""


class Asked:
    """A task of a worker's, as a ``distributed.Future``, that is waited for no longer than ``seconds``. ``doing``:
    in words, what a worker that does not answer has not done."""

    def __init__(self, future: Any, doing: str, seconds: float) -> None:
        self._future = future
        self._doing = doing
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def done(self) -> bool:
        """Whether `answer` knows."""
        return self._future.done() or time.monotonic() > self._until

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        self._future.cancel()

    def answer(self) -> Any:
        """What it says, once it is done. Raises WorkerFailed with the reason where it says nothing, Lost where nobody
        is left to say anything."""
        if not self._future.done():
            self.cancel()
            raise WorkerFailed(f"it has not {self._doing} within {duration(self._seconds)}")
        try:
            if self._future.status == "finished":
                return self._future.result(timeout=HANDED_OVER_S)
            error = self._future.exception(timeout=HANDED_OVER_S)
        except (TimeoutError, asyncio.TimeoutError):  # two classes until Python 3.11
            raise WorkerFailed(f"it has {self._doing}, and does not hand it over") from None
        if error is None or "KilledWorker" in type(error).__name__:
            raise Lost("it is lost")
        raise WorkerFailed(str(error) if isinstance(error, HarnessError) else f"it has not {self._doing}: {error}")
