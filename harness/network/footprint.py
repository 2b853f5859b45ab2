"""What a run leaves on the machine while it lives, how it is recognised as ours, and how it is removed.

A run owns one folder below /run/hedera named after its process (pid and start time, so that a reused pid is
no mistake), cgroups of the same name, and processes that carry the name in their environment. Namespaces,
interfaces and bridges need no entry: they end with those processes.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import UnfitMachine
from harness.network.bunching import HYSTERESIS
from harness.network.congestion import ALLOWED
from harness.network.grace_periods import EXPEDITED
from harness.network.processes import wait_until

HOME = Path("/run/hedera")
MARK = "HEDERA_RUN"
"""Environment variable that every process of a run carries; its value is the run's owner."""
CGROUPS = (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup"))
"""Where the version 1 CPU controller and the unified hierarchy are mounted."""
SETTINGS = (ALLOWED, HYSTERESIS, EXPEDITED)
"""Settings of the machine that a run changes while it lives."""
_OWNER = re.compile(r"[1-9][0-9]{0,9}-[0-9]{1,20}")


def home() -> Path:
    """HOME, made if need be. UnfitMachine when it is not a folder that only we can write to."""
    with contextlib.suppress(FileExistsError):
        HOME.mkdir(mode=0o755)
    if not _is_our_folder(HOME):
        raise UnfitMachine(
            f"{HOME} is not a folder that only root can write to, so it is not believed: remove it"
        )
    return HOME


def _is_our_folder(path: Path) -> bool:
    """Whether a path is a folder (no link to one) of root's, or our own, that nobody else can write to."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o022


def _start_time(pid: int) -> str | None:
    """Clock ticks since boot at which a process started; None when it has ended (a zombie has)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def owner_name(pid: int | None = None) -> str:
    """The name a process (this one unless told) owns things by: ``pid-starttime``."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}-{_start_time(pid)}"


def is_owner(name: str) -> bool:
    """Whether a name is one that `owner_name` could have given; nothing by any other name is ours."""
    return _OWNER.fullmatch(name) is not None


def is_alive(owner: str) -> bool:
    """Whether the process an owner name stands for still runs."""
    pid, _, started = owner.partition("-")
    return is_owner(owner) and _start_time(int(pid)) == started


@contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for what this run needs while it lives, gone when the block ends; children are marked as ours."""
    remove_leftovers()
    owner = owner_name()
    folder = home() / owner
    folder.mkdir(mode=0o700)
    os.environ[MARK] = owner
    try:
        yield folder
    finally:
        del os.environ[MARK]
        _remove(owner, Cleaned())


def leftovers() -> list[str]:
    """Owners that are dead but have left something."""
    names = {path.name for path in HOME.glob("*-*")} if _is_our_folder(HOME) else set()
    for root in CGROUPS:
        names |= {path.name.removeprefix("hedera-") for path in root.glob("hedera-*")}
    names |= set(_marked())
    return sorted(name for name in names if is_owner(name) and not is_alive(name))


@dataclass(frozen=True)
class Cleaned:
    """What was removed, and what could not be, with the reason: a line for each."""

    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def remove_leftovers() -> Cleaned:
    """End and remove what dead runs left behind."""
    cleaned = Cleaned()
    for owner in leftovers():
        _remove(owner, cleaned)
    return cleaned


def _remove(owner: str, cleaned: Cleaned) -> None:
    pids = _marked().get(owner, [])
    for pid in pids:
        if pid != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            cleaned.removed.append(f"process {pid} of run {owner}")
    if pids:
        wait_until(lambda: not _marked().get(owner), 2)
    folder = HOME / owner
    if _is_our_folder(HOME) and _is_our_folder(folder) and _restore(folder, cleaned):
        shutil.rmtree(folder, ignore_errors=True)
        cleaned.removed.append(str(folder))
    for root in CGROUPS:
        group = root / f"hedera-{owner}"
        if group.exists():
            for part in sorted(group.rglob("*"), reverse=True):
                if part.is_dir():
                    with contextlib.suppress(OSError):
                        part.rmdir()
            with contextlib.suppress(OSError):
                group.rmdir()
            cleaned.removed.append(str(group))


def _restore(folder: Path, cleaned: Cleaned) -> bool:
    """Put back every setting that a run has changed; whether all are. Its folder says what the others were."""
    before = len(cleaned.left)
    for setting in SETTINGS:
        try:
            if setting.restore(folder):
                cleaned.removed.append(setting.name)
        except OSError as error:
            cleaned.left.append(f"{setting.name} ({error.strerror})")
    return len(cleaned.left) == before


def _marked() -> dict[str, list[int]]:
    """Pids of our own processes by the owner named in their environment.

    Anyone can put any name into the environment of a process, so only those count that belong to us (to root)
    entirely, and only names that we give. Processes of a container count there, where their owner's pid means
    something.
    """
    found: dict[str, list[int]] = {}
    prefix = f"{MARK}=".encode()
    here = os.readlink("/proc/self/ns/pid")
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes()
            if prefix not in environment or not _is_ours(entry) or os.readlink(entry / "ns/pid") != here:
                continue
        except OSError:  # it has ended, or is not ours to look at
            continue
        for variable in environment.split(b"\0"):
            owner = variable.removeprefix(prefix).decode(errors="replace")
            if variable.startswith(prefix) and is_owner(owner):
                found.setdefault(owner, []).append(int(entry.name))
    return found


def _is_ours(process: Path) -> bool:
    """Whether all user ids of a process (real, effective, saved, file system) are ours."""
    uids = re.search(r"^Uid:((?:\s+\d+){4})", (process / "status").read_text(errors="replace"), re.MULTILINE)
    return uids is not None and set(uids.group(1).split()) == {str(os.geteuid())}
