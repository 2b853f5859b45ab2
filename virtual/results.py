"""The results of a guest, which is not trusted: only regular files, limited in number, size and depth, are copied."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from record.errors import WorkerFailed
from record.files import open_folder

MAX_RESULTS_BYTES = 1 << 30
MAX_FILES = 100_000
DEEPEST = 8
TEXT_BYTES = 64 << 20
"""The limit of a command's output that is kept."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def read_small(path: Path, most: int = TEXT_BYTES) -> str:
    """The beginning of a regular file. OSError if it is not one."""
    descriptor = os.open(path, _FILE)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read(min(most, status.st_size)).decode(errors="replace")


def copy_results(source: Path, target: Path, *, replace: bool = False) -> int:
    """Copy everything below ``source`` into the folder ``target``; returns the number of files and folders.

    ``replace``: files that are there already are replaced. Raises WorkerFailed for links, special files, and too many,
    too large or too deep ones; OSError if writing fails. Then some files may have been copied.
    """
    count = size = 0
    for where, folders, names, here in os.fwalk(source, follow_symlinks=False):
        below = Path(where).relative_to(source)
        if len(below.parts) >= DEEPEST:
            raise WorkerFailed(f"the guest left folders more than {DEEPEST} deep")
        into = open_folder(target / below)
        try:
            for name in sorted(folders + names):
                status = os.stat(name, dir_fd=here, follow_symlinks=False)
                count += 1
                if count > MAX_FILES:
                    raise WorkerFailed(f"the guest left more than {MAX_FILES} files")
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
                    opened = os.open(name, _FILE, dir_fd=here)
                    with contextlib.suppress(FileNotFoundError):
                        if replace:
                            os.unlink(name, dir_fd=into)
                    with os.fdopen(opened, "rb") as file, open(os.open(name, _NEW, 0o666, dir_fd=into), "wb") as copy:
                        while part := file.read(1 << 20):
                            size += len(part)
                            if size > MAX_RESULTS_BYTES:
                                raise WorkerFailed(f"the guest left more than {MAX_RESULTS_BYTES >> 20} MiB")
                            copy.write(part)
                elif not stat.S_ISDIR(status.st_mode):
                    raise WorkerFailed(f"the guest left {name[:80]!r}, which is not a regular file")
        finally:
            os.close(into)
    return count
