"""Files of the user's: what one holds, or one sentence on why it is not read; and code of theirs, which is run here.

A job carries the files that its spec names (``job_files``), and whoever carries it out reads none of the user's.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, NoReturn

job_files: dict[str, str] = {}
"""Files that came with a job, by the names in its spec: in the place of those on the disk. One character is one byte
(Latin-1) for files that are not text."""
_only_job_files = False
MAX_CODE_BYTES = 10_000_000
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def believe_only(files: Mapping[str, str]) -> None:
    """From now on this process, which carries out jobs, reads no file of the user's that did not come with a job, and
    runs none: only a controller runs a scheduler of theirs, and only their own process a pattern."""
    global _only_job_files
    job_files.update(files)
    _only_job_files = True


def reads_only_job_files() -> bool:
    return _only_job_files


class Unreadable(ValueError):
    """Why a file is not read; the message continues a sentence that begins with its name."""


def read_regular(path: Path, most_bytes: int) -> bytes:
    """A regular file of at most that size: a pipe might never end, a huge file fills the memory. Raises Unreadable."""
    try:
        descriptor = os.open(path, _READ)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("is not a regular file")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(min(status.st_size, most_bytes + 1))  # takes memory for all that it is asked for
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise Unreadable("is not there") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    if len(data) > most_bytes:
        raise Unreadable(f"is larger than {most_bytes / 1e6:.3g} MB")
    return data


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """What a file of the user's holds, as `read_regular`; ValueError, one sentence, where it is not read."""
    if str(path) in job_files:
        return job_files[str(path)].encode("latin-1")
    if _only_job_files:
        raise ValueError(f"{path} did not come with the job")
    try:
        return read_regular(path, most_bytes)
    except Unreadable as error:
        raise ValueError(f"{path} {error}") from None


def read_text(path: Path, most_bytes: int) -> str:
    """The same for a file in UTF-8, without the mark that some editors begin it with."""
    if str(path) in job_files:
        return job_files[str(path)]
    try:
        return read_bytes(path, most_bytes).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file in UTF-8") from None


def quote_shortly(text: str) -> str:
    """A user's words in a sentence about them: quoted, control characters escaped, not too long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def load_own_code(subject: str, path: Path, name: str) -> Any:
    """What a Python file of the user's has by a name, None if nothing; the file is run once, and again when it changes.

    ValueError, one sentence that begins with ``subject``, where it fails, and where root would run what anyone can
    write.
    """
    if _only_job_files:
        raise ValueError(f"{subject}: whoever carries out a job does not run {path}")
    if os.geteuid() == 0 and path.exists() and path.stat().st_mode & stat.S_IWOTH:
        raise ValueError(f"{subject}: root does not run {path}, which other users can write")
    with running_own_code(f"{subject}: cannot import {path}"):
        return getattr(_load_module(str(path), read_text(path, MAX_CODE_BYTES)), name, None)


@lru_cache(maxsize=16)
def _load_module(path: str, source: str) -> ModuleType:
    return load_module(path, path, source)


def load_module(name: str, path: str, source: str) -> ModuleType:
    """A file of the user's, run as a module: `hedera scheduler check`, a grade and a run all load it here.

    Dataclasses, and type hints that are strings, look for it in ``sys.modules``.
    """
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = path
    exec(compile(source, path, "exec"), module.__dict__)
    return module


@contextmanager
def running_own_code(subject: str) -> Iterator[None]:
    """While code of the user's runs, whatever it raises but Ctrl-C becomes a ValueError, one sentence that begins with
    ``subject``; ``os._exit`` raises too, or the command would end without a word."""
    os_exit, os._exit = os._exit, _refuse_exit
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, ValueError) and str(error).startswith(subject):
            raise
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        # Modules of the user's are named by their files.
        frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename in sys.modules]
        callers = "".join(f", called from line {frame.lineno}" for frame in frames[-2:-1])
        place = f" (line {frames[-1].lineno} of {Path(frames[-1].filename).name}{callers})" if frames else ""
        raise ValueError(f"{subject}: {kind}{' '.join(str(error).split())}{place}") from error
    finally:
        os._exit = os_exit


def suggest_nearest(word: str, words: Iterable[str]) -> str:
    """What somebody may have meant who wrote ``word``, to stand behind it in a sentence; empty if nothing is near."""
    from difflib import get_close_matches

    return "".join(f" (did you mean {name}?)" for name in get_close_matches(word, words, 1))


def _refuse_exit(status: int) -> NoReturn:
    raise SystemExit(f"os._exit({status})")
