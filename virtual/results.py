"""The results of a guest, which is not trusted: only regular files, limited in number, size and depth, are copied."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from virtual.errors import GuestFailed

MAX_BYTES = 1 << 30
MAX_FILES = 100_000
DEEPEST = 8
TEXT_BYTES = 64 << 20
"""The limit of a command's output that is kept."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def read_small(path: Path, most: int = TEXT_BYTES) -> str:
    """The beginning of a regular file. OSError if it is not one."""
    descriptor = os.open(path, _FILE)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read(most).decode(errors="replace")


def copy_results(source: Path, target: Path) -> int:
    """Copy everything below ``source`` into the folder ``target``; returns the number of files.

    Raises GuestFailed for links, special files, and too many, too large or too deep ones; OSError if writing fails.
    Then some files may have been copied.
    """
    root = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        return _Copy().folder(root, target, 1)
    finally:
        os.close(root)


class _Copy:
    def __init__(self) -> None:
        self._files = 0
        self._bytes = 0

    def folder(self, here: int, target: Path, depth: int) -> int:
        if depth > DEEPEST:
            raise GuestFailed(f"the guest left folders more than {DEEPEST} deep")
        for name in sorted(os.listdir(here)):
            found = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
                try:
                    (target / name).mkdir(exist_ok=True)
                    self.folder(below, target / name, depth + 1)
                finally:
                    os.close(below)
            elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                self._file(here, name, target / name)
            else:
                raise GuestFailed(f"the guest left {name[:80]!r}, which is not a regular file")
        return self._files

    def _file(self, here: int, name: str, target: Path) -> None:
        self._files += 1
        if self._files > MAX_FILES:
            raise GuestFailed(f"the guest left more than {MAX_FILES} files")
        descriptor = os.open(name, _FILE, dir_fd=here)
        with os.fdopen(descriptor, "rb") as file, target.open("xb") as copy:
            while part := file.read(1 << 20):
                self._bytes += len(part)
                if self._bytes > MAX_BYTES:
                    raise GuestFailed(f"the guest left more than {MAX_BYTES >> 20} MiB")
                copy.write(part)
