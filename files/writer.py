"""Writing files and folders atomically, in the right place, and owned by the right user.

The content is written to a file with an unguessable name in the same folder, synced to the disk, and then renamed. So
a reader, or the disk after a crash or power failure, has either the old file or the new one. No link is followed,
even if it is put there meanwhile; a link with the file's own name is replaced.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from files.places import opened
from files.rights import User, as_owner

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ABANDONED_S = 3600.0
"""A half-written file that has not changed for so long is abandoned."""


def write_whole(path: Path, data: bytes | str, *, lasting: bool = True) -> None:
    """Write a file in an existing folder; text as UTF-8. OSError if that fails.

    Not ``lasting``: without waiting for the disk, for files that are useless after a power failure.
    """
    with whole(path, lasting=lasting) as out:
        out.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def whole(path: Path, *, lasting: bool = True) -> Iterator[IO[bytes]]:
    """A file to write to, which appears at ``path`` if the block ends without an exception."""
    with as_owner(path.parent) as heir, opened(path.parent) as here:
        _remove_abandoned(path.name, here, _ABANDONED_S)
        partial = _partial(path.name)
        try:
            with _new_file(partial, here, heir, lasting) as out:
                yield out
            os.rename(partial, path.name, src_dir_fd=here, dst_dir_fd=here)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(partial, dir_fd=here)
            if isinstance(error, OSError) and error.filename == partial:
                raise OSError(error.errno, error.strerror, str(path)) from None
            raise
        if lasting:
            os.fsync(here)


def write_folder(folder: Path, files: Mapping[str, IO[bytes]]) -> None:
    """Create a flat folder with the contents of ``files``, in an existing folder.

    OSError if that fails: if there is a non-empty folder, or anything else, of that name.
    """
    with as_owner(folder.parent) as heir, opened(folder.parent) as here:
        _remove_abandoned(folder.name, here, 0.0)
        partial = _partial(folder.name)
        try:
            os.mkdir(partial, dir_fd=here)
            inside = os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            try:
                for name, content in files.items():
                    with _new_file(name, inside, heir, True) as out:
                        shutil.copyfileobj(content, out)
                if heir is not None:
                    os.fchown(inside, heir.uid, heir.gid)
                os.fsync(inside)
            finally:
                os.close(inside)
            os.rename(partial, folder.name, src_dir_fd=here, dst_dir_fd=here)
        except BaseException:
            _remove(partial, here)
            raise
        os.fsync(here)


def try_writing(folder: Path) -> None:
    """Raise OSError if a folder cannot be written to."""
    with as_owner(folder) as heir, opened(folder) as here:
        partial = _partial("probe")
        with _new_file(partial, here, heir, False):
            os.unlink(partial, dir_fd=here)


def _partial(name: str) -> str:
    return f".{name[:200]}.{secrets.token_hex(8)}.partial"


@contextmanager
def _new_file(name: str, here: int, heir: User | None, lasting: bool) -> Iterator[IO[bytes]]:
    """A file with a new name; if ``lasting``, it is on the disk when the block ends."""
    with open(os.open(name, _NEW, 0o666, dir_fd=here), "wb") as out:
        yield out
        out.flush()
        if heir is not None:
            os.fchown(out.fileno(), heir.uid, heir.gid)
        if lasting:
            os.fsync(out.fileno())


def remove_abandoned(folder: Path, seconds: float) -> list[Path]:
    """Remove half-written files of killed processes from a folder, by present and former naming; returns those
    removed. ``seconds``: the least time since their last change. OSError if the folder cannot be read."""
    with as_owner(folder), opened(folder) as here:
        found = [name for name in os.listdir(here) if _HALF.fullmatch(name)]
        for name in found:
            _remove_old(name, here, seconds)
        return [folder / name for name in sorted(set(found) - set(os.listdir(here)))]


_HALF = re.compile(r"\.(.+\.[0-9a-f]{16}\.partial|trial-[0-9]+(-again)?\.partial|probe-[0-9]+)")


def _remove_abandoned(name: str, here: int, seconds: float) -> None:
    """Remove half-written files for ``name`` that killed processes left."""
    half = re.compile(rf"\.{re.escape(name[:200])}\.([0-9a-f]{{16}}\.)?partial")
    for found in os.listdir(here):
        if half.fullmatch(found):
            _remove_old(found, here, seconds)


def _remove_old(name: str, here: int, seconds: float) -> None:
    with contextlib.suppress(OSError):
        if time.time() - os.stat(name, dir_fd=here, follow_symlinks=False).st_mtime >= seconds:
            _remove(name, here)


def _remove(name: str, here: int) -> None:
    """Remove a file, or a flat folder, if it exists."""
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=here)
            return
        inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        try:
            for each in os.listdir(inside):
                os.unlink(each, dir_fd=inside)
        finally:
            os.close(inside)
        os.rmdir(name, dir_fd=here)
