"""The CPU share of each host, as the replication set it: 4/k^3 of the processors (cgroup version 1 or 2)."""

from __future__ import annotations

import contextlib
from pathlib import Path

from harness.network.machine import processors

PERIOD_US = 100_000


class HostGroups:
    """One CPU cgroup per host below a group of this run, removed when the ``with`` block ends.

    ``applied`` says whether the machine allowed it, ``reason`` why not. ``share`` is of the processors we may use.
    """

    def __init__(self, owner: str, share: float) -> None:
        self._quota_us = max(1000, round(share * PERIOD_US * processors()))
        self._group: Path | None = None
        self.reason = ""
        legacy, unified = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
        try:
            if legacy.is_dir():
                self._group = legacy / f"hedera-{owner}"
                self._group.mkdir()
            elif (unified / "cgroup.controllers").exists():
                self._group = unified / f"hedera-{owner}"
                self._group.mkdir()
                (unified / "cgroup.subtree_control").write_text("+cpu")
                (self._group / "cgroup.subtree_control").write_text("+cpu")
            else:
                self.reason = "no CPU cgroup controller is mounted"
        except OSError as error:
            self._group = None
            self.reason = f"the CPU cgroup controller refuses: {error.strerror}"

    @property
    def applied(self) -> bool:
        """Whether hosts are limited."""
        return self._group is not None

    def procs_file(self, host: str) -> Path | None:
        """The file a process of this host writes its pid into; None when there is no limit."""
        if self._group is None:
            return None
        group = self._group / host
        if not group.exists():
            try:
                group.mkdir()
                if (group / "cpu.max").exists():
                    (group / "cpu.max").write_text(f"{self._quota_us} {PERIOD_US}")
                    burst = group / "cpu.max.burst"
                else:
                    (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                    (group / "cpu.cfs_quota_us").write_text(str(self._quota_us))
                    burst = group / "cpu.cfs_burst_us"
                if burst.exists():  # Linux 5.14
                    # What a host left unused, for one period: where time is counted in ticks of 10 ms, a single
                    # tick may be more than the quota, and a host far below its share would be held back.
                    burst.write_text(str(self._quota_us))
            except OSError as error:
                self._group, self.reason = None, f"the CPU cgroup controller refuses: {error.strerror}"
                return None
        return group / "cgroup.procs"

    def throttled_s(self) -> dict[str, float]:
        """How long the limit has held back each host that it has, in seconds."""
        if self._group is None:
            return {}
        held = {}
        for group in self._group.iterdir():
            if group.is_dir():
                words = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
                # version 2 counts microseconds, version 1 nanoseconds
                seconds = (
                    int(words.get("throttled_usec", 0)) / 1e6 + int(words.get("throttled_time", 0)) / 1e9
                )
                if seconds:
                    held[group.name] = round(seconds, 3)
        return held

    def __enter__(self) -> HostGroups:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._group is not None:
            for group in [*self._group.iterdir(), self._group]:
                if group.is_dir():
                    with contextlib.suppress(OSError):
                        group.rmdir()
