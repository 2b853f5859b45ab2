"""What the programs of each host may take of this machine's processors, by control groups of version 2 (cpu.max).

The share is what Mininet's ``cpu=`` is, of all processors, and so are period and quota (`mininet.node.CPULimitedHost`
of 2.3.0, cfsInfo). That class is not used: it asks cgcreate and cgclassify for controllers of version 1, mounted by
itself where they are not, and moves a host's shell, which hosts do not have here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from harness.network.machine import count_processors
from harness.network.processes import wait_until
from record.errors import RunFailed, UnfitMachine, UserMistake

MOUNTS = Path("/proc/self/mounts")
# The first is Mininet's period, so that a share means what it means there. The others are the kernel's bounds
# (kernel/sched/core.c): its least quota, and max_cfs_quota_period.
PERIOD_US, LEAST_QUOTA_US, LONGEST_PERIOD_US = 100_000, 1000, 1_000_000
PREFIX = "hedera-"
"""The name of a run's group is this and the name of its owner (`record.files.name_owner`)."""
HANDED_DOWN = "cgroup.subtree_control"
# The kernel takes a process out of its group only when its parent has waited for it.
GONE_S = 2.0
"""A group may hold processes that were ended for so long."""


def compute_quota(share: float, processors: int) -> tuple[int, int]:
    """Quota and period of a share of so many processors, microseconds: Mininet's period of 100 ms, or a longer one
    where the quota were below what the kernel takes. UserMistake where none is long enough."""
    quota_us = max(LEAST_QUOTA_US, round(share * processors * PERIOD_US))
    period_us = max(PERIOD_US, round(quota_us / (share * processors))) if quota_us == LEAST_QUOTA_US else PERIOD_US
    if period_us > LONGEST_PERIOD_US:
        smallest_share = LEAST_QUOTA_US / LONGEST_PERIOD_US / processors
        raise UserMistake(f"--host-cpu must be at least {smallest_share:g} on this machine, not {share:g}")
    return quota_us, period_us


def find_hierarchy(mounts: Path = MOUNTS) -> Path:
    """Where control groups of version 2 are that have the cpu controller. UnfitMachine where there are none."""
    lines = (line.split() for line in mounts.read_text().splitlines())
    kinds = {words[1]: words[2:4] for words in lines if words[2] in ("cgroup", "cgroup2")}
    hierarchies = [Path(place) for place, (kind, _) in kinds.items() if kind == "cgroup2"]
    for hierarchy in hierarchies:
        with contextlib.suppress(OSError):
            if "cpu" in (hierarchy / "cgroup.controllers").read_text().split():
                return hierarchy
    if any(kind == "cgroup" and "cpu" in options.split(",") for kind, options in kinds.values()):
        why = "version 1 has it here (systemd.unified_cgroup_hierarchy=1 in the kernel's command line mends that)"
    else:
        why = "it is not there" if hierarchies else "no such groups are mounted"
    raise UnfitMachine(f"--host-cpu takes the cpu controller of control groups of version 2, and {why}")


class HostGroups:
    """A control group for each host of a run, below one of the run's own, which goes with the run's folder
    (`harness.network.cleanup`).

    ``share``: of the processors that we may use. ``run_folder`` keeps a note for `restore` of what else the kernel was
    told.

    Raises UnfitMachine where this machine has no such groups or refuses them, UserMistake for a share that its kernel
    cannot give.
    """

    def __init__(self, owner: str, share: float, run_folder: Path) -> None:
        quota_us, period_us = compute_quota(share, count_processors())
        self._quota, self._limit = str(quota_us), f"{quota_us} {period_us}"
        hierarchy = find_hierarchy()
        self._group = hierarchy / f"{PREFIX}{owner}"
        with _describe_refusals(hierarchy):
            hand_down(hierarchy, run_folder)
            self._group.mkdir()
            (self._group / HANDED_DOWN).write_text("+cpu")

    def of_host(self, host: str) -> Path:
        """The file that a process of this host writes its number into."""
        group = self._group / host
        if not group.exists():
            with _describe_refusals(group):
                group.mkdir()
                (group / "cpu.max").write_text(self._limit)
                # A host may save up for one period what it left unused (Linux 5.14). Where time is counted in ticks of
                # 10 ms, one tick may be more than the quota, and a host far below its share would be held back.
                with contextlib.suppress(FileNotFoundError):
                    (group / "cpu.max.burst").write_text(self._quota)
        return group / "cgroup.procs"

    def read_back(self) -> dict[str, str | int]:
        """For a result's environment: the limit that the kernel has for the hosts, and how many hosts have it.
        RunFailed names hosts with a limit that was not asked for."""
        has = {path.parent.name: path.read_text().strip() for path in sorted(self._group.glob("*/cpu.max"))}
        if wrong := [f"{host} ({limit})" for host, limit in has.items() if limit != self._limit]:
            raise RunFailed(f"hosts have not the limit of {self._limit}: {', '.join(wrong)}")
        return {"host_cpu_max": self._limit, "hosts_limited": len(has)}

    def throttled_s(self) -> dict[str, float]:
        """How long its limit has held back each host that it has, in seconds."""
        throttled = {}
        for path in sorted(self._group.glob("*/cpu.stat")):
            words = dict(line.split() for line in path.read_text().splitlines())
            if seconds := int(words.get("throttled_usec", 0)) / 1e6:
                throttled[path.parent.name] = round(seconds, 3)
        return throttled


@contextmanager
def _describe_refusals(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        raise UnfitMachine(
            f"--host-cpu: the kernel refuses control groups in {place} ({why}); in a container it takes "
            "--privileged and --cgroupns=host"
        ) from None


# --- what else the kernel is told, and what is left of killed runs ----------------------------------------------------


def hand_down(hierarchy: Path, run_folder: Path) -> None:
    """Have groups below ``hierarchy`` controlled in what they take of processors, as systemd has it already where it
    needs that. Else it is undone after the run (`restore`): a note in its folder says so. OSError where the kernel
    refuses.
    """
    if "cpu" not in (hierarchy / HANDED_DOWN).read_text().split():
        (run_folder / HANDED_DOWN).write_text(str(hierarchy))
        (hierarchy / HANDED_DOWN).write_text("+cpu")


def restore(run_folder: Path) -> bool:
    """Undo what a run told the kernel (`hand_down`), unless others have come to use it; whether it was undone."""
    note = run_folder / HANDED_DOWN
    if note.is_symlink() or not note.is_file():
        return False
    hierarchy = Path(note.read_text()[:1000])
    note.unlink()
    if any(_is_used(group) for group in hierarchy.iterdir() if group.is_dir()):
        return False
    with contextlib.suppress(OSError):  # a group of others hands it down in its turn
        (hierarchy / HANDED_DOWN).write_text("-cpu")
    return "cpu" not in (hierarchy / HANDED_DOWN).read_text().split()


def _is_empty(group: Path) -> bool:
    return "populated 0" in (group / "cgroup.events").read_text()


def _is_used(group: Path) -> bool:
    """Whether a group has limits on processors, or a weight."""
    try:
        limit, weight = (group / "cpu.max").read_text(), (group / "cpu.weight").read_text()
    except OSError:  # it has none, or is gone
        return False
    return not limit.startswith("max") or weight.strip() != "100"


def find_groups_left(mounts: Path = MOUNTS) -> dict[str, Path]:
    """The groups of runs on this machine, by their owners' names."""
    try:
        hierarchy = find_hierarchy(mounts)
    except UnfitMachine:
        return {}
    return {path.name.removeprefix(PREFIX): path for path in hierarchy.glob(f"{PREFIX}*") if path.is_dir()}


def remove_group(group: Path) -> None:
    """Remove a control group with those in it, whose processes were ended. OSError when it cannot be."""
    for part in [*(path for path in group.iterdir() if path.is_dir()), group]:
        wait_until(partial(_is_empty, part), GONE_S)
        part.rmdir()
