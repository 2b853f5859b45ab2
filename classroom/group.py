"""A control group for a submission: limits its total memory (with its /tmp) and its number of processes.

A process's own limits count each process separately, and do not count what is in a tmpfs or in the kernel.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOUNTED = Path("/sys/fs/cgroup")
_NAME = "hedera-grade-"


@contextmanager
def limited_group(memory_bytes: int, processes: int) -> Iterator[tuple[Path, ...]]:
    """A group, removed when the block ends: the files by which a process joins it (version 1 has two groups).

    None if there are no such groups, or the user may not create them; then only the limits of processes apply.
    """
    made: list[Path] = []
    try:
        for parent, limits in _parents(memory_bytes, processes).items():
            for old in parent.glob(f"{_NAME}*"):  # of graders that were killed
                if not Path("/proc", old.name.removeprefix(_NAME).partition("-")[0]).exists():
                    _remove([old])
            group = Path(tempfile.mkdtemp(prefix=f"{_NAME}{os.getpid()}-", dir=parent))
            made.append(group)
            for name, value in limits.items():
                if (group / name).exists() or "sw" not in name:  # not every kernel counts what is swapped out
                    (group / name).write_text(str(value))
    except OSError:
        _remove(made)
    try:
        yield tuple(group / "cgroup.procs" for group in made)
    finally:
        _remove(made)


def _parents(memory_bytes: int, processes: int) -> dict[Path, dict[str, int]]:
    """The parent groups for ours, and the limits to write: our own group, whose limits apply as well; or, since in
    version 2 a group has either processes or groups, the nearest one above that delegates both controllers."""
    lines = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    own = {name: path.lstrip("/") for _, names, path in lines for name in names.split(",")}
    if {"memory", "pids"} <= own.keys():
        memory = {"memory.limit_in_bytes": memory_bytes, "memory.memsw.limit_in_bytes": memory_bytes}
        return {
            MOUNTED / "memory" / own["memory"]: memory,
            MOUNTED / "pids" / own["pids"]: {"pids.max": processes},
        }
    limits = {"memory.max": memory_bytes, "memory.swap.max": 0, "pids.max": processes}
    here = MOUNTED / own[""] if "" in own else MOUNTED
    for folder in (here, *here.parents):
        handed = folder / "cgroup.subtree_control"
        if handed.exists() and {"memory", "pids"} <= set(handed.read_text().split()):
            return {folder: limits}
    return {}


def _remove(made: list[Path]) -> None:
    while made:
        with contextlib.suppress(OSError):
            made[-1].rmdir()
        made.pop()
