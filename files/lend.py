"""Root's files for a program that is not root: a view of the file system with these files at their own paths.

``lend.py PLAN COMMAND...`` runs as root, before the command gives up root's rights. In that view, folders that its
user cannot enter are empty, except for what the plan names: copied, or bound if it is the whole Python installation.
Everything is read-only, and gone with the last process that sees it. This program imports none of our modules,
because it starts before they can be found.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_NEW_NAMESPACE = 0x20000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 0x20, 0x1000, 0x4000, 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Carry out a plan, then become the command."""
    plan, command = json.loads(sys.argv[1]), sys.argv[2:]
    bound, copied = ([Path(path) for path in plan[name]] for name in ("bound", "copied"))
    try:
        _lend(plan["user"], bound, copied)
        with _as(plan["user"]):
            hidden = [str(path) for path in (*bound, *copied) if not _readable(path)]
    except OSError as error:
        sys.exit(f"hedera: what user {plan['user']['uid']} may not read cannot be lent here: {error}")
    if hidden:
        sys.exit(f"hedera: {hidden[0]} cannot be read by user {plan['user']['uid']} (chmod -R go+rX)")
    os.execvp(command[0], command)


def _lend(user: dict[str, Any], bound: list[Path], copied: list[Path]) -> None:
    _check(_libc.unshare(_NEW_NAMESPACE))
    _mount("none", "/", "", _REC | _PRIVATE)
    with _as(user):
        closed = {folder for path in (*bound, *copied) if (folder := _first_closed(path))}
    closed = {folder for folder in closed if not closed & set(folder.parents)}
    wanted = [path for path in (*bound, *copied) if closed & {path, *path.parents}]
    wanted = [path for path in wanted if not set(wanted) & set(path.parents)]
    if Path("/") in closed:
        raise OSError(errno.EINVAL, "it is in /")
    sources = {path: _held(path) for path in wanted}
    for folder in closed:
        _mount("hedera", str(folder), "tmpfs", _NO_SUID | _NO_DEVICES, "mode=755")
    for path, source in sources.items():
        there = f"/proc/self/fd/{source}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path in bound:
            path.mkdir(exist_ok=True)
            _mount(there, str(path), "", _BIND)
            with suppress(OSError):  # some containers forbid it; the user cannot write there anyway
                _mount("none", str(path), "", _REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_DEVICES)
        elif os.path.isdir(there):
            shutil.copytree(there, path, symlinks=True, dirs_exist_ok=True, copy_function=_copy)
        else:
            _copy(there, str(path))
    for folder in closed:
        for inside, names, _ in os.walk(folder):
            names[:] = [name for name in names if Path(inside, name) not in bound]
            os.chmod(inside, 0o755)
        _mount("none", str(folder), "", _REMOUNT | _READ_ONLY | _NO_SUID | _NO_DEVICES)


def _held(path: Path) -> int:
    """A descriptor of the path, to use after it is hidden. It must not have become a link since the plan was made."""
    if path.is_dir():
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _copy(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    shutil.copystat(source, target)
    os.chmod(target, 0o644)


def _first_closed(path: Path) -> Path | None:
    """The folder that has to be replaced to make the path readable; None if it is readable."""
    for folder in reversed(path.parents):
        if not os.access(folder, os.X_OK, effective_ids=True):
            return folder
    if _readable(path):
        return None
    return path if path.is_dir() else path.parent


def _readable(path: Path) -> bool:
    return os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0), effective_ids=True)


@contextmanager
def _as(user: dict[str, Any]) -> Iterator[None]:
    groups = os.getgroups()
    os.setgroups(user["groups"])
    os.setegid(user["gid"])
    os.seteuid(user["uid"])
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _check(_libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()))


def _check(status: int) -> None:
    if status:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    main()
