"""The user behind sudo: results are written as that user, so that root neither owns them nor trusts their place.

Whoever may write to a folder may put a link there at any moment. So root does not write below a user's folder and
hand over what it wrote; it becomes that user while it writes.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedera.unprivileged import User, invoker


@contextmanager
def as_invoker(place: Path) -> Iterator[None]:
    """Be the user behind sudo while the block runs, in all that concerns files, to read or write below ``place``.

    Where that user may not write, and nobody but root may (a clone that root made), the process stays root:
    nobody can have put a link there; `hand_over` what was made there. Without sudo the block just runs.
    """
    who = invoker()
    if who is None:
        yield
        return
    groups, gid, home = os.getgroups(), os.getegid(), os.environ.get("HOME")
    there = _existing(place)
    root_s_alone = _only_root_writes(there)
    try:
        os.setgroups(who.groups)
        os.setegid(who.gid)
        os.seteuid(who.uid)
        os.environ["HOME"] = who.home  # libraries keep caches there
        if root_s_alone and not os.access(there, os.W_OK | os.X_OK, effective_ids=True):
            _be_root(groups, gid, home)
        yield
    finally:
        _be_root(groups, gid, home)


def _be_root(groups: list[int], gid: int, home: str | None) -> None:
    os.seteuid(0)
    os.setegid(gid)
    os.setgroups(groups)
    if home is None:
        os.environ.pop("HOME", None)
    else:
        os.environ["HOME"] = home


def make_folder(folder: Path) -> None:
    """Create a folder and what is missing above it, all of it the invoker's. OSError when that cannot be."""
    with as_invoker(folder):
        missing = []
        path = Path(os.path.abspath(folder))
        while not path.exists():
            missing.append(path)
            path = path.parent
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
    if missing:
        hand_over(missing[-1])


def hand_over(path: Path) -> None:
    """Give the invoker what root made at ``path`` and below it, if it lies where nobody but root could make it."""
    who = invoker()
    if who is None or not _only_root_writes(path.parent):
        return
    if path.is_dir():
        # The innermost first: once a folder is the user's, so are the names in it.
        for _, _, files, here in os.fwalk(path, topdown=False):
            for name in files:
                with contextlib.suppress(OSError):
                    _give(os.open(name, _FILE, dir_fd=here), who)
            if os.fstat(here).st_uid == 0:
                os.fchown(here, who.uid, who.gid)
    else:
        _give(os.open(path, _FILE), who)


def leave_root_for_good() -> None:
    """Become the user behind sudo, where there is one, until this process ends."""
    if (who := invoker()) is not None:
        os.setgroups(who.groups)
        os.setgid(who.gid)
        os.setuid(who.uid)
        os.environ["HOME"] = who.home
        # What setup/as-root.pth keeps root from doing in a user's folder, and sends to a folder of root's instead.
        os.environ.pop("NUMBA_CACHE_DIR", None)
        sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ


_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def _give(descriptor: int, who: User) -> None:
    """One plain file of root's that has one name only: a second name may be a file of the system's."""
    try:
        found = os.fstat(descriptor)
        if found.st_uid == 0 and stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            os.fchown(descriptor, who.uid, who.gid)
    finally:
        os.close(descriptor)


def _only_root_writes(there: Path) -> bool:
    """Whether a folder and all above it are root's and nobody else's to write to, or to reach at all."""
    path = there.resolve()
    for folder in (*reversed(path.parents), path):
        found = folder.stat()
        shared = found.st_mode & 0o022 and (folder == path or not found.st_mode & stat.S_ISVTX)
        if found.st_uid != 0 or shared:
            return False
        if not found.st_mode & 0o011:
            return True  # nobody but root gets past it
    return True


def _existing(place: Path) -> Path:
    """The place, or the nearest folder above it that is there."""
    path = Path(os.path.abspath(place))
    while not path.exists() and path != path.parent:
        path = path.parent
    return path
