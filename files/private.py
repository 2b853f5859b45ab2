"""The cache of programs compiled here: a folder into which only this user and root can write.

A program loaded from it runs with all rights of the user. So the folder and each file are checked after they are
opened, and treated as missing if others own them or can write to them.
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
    """There is no private folder; the message is one sentence."""


def private_folder(kind: str, base: str | None = None) -> Path:
    """The folder for one ``kind`` of programs below ``base``, or below this user's ~/.cache/hedera; created if
    needed.

    Root's folder is in root's own home: ``HOME`` and ``XDG_CACHE_HOME`` may be those of the user behind sudo.

    Raises NotPrivate if it cannot be created or does not belong to this user alone; and in a process that acts as
    another user for a while, because code loaded then would stay when the process becomes root again.
    """
    if len(set(os.getresuid())) > 1:
        raise NotPrivate("a process that can become another user does not cache programs")
    try:
        folder = (Path(base) if base else _home() / "hedera") / kind
        if os.geteuid() == 0 and whose(folder).other is not None:
            raise NotPrivate(f"root does not cache programs in {folder}, which is in another user's folder")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.lstat()
    except (OSError, RuntimeError) as error:
        raise NotPrivate(f"cannot create a folder for compiled programs: {error}") from None
    if not stat.S_ISDIR(about.st_mode) or not is_private(about):
        raise NotPrivate(f"{folder} has programs that are run, but others can write to it: remove it")
    return folder


def _home() -> Path:
    if os.geteuid() == 0:
        return Path(pwd.getpwuid(0).pw_dir, ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def is_private(about: os.stat_result) -> bool:
    """Whether a folder or file belongs to root or this user, and nobody else can write to it."""
    return about.st_uid in (0, os.geteuid()) and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


class Store:
    """Small programs by name in a private folder. Unreadable or truncated ones are treated as missing."""

    def __init__(self, folder: Path, most: int) -> None:
        """``most``: number of files to keep; the least recently used ones are removed."""
        self.folder = folder
        self._most = most

    def read(self, name: str) -> bytes | None:
        """The content written under the name; None if there is none, it is truncated, or others can write it."""
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
        """Keep ``content``, atomically. OSError if that fails: the disk is full, or read-only."""
        with whole(self.folder / name, lasting=False) as file:
            os.fchmod(file.fileno(), 0o644)  # whatever the umask
            file.write(hashlib.sha256(content).digest() + content)
        self._make_room()

    def _make_room(self) -> None:
        """Remove old files. Another process may still need one: it has either loaded it, or compiles it again."""
        with opened(self.folder) as here:
            with os.scandir(here) as entries:
                files = [(entry.stat(follow_symlinks=False).st_mtime, entry.name) for entry in entries]
            for _, name in sorted(files)[: -self._most]:
                os.unlink(name, dir_fd=here)


_DIGEST = hashlib.sha256().digest_size
