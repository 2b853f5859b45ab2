"""What a run leaves on the machine while it lives, how it is recognised as ours, and how it is removed.

A run owns one folder below /run/hedera named after its process (pid and start time, so that a reused pid is
no mistake), cgroups of the same name, and processes that carry the name in their environment. Namespaces,
interfaces and bridges need no entry: they end with those processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import RunFailed
from harness.network import congestion
from harness.network.processes import wait_until

HOME = Path("/run/hedera")
MARK = "HEDERA_RUN"
"""Environment variable that every process of a run carries; its value is the run's owner."""
CGROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
"""Where the version 1 CPU controller and the unified hierarchy are mounted."""


def _start_time(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]


def owner_name(pid: int | None = None) -> str:
    """The name a process (this one unless told) owns things by: ``pid-starttime``."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}-{_start_time(pid)}"


def is_alive(owner: str) -> bool:
    """Whether the process an owner name stands for still runs."""
    pid, _, started = owner.partition("-")
    return pid.isdigit() and _start_time(int(pid)) == started


@contextmanager
def sole_use() -> Iterator[None]:
    """Keep a second run off the machine while the block runs: they would slow each other down.

    Raises RunFailed, naming the other process, when there is one.
    """
    HOME.mkdir(mode=0o755, exist_ok=True)
    with (HOME / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise RunFailed(
                f"another run (process {lock.read().strip() or 'unknown'}) is using this machine, "
                "and two at once would disturb each other: wait for it, or stop it"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for sockets and pids of this run, gone when the block ends; children are marked as ours."""
    remove_leftovers()
    owner = owner_name()
    folder = HOME / owner
    folder.mkdir(parents=True)
    os.environ[MARK] = owner
    try:
        yield folder
    finally:
        del os.environ[MARK]
        _remove(owner)


def leftovers() -> list[str]:
    """Owners that are dead but have left something."""
    names = {path.name for path in HOME.glob("*-*")} if HOME.exists() else set()
    for root in CGROUPS:
        names |= {path.name.removeprefix("hedera-") for path in root.glob("hedera-*")}
    names |= set(_marked())
    return sorted(name for name in names if not is_alive(name))


def remove_leftovers() -> list[str]:
    """End and remove what dead runs left behind; returns a line for each thing removed."""
    return [line for owner in leftovers() for line in _remove(owner)]


def _remove(owner: str) -> list[str]:
    removed = []
    pids = _marked().get(owner, [])
    for pid in pids:
        if pid != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            removed.append(f"process {pid} of run {owner}")
    if pids:
        wait_until(lambda: not _marked().get(owner), 2)
    folder = HOME / owner
    if folder.exists():
        if congestion.restore(folder):
            removed.append("an addition to net.ipv4.tcp_allowed_congestion_control")
        shutil.rmtree(folder, ignore_errors=True)
        removed.append(str(folder))
    for root in CGROUPS:
        group = root / f"hedera-{owner}"
        if group.exists():
            for part in sorted(group.rglob("*"), reverse=True):
                if part.is_dir():
                    with contextlib.suppress(OSError):
                        part.rmdir()
            with contextlib.suppress(OSError):
                group.rmdir()
            removed.append(str(group))
    return removed


def _marked() -> dict[str, list[int]]:
    """Pids by the owner named in their environment."""
    found: dict[str, list[int]] = {}
    prefix = f"{MARK}=".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:  # it has ended, or is not ours to look at
            continue
        for variable in environment.split(b"\0"):
            if variable.startswith(prefix):
                found.setdefault(variable[len(prefix) :].decode(errors="replace"), []).append(int(entry.name))
    return found
