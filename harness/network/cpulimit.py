"""The CPU share of each host, as the replication set it: 4/k^3 of the processors. By control groups (version 2), where
the machine hands the cpu controller down to groups (systemd does)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from harness.network.machine import processors, time_travels

PERIOD_US = 100_000
ROOT = Path("/sys/fs/cgroup")


class HostGroups:
    """One CPU cgroup per host below a group of this run, removed when the ``with`` block ends.

    ``applied`` says whether the machine allowed it, ``reason`` why not. ``share`` is of the processors we may use.
    """

    def __init__(self, owner: str, share: float) -> None:
        self._quota_us = max(1000, round(share * PERIOD_US * processors()))
        self._group = ROOT / f"hedera-{owner}"
        self.applied, self.reason = False, ""
        try:
            if time_travels():
                self.reason = "time is virtual, in which no host takes another's"
            elif "cpu" not in (ROOT / "cgroup.subtree_control").read_text().split():
                self.reason = "the machine does not hand the cpu controller down to control groups"
            else:
                self._group.mkdir()
                self.applied = True
                (self._group / "cgroup.subtree_control").write_text("+cpu")
        except OSError as error:
            self._remove()
            self.applied = False
            self.reason = f"the CPU cgroup controller refuses: {os.strerror(error.errno or 0)}"

    def procs_file(self, host: str) -> Path | None:
        """The file a process of this host writes its pid into; None when there is no limit."""
        if not self.applied:
            return None
        group = self._group / host
        if not group.exists():
            group.mkdir()
            (group / "cpu.max").write_text(f"{self._quota_us} {PERIOD_US}")
            with contextlib.suppress(OSError):  # Linux 5.14
                # What a host left unused, for one period: where time is counted in ticks of 10 ms, a single
                # tick may be more than the quota, and a host far below its share would be held back.
                (group / "cpu.max.burst").write_text(str(self._quota_us))
        return group / "cgroup.procs"

    def throttled_s(self) -> dict[str, float]:
        """How long the limit has held back each host that it has, in seconds."""
        held = {}
        for stat in self._group.glob("*/cpu.stat"):
            words = dict(line.split() for line in stat.read_text().splitlines())
            if seconds := int(words.get("throttled_usec", 0)) / 1e6:
                held[stat.parent.name] = round(seconds, 3)
        return held

    def __enter__(self) -> HostGroups:
        return self

    def __exit__(self, *exception: object) -> None:
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            remove_group(self._group)


def remove_group(group: Path) -> None:
    """Remove a control group with those in it. OSError when it cannot be."""
    if group.is_dir():
        for part in [*group.iterdir(), group]:
            if part.is_dir():
                part.rmdir()
