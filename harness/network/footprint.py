"""What a run leaves on the machine while it lives, how it is recognised as ours, and how it is removed.

A run owns one folder below /run/hedera named after its process (pid and start time, so that a reused pid is
no mistake), cgroups of the same name, and processes that carry the name in their environment. Namespaces,
interfaces and bridges need no entry: they end with those processes.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from files.rights import invoker
from files.unprivileged import NOBODY_S_CACHE
from harness.errors import UnfitMachine
from harness.network.bunching import HYSTERESIS
from harness.network.congestion import ALLOWED
from harness.network.cpulimit import LEGACY, SUBTREE, UNIFIED
from harness.network.grace_periods import EXPEDITED
from harness.network.processes import wait_until
from results.temporary import is_alive, is_owner, left_by, owner_name, remove_tree

HOME = Path("/run/hedera")
MARK = "HEDERA_RUN"
"""Environment variable that every process of a run carries; its value is the run's owner."""
CGROUPS = (LEGACY, UNIFIED)
SETTINGS = (ALLOWED, HYSTERESIS, EXPEDITED, SUBTREE)
"""Settings of the machine that a run changes while it lives."""


def home() -> Path:
    """HOME, made if need be. UnfitMachine when it is not a folder that only we can write to."""
    with contextlib.suppress(FileExistsError):
        HOME.mkdir(mode=0o755)
    if not _is_our_folder(HOME):
        raise UnfitMachine(f"{HOME} is not a folder that only root can write to, so it is not believed: remove it")
    return HOME


def _is_our_folder(path: Path) -> bool:
    """Whether a path is a folder (no link to one) of root's, or our own, that nobody else can write to."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o022


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
    names |= set(_marked()) | set(left_by(_our_uids()))
    return sorted(name for name in names if is_owner(name) and not is_alive(name))


@dataclass(frozen=True)
class Cleaned:
    """What was removed, and what could not be, with the reason: a line for each."""

    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def note(self, what: object, why_not: str | None) -> None:
        """That something is gone, or why it is not."""
        if why_not is None:
            self.removed.append(str(what))
        else:
            self.left.append(f"{what} ({why_not})")


def remove_leftovers() -> Cleaned:
    """End and remove what dead runs left behind."""
    cleaned = Cleaned()
    for owner in leftovers():
        _remove(owner, cleaned)
        for folder in left_by(_our_uids()).get(owner, []):
            cleaned.note(folder, remove_tree(folder))
    return cleaned


def remove_cache(cleaned: Cleaned) -> None:
    """Remove the compiled code of what runs as nobody: it is compiled again when it is needed."""
    folder = NOBODY_S_CACHE.parent
    if _is_our_folder(folder):
        cleaned.note(folder, remove_tree(folder))


def _remove(owner: str, cleaned: Cleaned) -> None:
    """Processes first, which hold the rest; groups before the setting that they needed."""
    pids = set(_marked().get(owner, [])) - {os.getpid()}
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if pids:
        wait_until(lambda: pids.isdisjoint(_marked().get(owner, [])), 2)
        living = pids.intersection(_marked().get(owner, []))
        for pid in sorted(pids):
            cleaned.note(f"process {pid} of run {owner}", "it does not end" if pid in living else None)
    for root in CGROUPS:
        group = root / f"hedera-{owner}"
        if group.exists():
            cleaned.note(group, _remove_group(group))
    folder = HOME / owner
    if _is_our_folder(HOME) and _is_our_folder(folder) and _restore(folder, cleaned):
        cleaned.note(folder, remove_tree(folder))


def _remove_group(group: Path) -> str | None:
    """Remove a control group with those in it; None when it is gone, else why it is not."""
    try:
        for part in sorted(group.rglob("*"), reverse=True):
            if part.is_dir():
                part.rmdir()
        group.rmdir()
    except OSError as error:
        return error.strerror
    return None


def _our_uids() -> set[int]:
    """Whose temporary folders are ours to remove: root's, or the user's that we are, and that of who called sudo."""
    who = invoker()
    return {os.geteuid()} | (set() if who is None else {who.uid})


def _restore(folder: Path, cleaned: Cleaned) -> bool:
    """Put back every setting that a run has changed; whether all are. Its folder says what the others were."""
    before = len(cleaned.left)
    for setting in SETTINGS:
        try:
            if setting.restore(folder):
                cleaned.note(setting.name, None)
        except OSError as error:
            cleaned.note(setting.name, error.strerror)
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
            # Whose it is comes first: another user's environment may be memory that never answers.
            if not _is_ours(entry) or os.readlink(entry / "ns/pid") != here:
                continue
            environment = (entry / "environ").read_bytes()
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
