"""Files written whole or not at all, and files of others read within bounds."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from traffic.textfile import Unreadable, read_regular

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_STEPS = 200
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file, making its folder; a reader sees the old content or the new one, never half of it."""
    partial = f".{path.name[:200]}.{secrets.token_hex(8)}.partial"
    place = open_folder(path.parent)
    try:
        with open(os.open(partial, _NEW, 0o666, dir_fd=place), "wb") as out:
            out.write(data.encode() if isinstance(data, str) else data)
            out.flush()
            os.fsync(out.fileno())
        os.replace(partial, path.name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(partial, dir_fd=place)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        os.close(place)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; see `open_folder`."""
    os.close(open_folder(folder))


def open_folder(folder: Path) -> int:
    """A descriptor of a folder, made where it is missing. A link on the way is followed if it is root's or ours;
    PermissionError if it is another user's, who could have it lead anywhere."""
    place: int | None = None
    ahead = list(reversed(folder.absolute().parts))
    try:
        with contextlib.ExitStack() as opened:
            for _ in range(_MOST_STEPS):
                if not ahead and place is not None:
                    return os.dup(place)
                name = ahead.pop()
                try:
                    about = os.lstat(name, dir_fd=place)
                except FileNotFoundError:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=place)
                    about = os.lstat(name, dir_fd=place)
                if not stat.S_ISLNK(about.st_mode):
                    place = os.open(name, _FOLDER, dir_fd=place)
                    opened.callback(os.close, place)
                elif about.st_uid in (0, os.geteuid()):
                    ahead += reversed(Path(os.readlink(name, dir_fd=place)).parts)
                else:
                    raise PermissionError(errno.EACCES, f"the link {name} on the way is another user's")
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from None


def read_json(path: Path, most_bytes: int) -> Any:
    """The JSON in a file of at most that size. Raises Unreadable."""
    try:
        return json.loads(read_regular(path, most_bytes))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise Unreadable("is not JSON, or was cut off") from None


def find_files(folder: Path, name: str, deepest: int = 8) -> list[Path]:
    """Files of a name in a folder and its subfolders, sorted by path; follows no link, enters no hidden folder."""
    files, ahead = [], [(str(folder), 0)]
    while ahead:
        place, depth = ahead.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.name == name:
                        files.append(Path(entry.path))
                    elif depth < deepest and entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                        ahead.append((entry.path, depth + 1))
    return sorted(files)
