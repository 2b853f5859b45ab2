"""How somebody else's code is isolated for grading, by bubblewrap.

It sees a file system of its own with the system's programs, Python and the modules that schedulers may import
(`find_allowed_modules`), read-only, and an empty /tmp; no network; if root grades, it runs as a user of its own,
without capabilities; all its processes end with the first one. A filter forbids system calls that are dangerous even
so. The answering process sets limits before it reads anything; what all take together, `classroom.submission` watches.
"""

from __future__ import annotations

import compileall
import errno
import os
import pwd
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

from classroom.submission import (
    ONE_THREAD,
    PROJECT,
    READY,
    START_S,
    Start,
    Unfit,
    make_answering_command,
    start_own_process,
)
from record.errors import to_one_line
from record.files import temporary_folder, write_whole

SYSTEM_PACKAGES = "/usr/lib/python3/dist-packages"
PROCESSES = 64
"""Processes and threads that a submission may have."""
LIMITS = {"AS": 4 << 30, "FSIZE": 16 << 20, "NOFILE": 128, "MEMLOCK": 64 << 10, "SIGPENDING": 1024}
LIMITS |= dict.fromkeys(("CORE", "RTPRIO", "MSGQUEUE"), 0)
"""Limits of each process, besides processor time and number of processes: bytes, files (`resource`'s names)."""
TMP = 64 << 20
"""Bytes that it may have in /tmp; a quarter of that in /dev/shm."""
_UIDS = range(61184, 65520)
"""The uids that systemd reserves for services while they run, so that no other user has them."""
_NOBODY = 65534
_JOIN = 'filter=$1; shift; echo 1000 >/proc/self/oom_score_adj; exec 9<"$filter"; exec "$@"'
"""If memory runs out all the same, the kernel kills this process instead of the grader."""
_ALWAYS = ("classroom.answering", "topos.links", "hedera.placement", "hedera.compiled")
"""Modules that the templates and docs/own-scheduler.md name; the project's schedulers are not among what these need."""

_NAMESPACES = 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00020000
"""CLONE_NEW*: cgroup, uts, ipc, user, pid, net, mount. (Only clone3 and unshare have the one for time.)"""
_ALL = 0xFFFFFFFF
_REFUSED_WITH = [
    *(("clone", 0, flag, flag) for flag in _NAMESPACES),
    *(("ioctl", 1, _ALL, typing) for typing in (0x5412, 0x541C)),  # TIOCSTI, TIOCLINUX: as if one were the user
    ("prctl", 0, _ALL, 1),  # PR_SET_PDEATHSIG: processes end with their parent, and must not be able to change that
    # F_GETLK to F_OFD_SETLKW, F_SETLEASE, F_GETLEASE, F_NOTIFY: shared files, by which two submissions could talk
    *(("fcntl", 1, _ALL, command) for command in (5, 6, 7, 36, 37, 38, 1024, 1025, 1026)),
]
"""A system call, the number of an argument, its bits that count, and their value."""
_REFUSED = re.sub("#.*", "", Path(__file__).with_name("templates").joinpath("refused.txt").read_text()).split()
"""System calls: the list of Flatpak's filter for this purpose, and parts of the kernel that mostly attackers use."""
_MAX = 1024  # numbers of system calls; Linux 7 has some 470


@dataclass(frozen=True)
class Place:
    """What isolated processes get: code to import, and the filter of system calls. ``hidden``: folders that they must
    not see even if they are among the system's programs, such as below /usr."""

    code: Path
    filter: Path
    hidden: tuple[Path, ...] = ()


@contextmanager
def prepared(hidden: Sequence[Path] = ()) -> Iterator[Place]:
    """The files that all isolated processes of a grading need; removed afterwards. Raises Unfit."""
    refused = _filter()
    with temporary_folder("grade") as folder:
        place = Place(folder / "code", folder / "filter", tuple(hidden))
        expose(place.code, compiled=True)
        write_whole(place.filter, refused)
        yield place


def start_unclosed(cpu_s: int, hash_seed: int = 0) -> Start:
    """Others' code with limits, but without isolation from files, network and other processes."""
    drop = _make_prefix(_NOBODY) if os.geteuid() == 0 else []
    alive = ("setpriv", "--pdeathsig", "KILL", "--")
    command = (*drop, *alive, *make_answering_command(sys.executable, PROJECT, {**LIMITS, "CPU": cpu_s}))
    return Start(command, start_own_process(hash_seed).environment)


def require_reachable() -> None:
    """Raises Unfit, one sentence, where `start_unclosed` would run as a user who cannot reach Python or the project: it
    names the first folder that keeps that user out."""
    if os.geteuid() != 0:
        return
    python = Path(sys.executable)
    needed = [python.absolute(), Path(sys.prefix).absolute(), Path(sys.base_prefix), python.resolve(), Path(__file__)]
    ways = dict.fromkeys(path for end in needed for path in (*reversed(end.parents), end))
    reached = 'if test -d "$each"; then test -x "$each"; else test -r "$each"; fi'
    script = f'for each; do {reached} || {{ echo "$each"; exit; }}; done'
    command = [*_make_prefix(_NOBODY), "sh", "-c", script, "sh", *map(str, ways)]
    closed_off = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    if closed_off:
        raise Unfit(
            f"unprotected, root's submissions run as user {_NOBODY}, whom {closed_off} keeps out (mode "
            f"{Path(closed_off).stat().st_mode & 0o7777:04o}): chmod o+rx {closed_off}, or put the grader elsewhere"
        )


def _make_prefix(uid: int) -> list[str]:
    """A command that runs another as this user, without rights and with no way to get any."""
    gone = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *gone, "--"]


def start_closed(place: Place, cpu_s: int, hash_seed: int = 0) -> Start:
    """Others' code, isolated: see the module. ``cpu_s``: its processor time, seconds.

    Raises Unfit, one sentence, if there is no bubblewrap; `require_closed` finds out whether it works.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise Unfit("grading isolates submissions with bubblewrap, which is not installed (apt-get install bubblewrap)")
    if os.geteuid() == 0:
        rights = [word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}")]
        drop = _make_prefix(_find_free_uid())
    else:
        # Bubblewrap's own first process would run as the same user as the submission, which could control it.
        rights, drop = ["--unshare-user", "--as-pid-1"], []
    variables = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": str(hash_seed),
        **ONE_THREAD,
    }
    environment = [word for name, value in variables.items() for word in ("--setenv", name, value)]
    walls = [bwrap, "--seccomp", "9", *rights, *environment, *_list_walls(place), "--", *drop]
    limits = {**LIMITS, "CPU": cpu_s, "NPROC": PROCESSES}
    python = make_answering_command(Path(sys.prefix).resolve() / "bin" / "python", "/code", limits)
    command = ("sh", "-c", _JOIN, "sh", str(place.filter), *walls, *python)
    return Start(command, {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}, closed=True)


def _find_free_uid() -> int:
    """A uid without a user or a process, so that limits, keys and the kernel's counters are shared with nobody."""
    taken = {user.pw_uid for user in pwd.getpwall()}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            taken.add(process.stat().st_uid)
    return random.SystemRandom().choice([uid for uid in _UIDS if uid not in taken])


def _list_walls(place: Place) -> list[str]:
    """Everything that an isolated process sees, as bubblewrap's options.

    A folder comes before its contents: an environment may be anywhere, below /tmp or in a hidden folder.
    """

    def make_empty(size: int, rights: str = "1777") -> list[str]:
        return ["--perms", rights, "--size", str(size), "--tmpfs"]

    def show(path: Path) -> list[str]:
        return ["--ro-bind-try", str(path)]

    folder = ["--perms", "0755", "--dir"]  # otherwise only root could read it
    prefixes = {Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()} - {Path("/usr")}
    mounts = {path: folder for prefix in prefixes for path in prefix.parents[:-1]}
    mounts |= {Path(name): show(Path(name)) for name in ("/usr", "/etc/ld.so.cache", "/etc/alternatives")}
    for path in (Path("/", name) for name in ("bin", "sbin", "lib", "lib32", "lib64")):
        mounts[path] = ["--symlink", os.readlink(path)] if path.is_symlink() else show(path)
    masks = [path.resolve() for path in (PROJECT, *place.hidden)]
    masks = [path for path in masks if any(path.is_relative_to(tree) for tree in (Path("/usr"), *prefixes))]
    mounts |= {Path("/etc"): folder} | {path: make_empty(4096, "0755") for path in masks}
    mounts |= {prefix: show(prefix) for prefix in prefixes}
    mounts |= {Path("/tmp"): make_empty(TMP), Path("/dev/shm"): make_empty(TMP // 4), Path("/code"): show(place.code)}
    # Terminals are counted for the whole machine.
    mounts |= {Path("/proc"): ["--proc"], Path("/dev"): ["--dev"], Path("/dev/pts"): make_empty(4096)}
    walls = ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "grading"]
    walls += [f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts", "cgroup-try")]
    for path, option in sorted(mounts.items()):
        walls += [*option, str(path)]
    for path in (Path("/"), Path("/dev"), Path("/dev/pts"), *masks):
        walls += ["--remount-ro", str(path)]
    return [*walls, "--chdir", "/tmp"]


def _filter() -> bytes:
    """The seccomp filter, as the kernel takes it. Raises Unfit where there is no libseccomp for this Python.

    A process without capabilities gets all of them in a new user namespace, and could then mount anything. Keyrings
    belong to users, not namespaces, so submissions could pass data through them. If root grades, no option of
    bubblewrap prevents either. Calls unknown to libseccomp belong to newer kernels, and are refused as well.
    """
    # The system's, whether or not this environment sees its packages.
    spec = PathFinder.find_spec("seccomp", [*sys.path, SYSTEM_PACKAGES])
    if spec is None or spec.loader is None:
        raise Unfit(
            "grading has the kernel refuse namespaces, mounts and keyrings to submissions, by Python's libseccomp, "
            f"which is not installed for {sys.executable} (apt-get install python3-seccomp: for /usr/bin/python3)"
        )
    seccomp: Any = module_from_spec(spec)
    spec.loader.exec_module(seccomp)
    rules, machine = seccomp.SyscallFilter(seccomp.ALLOW), seccomp.Arch()
    refuse, unknown = seccomp.ERRNO(errno.EPERM), seccomp.ERRNO(errno.ENOSYS)
    for number in range(_MAX):
        try:
            name = seccomp.resolve_syscall(machine, number).decode()
        except ValueError:
            rules.add_rule(unknown, number)
            continue
        if name in _REFUSED:
            rules.add_rule(refuse, number)
    # clone3's arguments are in memory, where no filter can read them; the C library then uses clone instead.
    rules.add_rule(unknown, "clone3")
    for call, argument, bits, value in _REFUSED_WITH:
        rules.add_rule(refuse, call, seccomp.Arg(argument, seccomp.MASKED_EQ, bits, value))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def require_closed(place: Place) -> None:
    """Start the answering process as for a submission. Raises Unfit if it does not say that it is ready."""
    start = start_closed(place, 5)
    try:
        done = subprocess.run(
            start.command, env=start.environment, cwd="/", input=b"", capture_output=True, timeout=START_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unfit(f"an isolated process does not answer here within {START_S:g} s") from None
    if done.stdout != READY:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        why = to_one_line(lines[-1] if lines else f"Python did not start: status {done.returncode}")
        allow = "allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0), or use a root shell"
        why += f"; {allow}" if os.geteuid() != 0 else ""
        raise Unfit(f"this machine does not let bubblewrap isolate a process ({why})")


# --- the modules that a submission can import ---------------------------------------------------------------


@cache
def list_packages() -> tuple[str, ...]:
    return tuple(sorted({path.parent.name for path in PROJECT.glob("*/__init__.py")} - {"tests"}))


@cache
def find_allowed_modules(*more: str) -> frozenset[str]:
    """The names of our modules that a submission can import; ``more``: with these and what they need."""
    code = "import importlib, sys; sys.path.insert(0, sys.argv.pop(1)); "
    code += "list(map(importlib.import_module, sys.argv[1:])); print(*sys.modules)"
    command = [sys.executable, "-I", "-c", code, str(PROJECT), *_ALWAYS, *more]  # -I: the current folder has hand-ins
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return frozenset(name for name in done.stdout.split() if name.split(".")[0] in list_packages())


def expose(place: Path, *more: str, compiled: bool = False) -> None:
    """Copy these modules to ``place``; ``compiled``: with what Python makes of them, for any user to read."""
    for module in sorted(find_allowed_modules(*more)):
        path = PROJECT.joinpath(*module.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        write_whole(place / path.relative_to(PROJECT), path.read_bytes())
    if compiled:
        compileall.compile_dir(place, quiet=2, workers=1)
        for path in (place, *place.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)  # whatever the umask says
