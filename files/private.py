"""Where programs that were compiled here are kept: a folder that nobody but this user and root can put one into.

What is loaded from it runs with all rights of who loads it. So the folder and each file are looked at when they are
open, and what others own, or can write, is not there.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path

from files.places import opened
from files.rights import whose
from files.writer import whole


class NotPrivate(RuntimeError):
    """There is no such folder, in one sentence."""


def private_folder(kind: str, base: str | None = None) -> Path:
    """The folder for one ``kind`` of programs below ``base``, or below this user's ~/.cache/hedera; made if need be.

    Root's lies in root's own home: ``HOME`` and ``XDG_CACHE_HOME`` may be those of the user behind sudo.

    Raises NotPrivate where it cannot be made or is not this user's alone, and in a process that is another user for
    a while: it can become root again, and what it loads then with it.
    """
    if len(set(os.getresuid())) > 1:
        raise NotPrivate("a process that can become another user keeps no programs")
    try:
        folder = (Path(base) if base else _home() / "hedera") / kind
        if os.geteuid() == 0 and whose(folder).other is not None:
            raise NotPrivate(f"root keeps no programs in {folder}, in another user's folder")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.lstat()
    except (OSError, RuntimeError) as error:
        raise NotPrivate(f"no folder for compiled programs can be made: {error}") from None
    if not stat.S_ISDIR(about.st_mode) or not is_private(about):
        raise NotPrivate(f"{folder} holds programs that are run, and others can write to it: remove it")
    return folder


def _home() -> Path:
    if os.geteuid() == 0:
        return Path(pwd.getpwuid(0).pw_dir, ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def is_private(about: os.stat_result) -> bool:
    """Whether a folder or file is root's or this user's, and nobody else's to write."""
    return about.st_uid in (0, os.geteuid()) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


class Store:
    """Small programs by name in a private folder. What cannot be read, or was cut short, is not there."""

    def __init__(self, folder: Path, most: int) -> None:
        """``most``: number of files to keep; those go that were not used for longest."""
        self.folder = folder
        self._most = most

    def read(self, name: str) -> bytes | None:
        """What was written under the name; None when nothing was, or it is not whole, or others could write it."""
        with suppress(OSError), opened(self.folder) as here:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
            with open(file, "rb") as program:
                about = os.fstat(file)
                if stat.S_ISREG(about.st_mode) and is_private(about) and is_private(os.fstat(here)):
                    content = program.read()
                    if hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]:
                        with suppress(OSError):
                            os.utime(file)
                        return content[_DIGEST:]
        return None

    def write(self, name: str, content: bytes) -> None:
        """Keep ``content``, whole or not at all. OSError when that cannot be: the disk is full, it is read-only."""
        with whole(self.folder / name, lasting=False) as file:
            os.fchmod(file.fileno(), 0o644)  # whatever the umask
            file.write(hashlib.sha256(content).digest() + content)
        self._make_room()

    def _make_room(self) -> None:
        """Another process may still want what goes: it has what it loaded, and compiles what it has not."""
        with opened(self.folder) as here:
            with os.scandir(here) as entries:
                files = [(entry.stat(follow_symlinks=False).st_mtime, entry.name) for entry in entries]
            for _, name in sorted(files)[: -self._most]:
                os.unlink(name, dir_fd=here)


_DIGEST = hashlib.sha256().digest_size
