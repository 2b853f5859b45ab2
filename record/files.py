"""Files written whole or not at all, files of others read within bounds, temporary folders; and what a process that was
killed left of these."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from record.errors import RunFailed
from traffic.user_files import Unreadable, read_regular

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_STEPS = 200
ROOM = 32 << 20
"""Bytes that have to be free where results go: many times what one run writes."""
PARTIAL = re.compile(r"\..+\.[0-9a-f]{16}\.partial")
"""How what is being written is called; a process that was killed leaves it."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_whole(path: Path, data: bytes | str) -> None:
    """Write a file, making its folder; a reader sees the old content or the new one, never half of it."""
    partial = make_partial_name(path)
    place = open_folder(path.parent)
    try:
        with open(os.open(partial, _NEW, 0o666, dir_fd=place), "wb") as out:
            out.write(data.encode() if isinstance(data, str) else data)
            out.flush()
            # Before the file gets its name: after a power cut a name without content would be taken for a result.
            os.fsync(out.fileno())
        os.replace(partial, path.name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(partial, dir_fd=place)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        os.close(place)


def make_partial_name(path: Path) -> str:
    return f".{path.name[:200]}.{secrets.token_hex(8)}.partial"


def remove_partial(folder: Path, seconds: float = 0.0) -> list[Path]:
    """Remove what killed processes left half-written below a folder, if unchanged for ``seconds``; returns it."""
    gone = []
    for place, inside, files in os.walk(folder):
        for name in filter(PARTIAL.fullmatch, [*inside, *files]):
            path = Path(place, name)
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime >= seconds:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                    gone.append(path)
        inside[:] = [name for name in inside if not name.startswith(".")]
    return gone


def require_room(folder: Path) -> None:
    """RunFailed where the disk has less than ROOM: the run on it is not kept."""
    if shutil.disk_usage(folder).free < ROOM:
        raise describe_full_disk(folder)


def describe_full_disk(folder: Path) -> RunFailed:
    return RunFailed(
        f"the disk of {folder} is full: this run is not kept, finished results are; "
        f"with {ROOM >> 20} MiB free the same command goes on"
    )


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; see `open_folder`."""
    os.close(open_folder(folder))


def open_folder(folder: Path) -> int:
    """A descriptor of a folder, made where it is missing. A link on the way is followed if it is root's or ours;
    PermissionError if it is another user's, who could have it lead anywhere."""
    place: int | None = None
    ahead = list(reversed(folder.absolute().parts))
    try:
        with ExitStack() as opened:
            for _ in range(_MOST_STEPS):
                if not ahead and place is not None:
                    return os.dup(place)
                name = ahead.pop()
                try:
                    about = os.lstat(name, dir_fd=place)
                except FileNotFoundError:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=place)
                    about = os.lstat(name, dir_fd=place)
                if not stat.S_ISLNK(about.st_mode):
                    place = os.open(name, _FOLDER, dir_fd=place)
                    opened.callback(os.close, place)
                elif about.st_uid in (0, os.geteuid()):
                    ahead += reversed(Path(os.readlink(name, dir_fd=place)).parts)
                else:
                    raise PermissionError(errno.EACCES, f"the link {name} on the way is another user's")
            # Links that lead to each other would go on for ever; the kernel itself ends after 40.
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
        with suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.name == name:
                        files.append(Path(entry.path))
                    elif depth < deepest and entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                        ahead.append((entry.path, depth + 1))
    return sorted(files)


# --- temporary folders ------------------------------------------------------------------------------------------------

# They are named after the process that made them. /tmp may be shared with another pid namespace (a container, a
# guest): so a name includes the namespace of its pid, and folders from other namespaces are left alone.
_OWNER = re.compile(r"[1-9][0-9]{0,9}-[0-9]{1,20}")
_NAME = re.compile(rf"hedera-[a-z]+-([0-9a-f]{{8}})-({_OWNER.pattern})-[a-z0-9_]+")


def _start_time(pid: int) -> str | None:
    """The start time of a process in clock ticks since boot; None if it has ended (also if it is a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def identify_pids() -> str:
    """Eight hexadecimal digits for this boot and our pid namespace: the first has one number in every kernel."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    return hashlib.sha256((boot + os.readlink("/proc/self/ns/pid")).encode()).hexdigest()[:8]


def name_owner(pid: int | None = None) -> str:
    """The owner name of a process (default: this one): ``pid-starttime``, so that a reused pid cannot be mistaken."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}-{_start_time(pid)}"


def is_owner(name: str) -> bool:
    """Whether `name_owner` could have given this name; things with any other name are not ours."""
    return _OWNER.fullmatch(name) is not None


def is_alive(owner: str) -> bool:
    pid, _, started = owner.partition("-")
    return is_owner(owner) and _start_time(int(pid)) == started


@contextmanager
def temporary_folder(kind: str, *, may_stay: bool = False) -> Iterator[Path]:
    """A folder that nobody else can read, removed when the block ends. ``kind``: a word for its purpose. ``may_stay``:
    no error where it cannot be removed."""
    prefix = f"hedera-{kind}-{identify_pids()}-{name_owner()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=may_stay) as name:
        yield Path(name)


def find_left_by(uids: Iterable[int]) -> dict[str, list[Path]]:
    """The temporary folders of these users' processes, alive or not, by owner."""
    folders: dict[str, list[Path]] = {}
    ours = identify_pids()
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            named = _NAME.fullmatch(entry.name)
            with suppress(OSError):
                if (
                    named
                    and named[1] == ours
                    and entry.is_dir(follow_symlinks=False)
                    and entry.stat(follow_symlinks=False).st_uid in uids
                ):
                    folders.setdefault(named[2], []).append(Path(entry.path))
    return folders


def remove_tree(folder: Path) -> str | None:
    """Remove a folder and all in it, following no link, entering no mounted file system; returns why not, or None."""
    done = subprocess.run(["rm", "-rf", "--one-file-system", "--", folder], check=False, capture_output=True, text=True)
    if not os.path.lexists(folder):
        return None
    return (done.stderr.strip().splitlines() or ["it is there again"])[-1].rpartition(": ")[2]
