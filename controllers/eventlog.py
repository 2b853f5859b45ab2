"""The controller's log: one JSON object per line, written through at once, because others read it live."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


class EventLog:
    """Writes events to a file, or nowhere when there is no path. ``clock`` gives seconds since the epoch.

    Raises OSError when the file cannot be opened.
    """

    def __init__(self, path: str | Path | None, clock: Callable[[], float] = time.time):
        self._file: IO[str] | None = open(path, "a", buffering=1) if path else None  # noqa: SIM115
        self._clock = clock

    def __call__(self, event: str, **fields: Any) -> None:
        """Write one event with its time ``t``."""
        if self._file is not None:
            line = json.dumps({"t": self._clock(), "event": event, **fields}, separators=(",", ":"))
            self._file.write(line + "\n")

    def close(self) -> None:
        """Close the file; later events go nowhere."""
        if self._file is not None:
            self._file.close()
            self._file = None
