"""How somebody else's code is isolated for grading, by bubblewrap.

It sees a file system of its own with the system's programs, Python and the modules that schedulers may import
(`classroom.allowed`), read-only, and an empty /tmp; no network; if root grades, it runs as a user of its own, without
capabilities; all its processes end with the first one. `classroom.syscalls` forbids system calls that are dangerous
even so. Limits are set from outside, before anything starts; what its processes take together, `classroom.process`
watches.
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
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from classroom import syscalls
from classroom.allowed import expose
from classroom.process import ANSWER, ONE_THREAD, ROOT, Misbehaved, Start, Unfit, own
from classroom.submission import Code, Submission
from hedera.text import one_line
from results.temporary import temporary_folder

PROCESSES = 64
"""Processes and threads that a submission may have."""
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
"""Limits of each isolated process, besides processor time and number of processes: bytes, files (`prlimit`'s names)."""
TMP = 64 << 20
"""Bytes that it may have in /tmp; a quarter of that in /dev/shm."""
_UIDS = range(61184, 65520)
"""The uids that systemd reserves for services while they run, so that no other user has them."""
_NOBODY = 65534
_JOIN = 'filter=$1; shift; echo 1000 >/proc/self/oom_score_adj; exec 9<"$filter"; exec "$@"'
"""If memory runs out all the same, the kernel kills this process instead of the grader."""
NOT_PROTECTED = (
    "submissions run as {who}, and can read what that user can, other submissions included",
    "they can import the project's own schedulers",
    "they have the network",
    "a process that leaves its session outlives them",
)


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
    try:
        refused = syscalls.program()
    except ImportError:
        raise Unfit(
            "grading has the kernel refuse namespaces, mounts and keyrings to submissions, by Python's libseccomp, "
            "which is not installed (apt-get install python3-seccomp)"
        ) from None
    with temporary_folder("grade") as folder:
        place = Place(folder / "code", folder / "filter", tuple(hidden))
        expose(place.code, compiled=True)
        place.filter.write_bytes(refused)
        yield place


def unclosed(cpu_s: int, hash_seed: int = 0) -> Start:
    """Others' code with limits, but without isolation from files, network and other processes."""
    started = own(hash_seed)
    drop = _become(_NOBODY) if os.geteuid() == 0 else []
    return Start(
        (*_limits(cpu_s), *drop, "setpriv", "--pdeathsig", "KILL", "--", *started.command), started.environment
    )


def _become(uid: int) -> list[str]:
    """A command that runs another as this user, without rights and with no way to get any."""
    gone = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *gone, "--"]


def closed(place: Place, cpu_s: int, hash_seed: int = 0) -> Start:
    """Others' code, isolated: see the module. ``cpu_s``: its processor time, seconds.

    Raises Unfit, one sentence, if there is no bubblewrap; `require_closed` finds out whether it works.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise Unfit("grading isolates submissions with bubblewrap, which is not installed (apt-get install bubblewrap)")
    command = ["sh", "-c", _JOIN, "sh", str(place.filter), *_limits(cpu_s)]
    if os.geteuid() == 0:
        command += ["prlimit", f"--nproc={_within_own('nproc', PROCESSES)}", "--"]
        rights = [word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}")]
        drop = _become(_free_uid())
    else:
        # Bubblewrap's own first process would run as the same user as the submission, which could control it.
        rights, drop = ["--unshare-user", "--as-pid-1"], []
        if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (5, 14):
            # From this Linux on a user namespace has a count of its own, in which the grader's desktop is not.
            drop = ["prlimit", f"--nproc={_within_own('nproc', PROCESSES)}", "--"]
    command += [bwrap, "--seccomp", "9", *rights]
    seen = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "PYTHONHASHSEED": str(hash_seed), **ONE_THREAD}
    for word, value in seen.items():
        command += ["--setenv", word, value]
    command += [*_walls(bwrap, place), "--", *drop]
    python = str(Path(sys.prefix).resolve() / "bin" / "python")
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
    return Start((*command, python, "-s", "-c", ANSWER, "/code"), environment, closed=True)


def _limits(cpu_s: int) -> list[str]:
    """A command that sets limits for itself and all that it starts; only root can raise them."""
    return ["prlimit", *(f"--{name}={_within_own(name, n)}" for name, n in {**LIMITS, "cpu": cpu_s}.items()), "--"]


def _within_own(name: str, value: int) -> int:
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _free_uid() -> int:
    """A uid without a user or a process, so that limits, keys and the kernel's counters are shared with nobody."""
    taken = {one.pw_uid for one in pwd.getpwall()}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            taken.add(process.stat().st_uid)
        except OSError:
            continue
    return random.SystemRandom().choice([uid for uid in _UIDS if uid not in taken])


def _walls(bwrap: str, place: Place) -> list[str]:
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
    trees = (Path("/usr"), *prefixes)
    masks = [p for p in (ROOT, *(h.resolve() for h in place.hidden)) if any(p.is_relative_to(tree) for tree in trees)]
    seen |= {path: ["--size", "4096", "--tmpfs"] if bounded else ["--tmpfs"] for path in masks}
    for prefix in prefixes:
        if prefix != Path("/usr"):
            seen = {path: folder for path in prefix.parents[:-1]} | seen | {prefix: shown(prefix)}
    seen |= {Path("/tmp"): empty(TMP), Path("/dev/shm"): empty(TMP // 4), Path("/code"): shown(place.code)}
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


_ATTEMPTS = {
    "has root's rights": "os.getuid() == 0 or os.access('/etc/shadow', os.F_OK)",
    "has capabilities": "any(int(status[name], 16) for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'))",
    "can be given rights by a program": "int(status['NoNewPrivs']) != 1",
    "is under no filter of system calls": "int(status['Seccomp']) != 2",
    "sees a network": "len(open('/proc/net/dev').readlines()) != 3",
    "sees other processes": "len([name for name in os.listdir('/proc') if name.isdigit()]) > 4",
    "can write to the code that answers": "writable('/code/classroom') or writable('/')",
    "has no limit on files": f"resource.getrlimit(resource.RLIMIT_FSIZE)[1] > {LIMITS['fsize']}",
}
_PROBE = f"""
import os, resource
def writable(folder):
    try:
        open(os.path.join(folder, "probe"), "w").close()
    except OSError:
        return False
    return True
def attempt(src, dst, num_hosts):
    status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
    return [{", ".join(f"bool({attempt})" for attempt in _ATTEMPTS.values())}]
"""


def require_closed(place: Place) -> None:
    """Have a small submission report what it can do. Raises Unfit if there is no answer, or it can do too much."""
    with tempfile.TemporaryFile() as said:
        code = Code("probe.py", _PROBE, "attempt")
        try:
            with Submission(lambda hash_seed: closed(place, 5, hash_seed), code, said=said) as submission:
                found = submission.estimate([0], [1], 2).values.get("demand")
        except (Misbehaved, Unfit) as error:
            said.seek(0)
            lines = said.read(4096).decode(errors="replace").strip().splitlines()
            why = one_line(lines[-1] if lines else error)
            if os.geteuid() != 0:
                why += "; allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0), or use a root "
                why += "shell, which needs none"
            raise Unfit(f"this machine does not let bubblewrap isolate a process ({why})") from None
    if found is None or found.shape != (len(_ATTEMPTS),):
        raise Unfit("an isolated process does not answer here as it should")
    if could := [words for words, yes in zip(_ATTEMPTS, found, strict=True) if yes]:
        raise Unfit(f"a process that should be isolated {' and '.join(could)} here")
