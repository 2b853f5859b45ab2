"""Opening a folder step by step along its path, so that nobody can redirect the path meanwhile.

A link on the path is followed if root or this user made it (a `results` that leads to a larger disk), but not if
another user did. The file that is written is never a link, whoever made it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_MAX_LINKS = 40  # as in Linux
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class Step(NamedTuple):
    """A folder or link on a path: its descriptor (valid until the next step), its status, whether it was just
    created, and whether it is the last one."""

    descriptor: int
    about: os.stat_result
    made: bool
    last: bool

    @property
    def is_link(self) -> bool:
        """Whether it is a link; if so, the next step follows it."""
        return stat.S_ISLNK(self.about.st_mode)


def steps(path: Path, *, make: bool = False) -> Iterator[Step]:
    """The steps of a path from `/` on. ``make``: create missing folders. OSError, with the whole path, if a step
    fails.

    A caller that stops at a link has not followed it.
    """
    ahead = deque((path if path.is_absolute() else Path.cwd() / path).parts[1:])
    links = 0
    here = _root()
    try:
        yield Step(here, os.fstat(here), False, not ahead)
        while ahead:
            below, made = _step(ahead.popleft(), here, make)
            step = Step(below, os.fstat(below), made, not ahead)
            try:
                yield step
                if step.is_link:
                    links += 1
                    if links > _MAX_LINKS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                    target = Path(os.readlink("", dir_fd=below))
                    ahead.extendleft(reversed(target.parts[target.is_absolute() :]))
                    if target.is_absolute():
                        os.close(here)
                        here = _root()
                else:
                    here, below = below, here
            finally:
                os.close(below)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(here)


def _root() -> int:
    return os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _step(name: str, here: int, make: bool) -> tuple[int, bool]:
    try:
        return os.open(name, _LOOK, dir_fd=here), False
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=here)
    return os.open(name, _LOOK, dir_fd=here), True


@contextmanager
def opened(folder: Path, *, last_link: bool = False) -> Iterator[int]:
    """A descriptor of a folder, which stays the same folder even if its name changes. OSError if it cannot be opened.

    ``last_link``: the folder itself may be a link too, if it is root's or ours (to read there).
    """
    descriptor = None
    for step in steps(folder):
        if step.is_link:
            refuse(step, folder, last_link)
        elif step.last:
            try:
                descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=step.descriptor)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(folder)) from None
    assert descriptor is not None, "a path ends with a folder, or with an error"
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def refuse(step: Step, path: Path, last_link: bool = False) -> None:
    """Raise OSError for a link that must not be followed."""
    if step.last and not last_link:
        raise OSError(errno.ELOOP, "will not write through a link", str(path))
    if step.about.st_uid not in (0, os.geteuid()):
        raise OSError(errno.ELOOP, "its path has another user's link", str(path))
