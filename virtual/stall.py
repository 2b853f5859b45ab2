"""Whether a guest hangs, or only waits for a busy processor."""

from __future__ import annotations

import os
import time
from pathlib import Path

LOOK_EVERY_S = 5.0
IDLE_SHARE = 0.002
"""A guest that computes gets more of a processor than this, however busy the machine; a guest that hangs gets
none."""


class Stall:
    """Watches the processes of one guest, which are a session of their own.

    ``stalled_s``: the guest hangs if its clock has not moved while its processes used this many processor seconds, or
    for this many real seconds in which they did not compute.
    """

    def __init__(self, session: int, stalled_s: float) -> None:
        self._session = session
        self._stalled_s = stalled_s
        self._simulated_s = -1.0
        self._looked_s = float("-inf")
        self._moved_s = 0.0
        self._used_s = 0.0

    def look(self, simulated_s: float) -> str | None:
        """A sentence if the guest, whose clock is now at ``simulated_s``, hangs; else None."""
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
    """Processor seconds of a session's running processes, and of the ended ones that these have waited for."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended meanwhile
        if words[3] == str(session):
            ticks += sum(map(int, words[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
