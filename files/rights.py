"""The user whose rights are used for files: the user behind sudo, or the folder's owner; root where only root writes.

A user who can write to a folder can put a link there at any time. So root does not write below a user's folder and
then change the owner; it becomes that user while it writes, or for good. While it acts as another user it must not
load code, because that code could take root's rights back.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from files.places import refuse, steps


@dataclass(frozen=True)
class User:
    """A user by uid, with all groups and the home folder."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


NOBODY = User(65534, 65534, (), "/nonexistent")


def user(uid: int) -> User:
    """The user with this uid; a user unknown to the system gets no groups."""
    try:
        known = pwd.getpwuid(uid)
    except KeyError:
        return User(uid, NOBODY.gid, (), "/")
    return User(uid, known.pw_gid, tuple(os.getgrouplist(known.pw_name, known.pw_gid)), known.pw_dir)


def invoker() -> User | None:
    """The user who called sudo; None if there is none, or if this process is not root (now)."""
    uid, gid = _number("SUDO_UID"), _number("SUDO_GID")
    if os.geteuid() != 0 or not uid or gid is None:
        return None
    try:
        known = pwd.getpwuid(uid)
    except KeyError:
        return User(uid, gid, (gid,), "/")
    return User(uid, gid, tuple(os.getgrouplist(known.pw_name, gid)), known.pw_dir)


def _number(variable: str) -> int | None:
    """The uid or gid in a variable. The highest number is excluded: to the kernel it means "unchanged"."""
    value = os.environ.get(variable, "")
    found = int(value) if re.fullmatch("[0-9]{1,10}", value) else None
    return None if found is None or found >= 2**32 - 1 else found


class Whose(NamedTuple):
    """``other``: the owner of the first folder or link on a path that does not belong to root. ``root_s_alone``: only
    root could put something else there."""

    other: User | None
    root_s_alone: bool


def whose(place: Path) -> Whose:
    """Who controls a path, by those parts of it that exist; missing parts will be ours."""
    shared = open_to_all = False
    try:
        for step in steps(place):
            about = step.about
            if about.st_uid != 0:
                return Whose(user(about.st_uid), False)
            if not step.is_link:
                open_to_all = bool(about.st_mode & 0o022)
                shared |= open_to_all and not about.st_mode & stat.S_ISVTX
                if not about.st_mode & 0o011:
                    break  # only root can get past it
    except OSError:
        pass
    return Whose(None, not (shared or open_to_all))


@contextmanager
def as_owner(place: Path) -> Iterator[User | None]:
    """Act as the owner of the files at ``place`` while the block runs, for all file operations.

    Behind sudo the owner is the user who called it. If only root can write there (a clone that root made), the
    process stays root, since nobody else can have put a link there; the block gets that user, who should own what
    root makes. In a root shell it is the owner of the folder, or of the first folder above it that does not belong to
    root. Without root nothing changes.
    """
    if os.geteuid() != 0:
        yield None
        return
    become, heir = _decide(place)
    with _being(become):
        yield heir


@contextmanager
def as_invoker() -> Iterator[None]:
    """Act as the user who called sudo, if any, while the block reads files that the user named."""
    with _being(invoker()):
        yield


def _decide(place: Path) -> tuple[User | None, User | None]:
    """The user that root should become for a place; or, if it stays root, the user who should own what it makes."""
    other, root_s_alone = whose(place)
    become = invoker() or other
    if become is None or not root_s_alone:
        return become, None
    there = _existing(place)
    with _being(become):
        may_write = os.access(there, os.W_OK | os.X_OK, effective_ids=True)
    return (become, None) if may_write else (None, become)


@contextmanager
def _being(who: User | None) -> Iterator[None]:
    if who is None:
        yield
        return
    before = os.getgroups(), os.getegid(), os.environ.get("HOME")
    try:
        os.setgroups(who.groups)
    except OSError as error:  # root of a user namespace, whose rights end there
        advice = "in a user namespace use your own user (unshare --map-current-user), not root"
        raise OSError(error.errno, f"root cannot become user {who.uid} here; {advice}") from error
    try:
        os.setegid(who.gid)
        os.seteuid(who.uid)
        os.environ["HOME"] = who.home  # libraries keep caches there
        yield
    finally:
        _be_root(*before)


def _be_root(groups: list[int], gid: int, home: str | None) -> None:
    os.seteuid(0)
    os.setegid(gid)
    os.setgroups(groups)
    if home is None:
        os.environ.pop("HOME", None)
    else:
        os.environ["HOME"] = home


def _existing(place: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    path = Path(os.path.abspath(place))
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, owned by the place's user. OSError if that fails."""
    with as_owner(folder) as heir:
        for step in steps(folder, make=True):
            if step.is_link:
                refuse(step, folder)
            elif step.made and heir is not None:
                os.chown(".", heir.uid, heir.gid, dir_fd=step.descriptor)


def leave_root_for_good(place: Path | None = None) -> None:
    """Become, until this process ends, the user behind sudo; or the user that `as_owner` would choose for
    ``place``."""
    if os.geteuid() != 0:
        return
    who = invoker() if place is None else _decide(place)[0]
    if who is not None:
        os.setgroups(who.groups)
        os.setresgid(who.gid, who.gid, who.gid)
        os.setresuid(who.uid, who.uid, who.uid)
        os.environ["HOME"] = who.home
        # setup/as-root.pth sets this for root, so that root's caches are not in a user's folder.
        os.environ.pop("NUMBA_CACHE_DIR", None)
        sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
