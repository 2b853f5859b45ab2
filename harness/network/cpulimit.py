"""The CPU share of each host, as the replication set it: 4/k^3 of the processors (cgroup version 1 or 2)."""

from __future__ import annotations

import contextlib
from pathlib import Path

from harness.network.machine import processors
from harness.network.settings import Setting

PERIOD_US = 100_000
LEGACY, UNIFIED = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
"""Where the version 1 CPU controller and the unified hierarchy are mounted."""


def _controllers() -> set[str]:
    return set((UNIFIED / "cgroup.controllers").read_text().split())


def _as_changes(before: str, after: str) -> str:
    """How a control group is told which controllers those in it shall have."""
    old, new = set(before.split()), set(after.split())
    return " ".join([*(f"+{name}" for name in new - old), *(f"-{name}" for name in old - new)])


SUBTREE = Setting(
    UNIFIED / "cgroup.subtree_control",
    "the cpu controller for all control groups",
    lambda text: set(text.split()) <= _controllers(),
    _as_changes,
)


class HostGroups:
    """One CPU cgroup per host below a group of this run, removed when the ``with`` block ends.

    ``applied`` says whether the machine allowed it, ``reason`` why not. ``share`` is of the processors we may use.
    """

    def __init__(self, owner: str, share: float, run_folder: Path) -> None:
        self._quota_us = max(1000, round(share * PERIOD_US * processors()))
        self._group: Path | None = None
        self._changed = contextlib.ExitStack()
        self.reason = ""
        try:
            if LEGACY.is_dir():
                self._make(LEGACY / f"hedera-{owner}")
            elif SUBTREE.path.exists():
                group = self._make(UNIFIED / f"hedera-{owner}")
                handed = " ".join(dict.fromkeys([*SUBTREE.read().split(), "cpu"]))
                self._changed.enter_context(SUBTREE.changed_to(handed, run_folder))
                (group / SUBTREE.path.name).write_text("+cpu")
            else:
                self.reason = "no CPU cgroup controller is mounted"
        except OSError as error:
            self._remove()
            self._group = None
            self.reason = f"the CPU cgroup controller refuses: {error.strerror}"

    def _make(self, group: Path) -> Path:
        group.mkdir()
        self._group = group
        return group

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
                seconds = int(words.get("throttled_usec", 0)) / 1e6 + int(words.get("throttled_time", 0)) / 1e9
                if seconds:
                    held[group.name] = round(seconds, 3)
        return held

    def __enter__(self) -> HostGroups:
        return self

    def __exit__(self, *exception: object) -> None:
        self._remove()

    def _remove(self) -> None:
        if self._group is not None:
            for group in [*self._group.iterdir(), self._group]:
                if group.is_dir():
                    with contextlib.suppress(OSError):
                        group.rmdir()
        with contextlib.suppress(OSError):  # others use it by now; the note stays, as what is left of the run
            self._changed.close()
