"""Whether a guest hangs, or only waits for a processor that others have."""

from __future__ import annotations

import os
import time
from pathlib import Path

LOOK_EVERY_S = 5.0
IDLE_SHARE = 0.002
"""A guest that computes gets more of a processor than this, however busy the machine; one that waits for nothing that
will come takes none."""


class Stall:
    """Looks at the processes of one guest, which are a session of their own.

    ``stalled_s``: it hangs when its clock has not moved while its processes computed for so many seconds, or for so
    many of ours in which they did not compute.
    """

    def __init__(self, session: int, stalled_s: float) -> None:
        self._session = session
        self._stalled_s = stalled_s
        self._simulated_s = -1.0
        self._looked_s = float("-inf")
        self._moved_s = 0.0
        self._used_s = 0.0

    def look(self, simulated_s: float) -> str | None:
        """What is wrong with a guest whose clock is there now, or None."""
        now = time.monotonic()
        if now - self._looked_s < min(LOOK_EVERY_S, self._stalled_s / 2):
            return None
        self._looked_s = now
        used = used_s(self._session)
        if simulated_s > self._simulated_s:
            self._simulated_s, self._moved_s, self._used_s = simulated_s, now, used
            return None
        computed, passed = used - self._used_s, now - self._moved_s
        stands = f"the guest's clock has stood at {simulated_s:.0f} s"
        if computed > self._stalled_s:
            return f"{stands} while it computed for {computed:.0f} s: it hangs"
        if passed > self._stalled_s and computed < IDLE_SHARE * passed:
            return f"{stands} for {passed:.0f} s, and it did not compute: it hangs"
        return None


def used_s(session: int) -> float:
    """Processor seconds of a session's living processes, and of those that they have waited for."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if words[3] == str(session):
            ticks += sum(map(int, words[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
