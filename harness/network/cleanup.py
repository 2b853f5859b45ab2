"""What a run has of the machine while it lives, how it is recognised as ours, and how it is removed.

One run at a time: two would slow each other down, and neither's result would be worth anything.

A run owns one folder below /run/hedera named after its process (pid and start time, so that a reused pid is no
mistake), and with `--host-cpu` a control group of that name. Processes end with the harness, and namespaces, interfaces
and bridges with them.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.network import cpulimit, host_setup
from record.errors import UnfitMachine
from record.files import find_left_by, is_alive, is_owner, name_owner, remove_tree
from virtual.cache import take_lock

HOME = Path("/run/hedera")
# The tear-down of a run takes a quarter of a second, and nobody need be told that the next one waits for it.
LOOK_EVERY_S, TELL_S = 0.2, 2.0
"""How often a run that waits for another one looks whether that has ended; and after how long it says that it waits."""


def find_home() -> Path:
    """HOME, made if need be. UnfitMachine when it is not a folder that only we can write to."""
    with contextlib.suppress(FileExistsError):
        HOME.mkdir(mode=0o755)
    if not _is_our_folder(HOME):
        raise UnfitMachine(f"{HOME} is not a folder that only root can write to, so it is not believed: remove it")
    return HOME


def _is_our_folder(path: Path) -> bool:
    """Whether a path is a folder (no link to one) of root's, or our own, that nobody else can write to."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022


@contextmanager
def run_folder() -> Iterator[Path]:
    """A folder for what this run needs while it lives, gone when the block ends."""
    remove_leftovers()
    owner = name_owner()
    folder = find_home() / owner
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        _remove(owner, Cleaned())


@dataclass(frozen=True)
class Cleaned:
    """What was removed, and what could not be, with the reason: a line for each."""

    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def note(self, thing: object, why_not: str | None) -> None:
        if why_not is None:
            self.removed.append(str(thing))
        else:
            self.left.append(f"{thing} ({why_not})")


def list_leftovers() -> list[str]:
    names = {path.name for path in HOME.glob("*-*")} if _is_our_folder(HOME) else set()
    names |= set(find_left_by({os.geteuid()})) | set(cpulimit.find_groups_left())
    return sorted(name for name in names if is_owner(name) and not is_alive(name))


def remove_leftovers() -> Cleaned:
    cleaned = Cleaned()
    for owner in list_leftovers():
        _remove(owner, cleaned)
        for folder in find_left_by({os.geteuid()}).get(owner, []):
            cleaned.note(folder, remove_tree(folder))
    return cleaned


def _remove(owner: str, cleaned: Cleaned) -> None:
    folder = HOME / owner
    if group := cpulimit.find_groups_left().get(owner):
        try:
            cpulimit.remove_group(group)
            cleaned.note(group, None)
        except OSError as error:
            cleaned.note(group, error.strerror)
    if _is_our_folder(HOME) and _is_our_folder(folder):
        thing = "an addition to net.ipv4.tcp_allowed_congestion_control"
        try:
            if host_setup.restore(folder):
                cleaned.note(thing, None)
            if cpulimit.restore(folder):
                cleaned.note(f"cpu in {cpulimit.HANDED_DOWN}", None)
            cleaned.note(folder, remove_tree(folder))
        except OSError as error:
            cleaned.note(thing, error.strerror)


@contextmanager
def sole_use(doing: str = "a run", say: Callable[[str], object] = lambda sentence: None) -> Iterator[None]:
    """Wait until no other run uses this machine, and keep others off it while the block runs.

    ``doing`` is what others who wait are told; ``say`` hears for whom this process waits, after TELL_S.
    """
    # Root's own file, which nobody else can open: whoever could, could take the lock and never give it back.
    lock = os.open(find_home() / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(lock, 0o600)
        began, announced = time.monotonic(), False
        while not take_lock(lock):
            if not announced and time.monotonic() - began >= TELL_S:
                holder = os.pread(lock, 200, 0).decode(errors="replace") or "another process"
                say(f"waiting for {holder}: two runs at once would disturb each other")
                announced = True
            time.sleep(LOOK_EVERY_S)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} ({doing})".encode(), 0)
        yield
    finally:
        os.close(lock)
