"""How the process for a submission's code is started: with the user's own rights, or isolated for grading.

Isolation uses bubblewrap: a file system of its own with the system's programs, Python and the modules that schedulers
may import (`classroom.lent`), read-only, and an empty /tmp; no network; if root grades, a user of its own, without
capabilities; processes that all end with the first one. `classroom.syscalls` forbids system calls that are dangerous
even so. Limits are set from outside, before anything starts.
"""

from __future__ import annotations

import os
import pwd
import random
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from classroom import syscalls
from classroom.group import limited_group
from classroom.lent import ROOT, lend
from files.rights import NOBODY, invoker
from files.unprivileged import unprivileged
from results.temporary import temporary_folder

_ANSWER = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "import runpy; runpy.run_module('classroom.answering', run_name='__main__', alter_sys=True)"
)
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
PROCESSES = 64
"""Processes and threads that a submission may have."""
_SPARE = 1024
"""Processes that its user may start besides while it runs, where the kernel counts all of a user's processes
together."""
_COUNTS_BY_NAMESPACE = (5, 14)
"""From this Linux on, processes in a user namespace have a count of their own."""
LIMITS = {
    "as": 4 << 30,
    "fsize": 16 << 20,
    "nofile": 128,
    "memlock": 64 << 10,
    "core": 0,
    "rtprio": 0,
    "msgqueue": 0,
    "sigpending": 1024,
}
"""Limits of each isolated process, besides processor time and number of processes: bytes, files (`prlimit`'s
names)."""
TMP = 64 << 20
"""Bytes that it may have in /tmp; a quarter of that in /dev/shm."""
MEMORY = 3 << 30
"""Bytes for all processes of a submission together, and its /tmp, if control groups are available."""
_UIDS = range(61184, 65520)
"""The uids that systemd reserves for services while they run, so that no other user has them."""
_JOIN = (
    'filter=$1; shift; while [ "$1" != -- ]; do echo $$ >"$1" || exit 1; shift; done; shift; '
    'echo 1000 >/proc/self/oom_score_adj; exec 9<"$filter"; exec "$@"'
)
"""When memory runs out, the kernel kills this process instead of the grader."""


@dataclass(frozen=True)
class Start:
    """How to start the answering process.

    ``closed``: everything that it starts is in a namespace, and ends with the first process in it. ``quiet``: its
    output is not shown. ``unprotected``: sentences on what it could still do.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    quiet: bool = True
    closed: bool = False
    unprotected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """What isolated processes get: code to import (and more for control loops), the filter, the groups."""

    code: Path
    loops: Path
    filter: Path
    groups: tuple[Path, ...]


class Unfit(RuntimeError):
    """This machine cannot isolate a process; the message says what is missing."""


def own(hash_seed: int = 0) -> Start:
    """The user's own code, run as the user, without restrictions except that it does not get root's rights.

    Another ``hash_seed`` gives sets and dictionaries of strings another order.
    """
    rights = unprivileged()
    environment = {name: value for name, value in rights.environment.items() if not name.startswith("PYTHON")}
    environment |= {**_ONE_THREAD, "PYTHONHASHSEED": str(hash_seed)}
    return Start((*rights.prefix, sys.executable, "-B", "-s", "-c", _ANSWER, str(ROOT)), environment, quiet=False)


def unclosed(cpu_s: int) -> Start:
    """Others' code with limits, but without isolation from files, network and other processes."""
    started = own()
    uid = (invoker() or NOBODY).uid if os.geteuid() == 0 else os.getuid()
    who = f"as user {uid}" if os.geteuid() == 0 else "as you"
    return Start(
        (*_limits(cpu_s, _among_all_of(uid)), *started.command),
        started.environment,
        unprotected=(
            f"submissions run {who}, and can read what that user can, other submissions included",
            "they can import the project's own schedulers",
            "they have the network",
            "a process that leaves its session outlives them",
        ),
    )


@contextmanager
def prepared() -> Iterator[Place]:
    """The files that all isolated processes of a grading need; removed afterwards. Raises Unfit."""
    try:
        refused = syscalls.program()
    except ImportError:
        raise Unfit(
            "grading has the kernel refuse namespaces, mounts and keyrings to submissions, by Python's libseccomp, "
            "which is not installed (apt-get install python3-seccomp)"
        ) from None
    with (
        temporary_folder("grade") as folder,
        limited_group(MEMORY, 2 * PROCESSES) as groups,
    ):
        place = Place(folder / "code", folder / "loops", folder / "filter", groups)
        lend(place.code)
        lend(place.loops, loop=True)
        place.filter.write_bytes(refused)
        yield place


def closed(place: Place, cpu_s: int, *, loop: bool = False, hidden: Sequence[Path] = ()) -> Start:
    """Others' code, isolated: see the module. ``cpu_s``: its processor time, seconds. ``loop``: it is a control loop.

    ``hidden``: folders that it must not see even if they are among the system's programs, such as below /usr. Raises
    Unfit, one sentence, if there is no bubblewrap; `classroom.probe` checks whether it works.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise Unfit("grading isolates submissions with bubblewrap, which is not installed (apt-get install bubblewrap)")
    command = ["sh", "-c", _JOIN, "sh", str(place.filter), *map(str, place.groups), "--"]
    if os.geteuid() == 0:
        uid = _free_uid()
        command += _limits(cpu_s, PROCESSES)
        rights = [word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}")]
        rights_gone = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
        drop: tuple[str, ...] = (
            "setpriv",
            f"--reuid={uid}",
            f"--regid={uid}",
            "--clear-groups",
            *rights_gone,
            "--",
        )
    else:
        command += _limits(cpu_s)
        # Bubblewrap's own first process would run as the same user as the submission, which could control it.
        rights = ["--unshare-user", "--as-pid-1"]
        # In its namespace, where the grader's desktop does not count: it starts programs while submissions run.
        alone = _linux() >= _COUNTS_BY_NAMESPACE
        processes = PROCESSES if alone else _among_all_of(os.getuid())
        drop = ("prlimit", f"--nproc={_within_own('nproc', processes)}", "--")
    command += [bwrap, "--seccomp", "9", *rights]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
    for word, value in {**environment, **_ONE_THREAD}.items():
        command += ["--setenv", word, value]
    command += _walls(bwrap, place.loops if loop else place.code, hidden)
    python = str(Path(sys.prefix).resolve() / "bin" / "python")
    return Start(
        (*command, "--", *drop, python, "-s", "-c", _ANSWER, "/code"),
        {"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
        closed=True,
    )


def _limits(cpu_s: int, processes: int | None = None) -> list[str]:
    """A command that sets limits for itself and all that it starts; only root can raise them."""
    limits = {**LIMITS, "cpu": cpu_s} | ({} if processes is None else {"nproc": processes})
    return ["prlimit", *(f"--{name}={_within_own(name, value)}" for name, value in limits.items()), "--"]


def _within_own(name: str, value: int) -> int:
    """A limit, or our own if that is lower."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _linux() -> tuple[int, ...]:
    """The kernel's version and patch level, such as (6, 1)."""
    return tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))


def _among_all_of(uid: int) -> int:
    """A limit of processes that is enough for a submission, even if its user starts others meanwhile."""
    return PROCESSES + _SPARE + _tasks_of(uid)


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


def _free_uid() -> int:
    """A uid without a user, so that limits, keys and the kernel's counters per user are shared with nobody."""
    while True:
        uid = random.SystemRandom().choice(_UIDS)
        try:
            pwd.getpwuid(uid)
        except KeyError:
            if not _tasks_of(uid):
                return uid


def _walls(bwrap: str, code: Path, hidden: Sequence[Path]) -> list[str]:
    """Everything that an isolated process sees, as bubblewrap's options.

    A folder comes before its contents: an environment may be anywhere, below /tmp or in a hidden folder.
    """
    told = subprocess.run([bwrap, "--help"], capture_output=True, text=True, check=False).stdout
    bounded = "--size" in told  # from 0.7 on; without it these folders are read-only

    def empty(size: int) -> list[str]:
        return ["--perms", "1777", *(["--size", str(size)] if bounded else []), "--tmpfs"]

    def shown(path: Path) -> list[str]:
        return ["--ro-bind-try", str(path)]

    seen = {Path("/usr"): shown(Path("/usr"))}
    for path in (Path("/", name) for name in ("bin", "sbin", "lib", "lib32", "lib64")):
        seen[path] = ["--symlink", os.readlink(path)] if path.is_symlink() else shown(path)
    seen[Path("/etc")] = folder = ["--perms", "0755", "--dir"]  # otherwise only root could read it
    for path in (Path("/etc/ld.so.cache"), Path("/etc/alternatives")):
        seen[path] = shown(path)
    prefixes = Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()
    masks = [
        path
        for path in (ROOT, *(path.resolve() for path in hidden))
        if any(path.is_relative_to(tree) for tree in (Path("/usr"), *prefixes))
    ]
    seen |= {path: ["--size", "4096", "--tmpfs"] if bounded else ["--tmpfs"] for path in masks}
    for prefix in prefixes:
        if prefix != Path("/usr"):
            seen = {path: folder for path in prefix.parents[:-1]} | seen | {prefix: shown(prefix)}
    seen |= {Path("/tmp"): empty(TMP), Path("/dev/shm"): empty(TMP // 4), Path("/code"): shown(code)}
    # Terminals are counted for the whole machine.
    seen |= {Path("/proc"): ["--proc"], Path("/dev"): ["--dev"], Path("/dev/pts"): empty(4096)}
    walls = ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "grading"]
    walls += [f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts", "cgroup-try")]
    for path, how in sorted(seen.items()):
        walls += [*how, str(path)]
    shut = [Path("/"), Path("/dev"), Path("/dev/pts"), *masks]
    for path in shut if bounded else [*shut, Path("/tmp"), Path("/dev/shm")]:
        walls += ["--remount-ro", str(path)]
    return [*walls, "--chdir", "/tmp"]
