"""Python files of the user's own, run in a process without rights; their output is treated as plain text.

Root does not run them, and files that another user can write are not run for root at all.
"""

from __future__ import annotations

import importlib.util
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from files.rights import invoker
from files.unprivileged import unprivileged

TOLD = 9
"""The exit status of such a process if its last line says what is wrong."""
MAX_MEMORY = 8 << 30
"""The limit of its address space, bytes."""
_ROOT = Path(__file__).resolve().parents[1]


def trusted(what: str, path: Path) -> int:
    """When the file was last written, ns. ValueError when it does not exist, or, for root, when others can write it.

    ``what``: the purpose of the file, with which the sentence begins.
    """
    try:
        about = path.stat()
    except OSError as error:
        raise ValueError(f"{what}: {path} cannot be read: {error.strerror}") from None
    if os.geteuid() == 0:
        who = invoker()
        if about.st_uid not in (0, who.uid if who else 0) or about.st_mode & stat.S_IWOTH:
            raise ValueError(f"{what}: root does not run {path}, which other users can write")
    return about.st_mtime_ns


def loaded(name: str, path: Path) -> ModuleType:
    """The module in a file, run now. Raises whatever it raises."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def told_by(
    what: str,
    code: str,
    arguments: Sequence[str],
    read: Path,
    *,
    seconds: float,
    most_bytes: int,
    doing: str = "it",
) -> bytes:
    """The output of a process that runs ``code``. It can import our packages, and has no rights of root.

    ``read``: the user's file that it needs. ``doing``: its task, for error messages. ValueError, one sentence, when
    it fails, takes longer than ``seconds`` or prints more than ``most_bytes``.
    """
    without = unprivileged(user_s=[read])
    program = f"import sys\nsys.path[:0] = {[str(_ROOT), *sys.path]!r}\n{code}"
    limits = ("prlimit", f"--fsize={most_bytes}", f"--as={MAX_MEMORY}", "--core=0", "--")
    command = [*without.prefix, *limits, sys.executable, "-I", "-B", "-c", program, *arguments]
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                command,
                env=without.environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=errors,
                timeout=seconds,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"{what}: {doing} takes more than {seconds:g} s") from None
        if done.returncode == 0:
            printed.seek(0)
            return printed.read()
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 10_000))
        said = errors.read().decode(errors="replace").strip().splitlines()
        full = printed.seek(0, os.SEEK_END) >= most_bytes
    if full:
        raise ValueError(f"{what}: it prints more than {most_bytes / 1e6:.3g} MB")
    words = said[-1][:300] if said else f"{doing} ends the process (status {done.returncode})"
    raise ValueError(words if done.returncode == TOLD else f"{what}: {words}")
