"""Temporary folders, named after the process that made them, so that a killed process's folders can be found.

/tmp may be shared with another pid namespace (a container, a guest of virtual time). So a name includes the namespace
of its pid, and folders from other namespaces are left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OWNER = re.compile(r"[1-9][0-9]{0,9}-[0-9]{1,20}")
_NAME = re.compile(rf"hedera-[a-z]+-([0-9a-f]{{8}})-({_OWNER.pattern})-[a-z0-9_]+")


def _start_time(pid: int) -> str | None:
    """The start time of a process in clock ticks since boot; None if it has ended (also if it is a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def whose_pids() -> str:
    """Eight hexadecimal digits for this boot of the kernel and our pid namespace.

    The namespace alone is not enough: the first one has the same number in every kernel.
    """
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    return hashlib.sha256((boot + os.readlink("/proc/self/ns/pid")).encode()).hexdigest()[:8]


def owner_name(pid: int | None = None) -> str:
    """The owner name of a process (default: this one): ``pid-starttime``, so that a reused pid cannot be mistaken."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}-{_start_time(pid)}"


def is_owner(name: str) -> bool:
    """Whether `owner_name` could have given this name; things with any other name are not ours."""
    return _OWNER.fullmatch(name) is not None


def is_alive(owner: str) -> bool:
    pid, _, started = owner.partition("-")
    return is_owner(owner) and _start_time(int(pid)) == started


@contextmanager
def temporary_folder(kind: str) -> Iterator[Path]:
    """A folder that nobody else can read, removed when the block ends. ``kind``: a word for its purpose."""
    with tempfile.TemporaryDirectory(prefix=f"hedera-{kind}-{whose_pids()}-{owner_name()}-") as name:
        yield Path(name)


def left_by(uids: Iterable[int]) -> dict[str, list[Path]]:
    """The temporary folders of these users' processes, alive or not, by owner."""
    folders: dict[str, list[Path]] = {}
    ours = whose_pids()
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            named = _NAME.fullmatch(entry.name)
            with suppress(OSError):
                if (
                    named
                    and named[1] == ours
                    and entry.is_dir(follow_symlinks=False)
                    and entry.stat(follow_symlinks=False).st_uid in uids
                ):
                    folders.setdefault(named[2], []).append(Path(entry.path))
    return folders


def remove_tree(folder: Path) -> str | None:
    """Remove a folder and everything in it, without following links or entering mounted file systems.

    Returns None when it is removed, else the reason.
    """
    done = subprocess.run(["rm", "-rf", "--one-file-system", "--", folder], check=False, capture_output=True, text=True)
    if not os.path.lexists(folder):
        return None
    return (done.stderr.strip().splitlines() or ["it is there again"])[-1].rpartition(": ")[2]
