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


def copy_results(source: Path, target: Path, *, replace: bool = False) -> int:
    """Copy everything below ``source`` into the folder ``target``; returns the number of files and folders.

    ``replace``: files that are there already are replaced. Raises GuestFailed for links, special files, and too many,
    too large or too deep ones; OSError if writing fails. Then some files may have been copied.
    """
    count = size = 0
    for where, folders, names, here in os.fwalk(source, follow_symlinks=False):
        below = Path(where).relative_to(source)
        if len(below.parts) >= DEEPEST:
            raise GuestFailed(f"the guest left folders more than {DEEPEST} deep")
        for name in sorted(folders + names):
            found = os.stat(name, dir_fd=here, follow_symlinks=False)
            count += 1
            if count > MAX_FILES:
                raise GuestFailed(f"the guest left more than {MAX_FILES} files")
            if stat.S_ISDIR(found.st_mode):
                (target / below / name).mkdir(exist_ok=True)
            elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                opened = os.open(name, _FILE, dir_fd=here)
                if replace:
                    (target / below / name).unlink(missing_ok=True)
                with os.fdopen(opened, "rb") as file, (target / below / name).open("xb") as copy:
                    while part := file.read(1 << 20):
                        size += len(part)
                        if size > MAX_BYTES:
                            raise GuestFailed(f"the guest left more than {MAX_BYTES >> 20} MiB")
                        copy.write(part)
            else:
                raise GuestFailed(f"the guest left {name[:80]!r}, which is not a regular file")
    return count
