"""One guest: a Linux that is a process of ours, booted for one command, in which time passes only when all wait.

It sees this machine's files as they are, and writes into its own memory; what comes out of it comes out of one
folder (`Guest.results`) and is taken from there as from a stranger (`virtual.harvest`). Its root has our rights on
the host and no more. The guest is a convenience, no wall: a program in it that breaks the kernel has our rights too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from virtual import cache
from virtual.errors import GuestFailed, Unavailable
from virtual.harvest import read_small
from virtual.stall import Stall

INIT = Path(__file__).with_name("init.sh")
MEMORY_MIB = 3072
"""What a guest may use, and gets as it uses it: k = 4 takes some 900 MiB."""
STALLED_S = 300.0
"""Seconds without a move of the guest's clock that no computing of ours takes (the longest, numba's compiler: 40 s),
of a processor, or of ours where it does not compute at all (`virtual.stall`)."""
LOOK_EVERY_S = 0.1
COMPUTING_US = 1000
"""Most guest time that a loop of some 20 ms may take where computing takes none: reading the clock takes 256 ns."""
OUT = Path("/run/guest")
"""Where a guest sees the folder that comes out of it: the same for all guests, so that one can be repeated."""
FILES = f"{OUT}/files"
"""Where it finds the files that it was given."""
RESULTS = f"{OUT}/results"
"""Where a guest's command puts its results."""
START_S = 1_767_225_600
"""When a guest's clock begins, in seconds since the epoch: with the year 2026."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Progress:
    """How far a guest is: seconds of its own clock since it booted, and of ours."""

    simulated_s: float
    real_s: float


@dataclass(frozen=True)
class Ended:
    """What became of a guest's command.

    ``status``: its exit status. ``time_travel``: whether computing took no time in there; without that, the guest
    saw real time, and what it measured is worth what a busy machine's measurements are. ``kernel``: its release.
    ``mode``: how it holds its processes, ``seccomp`` or ``ptrace``.
    """

    status: int
    simulated_s: float
    real_s: float
    time_travel: bool
    kernel: str
    mode: str
    stdout: str
    stderr: str


class Guest:
    """Boots on entering, and is gone, with all its processes and files, on leaving.

    ``linux``: the kernel. ``command``: run as the guest's root, in ``folder``, with ``environment`` (and PATH, HOME);
    it leaves what it made in ``RESULTS``. ``layers``: folders laid over the guest's root (`virtual.layer`).
    ``files``: what it finds in ``FILES``, by paths that lead nowhere else.
    ``processor``: the one it runs on (default: one that no other guest has). ``seed``, ``start_s``: of its random
    numbers, and of its clock. ``real_s``, ``stalled_s``: it is killed after so many of ours in all, and when it
    hangs (`virtual.stall`). Leave it in the thread that entered it: it dies with that thread.
    """

    def __init__(
        self,
        linux: Path,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        layers: Sequence[Path] = (),
        files: Mapping[str, bytes] | None = None,
        memory_mib: int = MEMORY_MIB,
        processor: int | None = None,
        real_s: float = 3600.0,
        stalled_s: float = STALLED_S,
        seed: int = 0,
        start_s: int = START_S,
        parameters: Sequence[str] = ("time-travel=inf-cpu",),
    ) -> None:
        self._linux = linux
        self._command = tuple(command)
        self._folder = Path(os.path.abspath(folder or Path.cwd()))
        self._environment = {"PATH": PATH, "HOME": str(Path.home()), "LANG": "C.UTF-8", **(environment or {})}
        self._layers = tuple(layers)
        self._files = dict(files or {})
        self._memory_mib = memory_mib
        self._processor = processor
        self._real_s = real_s
        self._stalled_s = stalled_s
        self._parameters = (*parameters, f"random_seed={seed}", f"time-travel-start={start_s * 10**9}")
        self._seen = 0.0
        self._began = 0.0
        self._end = contextlib.ExitStack()

    def __enter__(self) -> Guest:
        with contextlib.ExitStack() as undo:
            self.job = undo.enter_context(_job())
            self.results = self.job / "out" / "results"
            self._process = undo.enter_context(self._booted())
            self._end = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    @property
    def pid(self) -> int:
        """Of the guest's kernel."""
        return self._process.pid

    @property
    def progress(self) -> Progress:
        """How far it is now."""
        try:
            simulated = float(read_small(self.job / "out" / "clock", 100))
        except (OSError, ValueError):
            simulated = 0.0  # not there yet, or just being written
        return Progress(max(simulated, self._seen), time.monotonic() - self._began)

    def wait(self, report: Callable[[Progress], None] = lambda progress: None) -> Ended:
        """Wait for the command's end; ``report`` hears how far it is, some ten times a second.

        Raises GuestFailed when the guest ends without the command's status, stands still, or takes too long.
        """
        stall = Stall(self.pid, self._stalled_s)
        while True:
            ended = self._process.poll() is not None
            now = self.progress
            self._seen = now.simulated_s
            report(now)
            if ended:
                return self._ended(now)
            if now.real_s > self._real_s:
                raise GuestFailed(f"the guest was not done within {self._real_s:g} s")
            if (hangs := stall.look(now.simulated_s)) is not None:
                raise GuestFailed(hangs)
            time.sleep(LOOK_EVERY_S)

    def _ended(self, last: Progress) -> Ended:
        out = self.job / "out"
        if (out / "full").exists():
            raise GuestFailed(f"what the guest wrote did not fit on the disk of {self.job}")
        try:
            status = int(read_small(out / "status", 10))
            facts = re.fullmatch(r"(\d{1,12}) (\S{1,40}) (\S{1,80})\n", read_small(out / "facts", 200))
            if facts is None:
                raise ValueError("no facts")
        except (OSError, ValueError):
            raise GuestFailed(f"the guest ended without a result{self._last_words()}") from None
        return Ended(
            status,
            last.simulated_s,
            last.real_s,
            int(facts[1]) <= COMPUTING_US and facts[2] == "time-travel-clock",
            facts[3],
            self._mode(),
            read_small(out / "stdout"),
            read_small(out / "stderr"),
        )

    def _mode(self) -> str:
        console = read_small(self.job / "console")
        return "seccomp" if "seccomp filters can be installed...OK" in console else "ptrace"

    def _last_words(self) -> str:
        if self._process.returncode == -signal.SIGKILL:
            return ": it was killed, by somebody or because this machine has no memory left"
        try:
            said = (self.job / "console").read_text(errors="replace").strip().splitlines()
        except OSError:
            return ""
        for telling in (
            [line for line in said if line.startswith("guest: ")],
            [line for line in said if "panic" in line],
        ):
            if telling:
                return f": {telling[0]}"
        return f": {said[-1]}" if said else ""

    @contextlib.contextmanager
    def _booted(self) -> Iterator[subprocess.Popen[bytes]]:
        inside = self.job / "in"
        (inside / "init").write_bytes(INIT.read_bytes())
        (inside / "out").write_bytes(os.fsencode(OUT))
        (inside / "python").write_bytes(os.fsencode(sys.executable))
        (inside / "folder").write_bytes(os.fsencode(self._folder))
        for name, words in (
            ("layers", map(str, self._layers)),
            ("environment", (f"{key}={value}" for key, value in self._environment.items())),
            ("command", self._command),
        ):
            (inside / name).write_bytes(b"".join(os.fsencode(word) + b"\0" for word in words))
        for name, content in self._files.items():
            path = self.job / "out" / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._began = time.monotonic()
        with contextlib.ExitStack() as held:
            processor = self._processor if self._processor is not None else held.enter_context(_processor())
            console = held.enter_context((self.job / "console").open("wb"))
            process = subprocess.Popen(
                [*_TIED, "taskset", "-c", str(processor), str(self._linux), *self._boot_line()],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                cwd="/",
                env={"PATH": PATH, "HOME": str(self.job), "TMPDIR": self._memory_folder()},
                start_new_session=True,
            )
            try:
                yield process
            finally:
                _kill(process)

    def _boot_line(self) -> list[str]:
        return [
            "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"mem={self._memory_mib}M",
            f"uml_dir={self.job}/uml", "umid=guest", "seccomp=auto", *self._parameters,
            "con=null", "con0=null,fd:1", "ssl=null",
            # In a user namespace root's files have an owner who is nobody: mount must not become that.
            "init=/usr/bin/setpriv", "--", "--no-new-privs", "/bin/bash", f"{self.job}/in/init", str(self.job),
        ]  # fmt: skip

    def _memory_folder(self) -> str:
        """Where its memory is a file, already without a name when it boots: best where no disk is behind it."""
        shared = Path("/dev/shm")
        try:
            found = os.statvfs(shared)
            room = found.f_bavail * found.f_frsize >= self._memory_mib << 20
            code = (
                not found.f_flag & os.ST_NOEXEC
            )  # its processes run from there; containers often forbid that
            if room and code and os.access(shared, os.W_OK):
                return str(shared)
        except OSError:
            pass
        return str(self.job)


_TIED = ("setpriv", "--pdeathsig", "KILL", "--")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The kernel, which is one process; those of the guest are its children, which die with it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def _job() -> Iterator[Path]:
    """A folder for one guest, locked while we live; folders of who was killed are removed."""
    jobs = cache.folder("jobs")
    with contextlib.ExitStack() as held:
        with cache.locked(
            jobs.with_name("jobs.lock")
        ):  # nobody removes what another has made, and not locked yet
            for old in jobs.iterdir():
                with contextlib.suppress(OSError), (old / "lock").open() as lock:
                    if _taken(lock):
                        shutil.rmtree(old, ignore_errors=True)
            job = Path(tempfile.mkdtemp(dir=jobs))
            fcntl.flock(held.enter_context((job / "lock").open("w")), fcntl.LOCK_EX)
        try:
            for name in ("in", "out", "uml", "out/results"):
                (job / name).mkdir(mode=0o700)
            yield job
        finally:
            shutil.rmtree(job, ignore_errors=True)


@contextlib.contextmanager
def _processor() -> Iterator[int]:
    """One of the processors we may use, that no other guest of ours holds if there is one."""
    ours = sorted(os.sched_getaffinity(0))
    locks = cache.folder("processors")
    for number in ours:
        with (locks / str(number)).open("w") as lock:
            if _taken(lock):
                yield number
                return
    yield ours[threading.get_native_id() % len(ours)]  # guests of one process are in threads of their own


def _taken(lock: TextIO) -> bool:
    """Whether we have that lock now: nobody else has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def require_programs() -> None:
    """Unavailable where this machine lacks what boots a guest."""
    missing = [name for name in ("setpriv", "taskset", "bash", "ip") if shutil.which(name, path=PATH) is None]
    if missing:
        raise Unavailable(f"{', '.join(missing)} missing: apt-get install util-linux bash iproute2")
