"""Files of other users: regular files of limited size are read, everything else gives one sentence.

A pipe or a device might never end, a link may lead elsewhere, a huge file fills the memory, and deeply nested JSON
overflows the stack.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from pathlib import Path
from typing import Any

from files.places import opened
from files.rights import as_invoker

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Unreadable(ValueError):
    """Why a file is not read; the message continues a sentence that begins with its name."""


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """A file in a place of ours: neither it nor any part of its path is another user's link.

    Raises Unreadable.
    """
    try:
        with opened(path.parent, last_link=True) as here:
            return _content(os.open(path.name, _READ | os.O_NOFOLLOW, dir_fd=here), most_bytes)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def read_named(path: Path, most_bytes: int) -> bytes:
    """A file that the user named, which may be a link; behind sudo it is read with that user's rights.

    Raises Unreadable.
    """
    try:
        with as_invoker():
            return _content(os.open(path, _READ), most_bytes)
    except FileNotFoundError:
        raise Unreadable("is not there") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def read_json(path: Path, most_bytes: int) -> Any:
    """The JSON in a file, as `read_bytes` reads it. Raises Unreadable."""
    try:
        return json.loads(read_bytes(path, most_bytes))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise Unreadable("is not JSON, or was cut off") from None


def find_files(folder: Path, name: str, deepest: int = 8) -> list[Path]:
    """Files of a name in a folder and its subfolders, sorted by path; follows no link, enters no hidden folder.

    Folders that cannot be read are left out. Folders more than ``deepest`` levels down are not searched.
    """
    found = []
    ahead = [(str(folder), 0)]
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


def _content(descriptor: int, most_bytes: int) -> bytes:
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
