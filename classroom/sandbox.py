"""How the process that runs somebody's code is started: with the user's own rights, or closed off for grading.

Closed off means bubblewrap: a file system of its own that has the system's programs, Python and a copy of the
packages
that schedulers may import, read-only, and an empty /tmp; no network; processes that all end when the first one
does. Root
becomes nobody in it, without capabilities.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from files.rights import NOBODY
from files.unprivileged import unprivileged

ROOT = Path(__file__).resolve().parents[1]
LENT = ("files", "topos", "traffic", "hedera", "classroom")
"""Packages that are copied into a closed process."""
_ANSWER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "import runpy; runpy.run_module('classroom.answering', run_name='__main__', alter_sys=True)"
)
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
PROCESSES = 64
"""Processes and threads that somebody's code may have."""
LIMITS = {
    "RLIMIT_AS": 4 << 30,
    "RLIMIT_FSIZE": 16 << 20,
    "RLIMIT_NOFILE": 128,
    "RLIMIT_CORE": 0,
}
"""Of a closed process, besides processor time and number of processes; bytes, files."""
_TMP = 64 << 20
"""Bytes that it may keep in /tmp."""


@dataclass(frozen=True)
class Start:
    """How to start the answering process. ``unprotected``: what it could still do, in words, for who runs it."""

    command: tuple[str, ...]
    environment: dict[str, str]
    quiet: bool
    unprotected: tuple[str, ...] = ()


class Unfit(RuntimeError):
    """This machine cannot close a process off; the message says what is missing."""


def own(hash_seed: int = 0) -> Start:
    """The user's own code, as the user: nothing is kept from it but root's rights.

    Another ``hash_seed`` gives sets and dictionaries of strings another order.
    """
    rights = unprivileged()
    environment = {name: value for name, value in rights.environment.items() if not name.startswith("PYTHON")}
    environment |= {**_ONE_THREAD, "PYTHONHASHSEED": str(hash_seed)}
    return Start(
        (*rights.prefix, sys.executable, "-B", "-s", "-c", _ANSWER, str(ROOT)), environment, quiet=False
    )


def unclosed(cpu_s: int) -> Start:
    """Others' code with limits, but nothing to hide files, network or other processes from it."""
    started = own()
    who = "as nobody" if os.geteuid() == 0 else "as you"
    return Start(
        (*started.command, *_limits(cpu_s)),
        started.environment,
        quiet=True,
        unprotected=(
            f"submissions run {who}, and can read what that user can, other submissions included",
            "they have the network",
            "a process that leaves its session outlives them",
        ),
    )


def closed(code: Path, cpu_s: int) -> Start:
    """Others' code: see the module. ``code`` is a copy that `lent` made; ``cpu_s`` its processor time, seconds.

    Raises Unfit, one sentence, where that cannot be had.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise Unfit(
            "grading closes submissions off with bubblewrap, which is not installed (apt-get install bubblewrap)"
        )
    root = os.geteuid() == 0
    command = [bwrap, *_walls(bwrap), "--bind", str(code), "/code"]
    drop: tuple[str, ...] = ()
    if root:
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
        drop = (
            "setpriv", f"--reuid={NOBODY.uid}", f"--regid={NOBODY.gid}", "--clear-groups", "--no-new-privs",
            "--inh-caps=-all", "--bounding-set=-all", "--",
        )  # fmt: skip
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        **_ONE_THREAD,
    }
    for name, value in environment.items():
        command += ["--setenv", name, value]
    tried = subprocess.run([*command, "--", *drop, "true"], check=False, capture_output=True, text=True)
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or ["no word"])[-1]
        help_ = "" if root else "; as root (sudo) it needs no user namespaces"
        raise Unfit(f"this machine does not let bubblewrap close a process off ({said}){help_}")
    python = str(Path(sys.prefix).resolve() / "bin" / "python")
    return Start(
        (*command, "--", *drop, python, "-s", "-c", _ANSWER, "/code", *_limits(cpu_s)),
        {"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
        quiet=True,
    )


def _limits(cpu_s: int) -> list[str]:
    found = {
        **LIMITS,
        "RLIMIT_CPU": cpu_s,
        "RLIMIT_NPROC": PROCESSES + _tasks_of(NOBODY.uid if os.geteuid() == 0 else os.getuid()),
    }
    return [f"{name}={value}" for name, value in found.items()]


def _tasks_of(uid: int) -> int:
    """How many processes and threads a user has already: the kernel's limit counts them all."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == uid:
                count += len(list((process / "task").iterdir()))
        except OSError:
            continue
    return count


def _walls(bwrap: str) -> list[str]:
    """Everything that a closed process sees but its code."""
    told = subprocess.run([bwrap, "--help"], capture_output=True, text=True, check=False).stdout
    small = ["--size", str(_TMP)] if "--size" in told else []
    walls = ["--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
             "--unshare-cgroup-try", "--clearenv", "--hostname", "grading", "--ro-bind", "/usr", "/usr"]  # fmt: skip
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            walls += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            walls += ["--ro-bind", str(path), str(path)]
    walls += [
        "--ro-bind-try",
        "/etc/ld.so.cache",
        "/etc/ld.so.cache",
        "--ro-bind-try",
        "/etc/alternatives",
        "/etc/alternatives",
    ]
    for prefix in {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()}:
        if not prefix.is_relative_to("/usr"):
            for folder in reversed(prefix.parents[:-1]):  # else they would be for root alone
                walls += ["--perms", "0755", "--dir", str(folder)]
            walls += ["--ro-bind", str(prefix), str(prefix)]
    walls += ["--proc", "/proc", "--dev", "/dev", *small, "--tmpfs", "/dev/shm"]
    return [*walls, "--perms", "1777", *small, "--tmpfs", "/tmp", "--chdir", "/tmp"]


@contextmanager
def lent() -> Iterator[Path]:
    """A copy of the packages in LENT, compiled code included, for one submission to use up; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hedera-grade-") as name:
        place = Path(name)
        for package in LENT:
            shutil.copytree(
                ROOT / package, place / package, ignore=shutil.ignore_patterns("milestones", "*.part")
            )
        if os.geteuid() == 0:
            for folder, _, files in os.walk(place):
                os.chown(folder, NOBODY.uid, NOBODY.gid)
                for file in files:
                    os.chown(os.path.join(folder, file), NOBODY.uid, NOBODY.gid)
        yield place
