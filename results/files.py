"""Files written whole or not at all, and files of others read within bounds."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Unreadable(ValueError):
    """Why a file is not read; the message continues a sentence that begins with its name."""


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file, making its folder; a reader sees the old content or the new one, never half of it."""
    with whole(path) as out:
        out.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which appears at ``path``, on the disk, if the block ends without an exception."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}.partial")
    try:
        with open(os.open(partial, _NEW, 0o666), "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and error.filename == str(partial):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """A regular file of at most that size: a pipe might never end, a huge file fills the memory. Raises Unreadable."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        raise Unreadable("is not there") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable("is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(most_bytes + 1)
    finally:
        os.close(descriptor)
    if len(data) > most_bytes:
        raise Unreadable(f"is larger than {most_bytes / 1e6:.3g} MB")
    return data


def read_json(path: Path, most_bytes: int) -> Any:
    """The JSON in a file of at most that size. Raises Unreadable."""
    try:
        return json.loads(read_bytes(path, most_bytes))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise Unreadable("is not JSON, or was cut off") from None


def find_files(folder: Path, name: str, deepest: int = 8) -> list[Path]:
    """Files of a name in a folder and its subfolders, sorted by path; follows no link, enters no hidden folder."""
    found, ahead = [], [(str(folder), 0)]
    while ahead:
        place, depth = ahead.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.name == name:
                        found.append(Path(entry.path))
                    elif depth < deepest and entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                        ahead.append((entry.path, depth + 1))
    return sorted(found)
