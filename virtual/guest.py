"""One guest: a Linux that runs as a process of ours, for one command; time passes in it only when everything waits.

It sees this machine's files, and writes into its own memory. Its results come from one folder (`Guest.results`), and
are not trusted (`virtual.results`). On the host the guest's root has only our rights. The guest is no protection: a
program that breaks out of its kernel has our rights too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from record.errors import WorkerFailed
from virtual import TIED, cache, limits
from virtual.limits import PATH
from virtual.results import read_small

INIT = Path(__file__).with_name("init.sh")
START = (
    "mount -t tmpfs -o mode=755 tmpfs /tmp && mkdir /tmp/in && "
    "{ mount -t hostfs -o hostfs=$given host /tmp/in || mount -t hostfs -o $given host /tmp/in; } && . /tmp/in/init"
).replace("$given", "/proc/self/cwd/in,ro")
"""How a guest's process 1 finds `init.sh`, in the folder that its kernel stands in: by no path of the host's."""
MEMORY_MIB = 3072
"""The limit of a guest's memory, which is allocated as it is used: k = 4 takes 250 MiB, k = 8 610."""
PROCESSES = 200
"""So many processes a guest has room for if nobody says how many it takes: a run of k = 8 has 138."""
STALLED_S = 300.0
"""The guest's clock never stands still for this long unless it hangs (numba's compiler takes 40 s): processor
seconds, or real seconds if it neither computes nor waits for a processor (`Stall`)."""
REPORT_EVERY_S, LOOK_EVERY_S = 0.1, 5.0
IDLE_SHARE = 0.002
"""A guest that goes on computes for more of the time than this, or is ready to; one that hangs does neither."""
WORDS = re.compile(rb"x86_64\0((?:(?!x86_64\0).)+?)(\0[A-Za-z_]\w*=[^\0]*)*\0[^\0]+\0{9}\Z", re.DOTALL)
"""The end of a process's stack: platform, words (1), environment, path, zeros."""
COMPUTING_US = 1000
"""The most guest time that a loop of some 20 ms may take in virtual time: reading the clock takes 256 ns."""
OUT = Path("/run/guest")
"""The path of the results' folder in a guest: the same in all guests, so that one can be repeated."""
FILES = f"{OUT}/files"
"""The folder of the files that the guest was given."""
RESULTS = f"{OUT}/results"
"""Where a guest's command puts its results."""
START_S = 1_767_225_600
"""The start of a guest's clock, in seconds since the epoch: the beginning of 2026."""
VIRTUAL: tuple[str, ...] = ("time-travel=inf-cpu", f"time-travel-start={START_S * 10**9}")
"""The parameters of a clock that waits for what computes."""
CAUSES = (
    (
        r"errno = 24\b|[Tt]oo many open files",
        "it had no open files left (EMFILE): ulimit -Hn tells how many it may have",
    ),
    (
        r"errno = 23\b|[Tt]oo many open files in system",
        "this machine has no open files left (ENFILE): sysctl fs.file-max",
    ),
    (r"panic_on_oom", "it used up its memory, which is given by the network's size, or by hedera guest --memory"),
    (
        r"set fp regs failed",
        "Linux before 6.13 has no room for this processor's floating-point state (AMX): unset HEDERA_KERNEL_SOURCE",
    ),
    (
        r"check_ptrace|check_sysemu|ptrace failed|SECCOMP userspace requested but not functional",
        "this machine forbids both seccomp filters and ptrace, and guests need one of them: allow one in the "
        "container's profile, or set kernel.yama.ptrace_scope below 2",
    ),
    (
        r"must be not mounted noexec",
        "no program may run from /dev/shm, nor from the user's cache: set XDG_CACHE_HOME to a folder that is not "
        "mounted noexec",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "what it wrote did not fit on the disk of this user's cache: make room there, or set XDG_CACHE_HOME",
    ),
    (r"Read-only file system", "what it wrote could not be written: this user's cache is read-only"),
    (r"File too large", "what it wrote is larger than a file may be here: ulimit -Hf tells"),
    (
        r"errno = 11\b|Resource temporarily unavailable",
        "this user may have no more processes (EAGAIN): ulimit -Hu tells how many",
    ),
    (
        r"setup_physmem|map_memory|errno = 12\b|Cannot allocate memory|Too few physical memory|just ran out of space|"
        r"Out of memory",
        "there was no memory left for it, on this machine or within a limit on this user or container: run fewer "
        "guests at once",
    ),
)
"""What the console of a guest that does not boot, or does not go on, says: an expression, and what to do. The first one
found is the cause: a program that could not start for want of a file says "memory"."""
SIGNALS = {
    signal.SIGXFSZ: "it was ended because a file grew larger than it may here: ulimit -Hf tells",
    signal.SIGXCPU: "it was ended because its processor time was used up: ulimit -Ht tells",
}
CONSOLES = 20
"""So many consoles of guests that failed are kept."""


@dataclass(frozen=True)
class Progress:
    """A guest's progress: seconds since it booted, by its own clock and by ours."""

    simulated_s: float
    real_s: float


@dataclass(frozen=True)
class Ended:
    """The end of a guest's command.

    ``status``: its exit status. ``time_travel``: whether computing took no time in the guest; if not, the guest had
    real time, and its measurements are only as good as those of a busy machine. ``kernel``: its release. ``mode``:
    how it controls its processes, ``seccomp`` or ``ptrace``. ``notes``: sentences about what it saw that is not as on
    another machine.
    """

    status: int
    simulated_s: float
    real_s: float
    time_travel: bool
    kernel: str
    mode: str
    stdout: str
    stderr: str
    notes: tuple[str, ...] = ()


@dataclass
class Guest:
    """Boots on entering; on leaving it is removed, with all its processes and files.

    ``linux``: the kernel. ``command``: run as the guest's root, in ``folder``, with ``environment`` (and PATH, HOME);
    it puts its results into ``RESULTS``. ``world``: all of the host's folders that it sees, by their places there, and
    ``python``, the interpreter there; none: everything. ``layers``: folders laid over them (`virtual.apt`). ``files``:
    what it finds in ``FILES``, by relative paths without links. ``processes``: so many at once. ``seed``: of its random
    numbers. ``real_s``: it is killed after this many real seconds; ``stalled_s``: and when it hangs (`Stall`).
    ``parameters``: of its clock; none: real time. ``lines``: open files that /dev/ttyS0, ttyS1 ... read (None: nothing)
    and write. ``pipes``: of an `Original`; ``original``: this guest is a copy of that one, and of all that it was given
    has its own files. Leave it in the thread that entered it: it dies with that thread.

    Entering raises UnfitMachine, before anything is made, where a limit of this machine is too low for it.
    """

    linux: Path
    command: Sequence[str]
    folder: Path = field(default_factory=Path.cwd)
    environment: Mapping[str, str] = field(default_factory=dict)
    layers: Sequence[Path] = ()
    world: Mapping[str, Path] = field(default_factory=dict)
    python: str = sys.executable
    files: Mapping[str, bytes] = field(default_factory=dict)
    memory_mib: int = MEMORY_MIB
    processes: int = PROCESSES
    real_s: float = 3600.0
    stalled_s: float = STALLED_S
    seed: int = 0
    parameters: Sequence[str] = VIRTUAL
    lines: Sequence[tuple[int | None, int]] = ()
    pipes: tuple[int, int] | None = None
    original: Original | None = None

    def __enter__(self) -> Guest:
        self._allowed = limits.raise_limits(limits.Needs(self.processes, self.memory_mib))
        with contextlib.ExitStack() as undo:
            self.job = undo.enter_context(_make_job_folder())
            self.results = self.job / "out" / "results"
            if self.original is None:
                self._process: subprocess.Popen[bytes] | Copy = undo.enter_context(self._boot())
            else:
                self._process = undo.enter_context(self._start_copy(self.original))
            self._end = undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def progress(self) -> Progress:
        try:
            simulated = float(read_small(self.job / "out" / "clock", 100))
        except (OSError, ValueError):
            simulated = 0.0  # no such file yet, or it is being written
        return Progress(max(simulated, self._seen), time.monotonic() - self._began)

    def wait(self, on_progress: Callable[[Progress], None] = lambda progress: None) -> Ended:
        """Wait for the command's end; ``on_progress`` is called with the progress about ten times a second.

        Raises WorkerFailed when the guest ends without the command's status, stands still, or takes too long.
        """
        stall = Stall(self.pid, self.stalled_s)
        while (ended := self._look(stall, on_progress)) is None:
            time.sleep(REPORT_EVERY_S)
        return ended

    def waits(self, told: int, on_progress: Callable[[Progress], None]) -> bool:
        """Whether the command comes to where it waits, which is said on ``told``; if not, it has ended."""
        stall = Stall(self.pid, self.stalled_s)
        look = select.poll()
        look.register(told, select.POLLIN)
        while not look.poll(1000 * REPORT_EVERY_S):
            if self._look(stall, on_progress) is not None:
                return False
        self._place.close()  # it is others who compute from now on
        return bool(os.read(told, 100))

    def _look(self, stall: Stall, on_progress: Callable[[Progress], None]) -> Ended | None:
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        now = self.progress
        self._seen = now.simulated_s
        on_progress(now)
        if ended:
            _end(self._process)
            return self._describe_end(now)
        if now.real_s > self.real_s:
            at = f"within {self.real_s:g} s, in which its clock came to {now.simulated_s:.0f} s"
            raise WorkerFailed(f"the guest did not finish {at}")
        if (hangs := stall.look(now.simulated_s)) is not None:
            raise WorkerFailed(hangs)
        return None

    def _describe_end(self, last: Progress) -> Ended:
        out = self.job / "out"
        if (out / "unwritten").exists():
            raise WorkerFailed(f"what the guest wrote did not all come out{self._find_cause()}")
        try:
            status = int(read_small(out / "status", 10))
            facts = re.fullmatch(r"(\d{1,12}) (\S{1,40}) (\S{1,80})\n", read_small(out / "facts", 200))
            if facts is None:
                raise ValueError("no facts")
        except (OSError, ValueError):
            raise WorkerFailed(f"the guest ended without a result{self._find_cause()}") from None
        return Ended(
            status,
            last.simulated_s,
            last.real_s,
            int(facts[1]) <= COMPUTING_US and facts[2] == "time-travel-clock",
            facts[3],
            "seccomp" if "seccomp filters can be installed...OK" in read_small(self.job / "console") else "ptrace",
            read_small(out / "stdout"),
            read_small(out / "stderr"),
        )

    def _find_cause(self) -> str:
        """The cause of a failure as the end of a sentence: by what ended it, or by its console. If that does not tell,
        the console's last words, and where all of it is kept."""
        status = -(self._process.returncode or 0)
        if status == signal.SIGKILL:
            if limits.count_killed_for_memory() > self._killed_before:
                return ": the kernel killed it, as the memory of this control group (a container's) was used up"
            return ": it was killed, perhaps because this machine has no memory left"
        if status in SIGNALS:
            return f": {SIGNALS[signal.Signals(status)]}"
        console = read_small(self.job / "console")
        for expression, cause in CAUSES:
            if re.search(expression, console):
                return f": {cause}"
        lines = console.strip().splitlines() or ["nothing"]
        telling = [line for line in lines if line.startswith("guest: ")] + [line for line in lines if "panic" in line]
        return f": its console ends with {(telling or lines)[-1].strip()[:200]!r} (all of it: {self._keep(console)})"

    def _keep(self, console: str) -> Path:
        """Keep a console; the oldest of many go."""
        folder = cache.make_folder("consoles")
        kept = folder / f"{self.job.name}.txt"
        kept.write_text(console, encoding="utf-8")
        for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-CONSOLES]:
            old.unlink(missing_ok=True)
        return kept

    @contextlib.contextmanager
    def _boot(self) -> Iterator[subprocess.Popen[bytes]]:
        inside = self.job / "in"
        (inside / "init").write_bytes(INIT.read_bytes())
        home = "/root" if self.world else str(Path.home())
        environment = {"PATH": PATH, "HOME": home, "LANG": "C.UTF-8", **self.environment}
        told: dict[str, Sequence[object]] = {
            "out": [OUT],
            "python": [self.python],
            "folder": [self.folder.absolute()],
            "layers": [f"layer{number}" for number in range(len(self.layers))],
            "places": [*self.world],
            "links": [os.readlink(host) if host.is_symlink() else "" for host in self.world.values()],
            "environment": [f"{name}={value}" for name, value in environment.items()],
            "command": self.command,
        }
        arrays = (f"{name}=({shlex.join(map(str, words))})\n" for name, words in told.items())
        (inside / "told").write_bytes(os.fsencode("".join(arrays)))
        for kind, hosts in (("host", self.world.values()), ("layer", self.layers)):
            for number, host in enumerate(hosts):
                (inside / f"{kind}{number}").symlink_to(host)
        self._begin()
        with contextlib.ExitStack() as held:
            self._place = held.enter_context(contextlib.ExitStack())
            processor = self._place.enter_context(_pick_processor())
            console = held.enter_context((self.job / "console").open("wb"))
            self.memory_in = find_memory_folder(self.memory_mib) or self.job
            process = subprocess.Popen(
                [*self._allowed, *TIED, str(os.getpid()), "taskset", "-c", str(processor), *self._boot_line()],
                env={"PATH": PATH, "HOME": str(self.job), "TMPDIR": str(self.memory_in)},
                cwd=self.job, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
                pass_fds=[end for ends in (*self.lines, self.pipes or ()) for end in ends if end is not None],
            )  # fmt: skip
            try:
                yield process
            finally:
                _end(process)

    @contextlib.contextmanager
    def _start_copy(self, original: Original) -> Iterator[Copy]:
        shutil.copytree(original.job / "in", self.job / "in", symlinks=True, dirs_exist_ok=True)
        for name in ("console", "out/clock", "out/facts", "out/stdout", "out/stderr"):
            shutil.copyfile(original.job / name, self.job / name)
        self._begin()
        with _pick_processor() as processor:
            process = original.copy(self.job, processor)
            try:
                yield process
            finally:
                _end(process)

    def _begin(self) -> None:
        for name, content in self.files.items():
            path = self.job / "out" / "files" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._began, self._seen = time.monotonic(), 0.0
        self._killed_before = limits.count_killed_for_memory()

    def _boot_line(self) -> list[str]:
        ends = ((f"fd:{given}" if given is not None else "null", taken) for given, taken in self.lines)
        lines = (f"ssl{n}={given},fd:{taken}" for n, (given, taken) in enumerate(ends))
        return [
            str(self.linux), "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"mem={self.memory_mib}M",
            "uml_dir=uml", "umid=guest", "seccomp=auto", *self.parameters,
            f"random_seed={self.seed}", "con=null", "con0=null,fd:1", "ssl=null", *lines,
            *(["again={},{}".format(*self.pipes)] if self.pipes else []),
            # In a user namespace root's files belong to the user nobody: mount (setuid) must not become that user.
            "init=/usr/bin/setpriv", "--", "--no-new-privs", "/bin/bash", "-c", f'"{START}"',
        ]  # fmt: skip


class Original:
    """A guest whose command has come to where it waits, by writing to /proc/again; what it wrote there then ends in
    each of the guests that are made of it, which go on from there with files, processor and memory of their own.

    They are children of this process, and die with the thread that booted the original.
    """

    def __init__(self, guest: Guest, on_progress: Callable[[Progress], None] = lambda progress: None) -> None:
        """Boot it. WorkerFailed where the guest fails, or ends without waiting."""
        with contextlib.ExitStack() as undo:
            asked, self._ask = os.pipe()
            self._told, told = os.pipe()
            for end in (self._ask, self._told):
                undo.callback(os.close, end)
            try:
                self._guest = undo.enter_context(replace(guest, pipes=(asked, told)))
            finally:
                os.close(asked)
                os.close(told)
            if not self._guest.waits(self._told, on_progress):
                raise WorkerFailed("it ended before it waited")
            self.job = self._guest.job
            self._lock = threading.Lock()
            self.close = undo.pop_all().close

    @property
    def ready(self) -> bool:
        """Whether it waits still, and there is room for the memory of another one."""
        if not has_room(self._guest.memory_in, self._guest.memory_mib):
            return False
        return os.waitid(os.P_PID, self._guest.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def copy(self, job: Path, processor: int) -> Copy:
        """Make another guest of it, for the folder of a job."""
        with self._lock:
            try:
                os.write(self._ask, os.fsencode(f"{processor} {job}\n"))
                return Copy(int(os.read(self._told, 100)))
            except (OSError, ValueError):
                raise WorkerFailed("the guest that this one was to be a copy of has ended") from None


class Copy:
    """A child of ours that another one started, as `subprocess.Popen` has those that we start."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def wait(self) -> int:
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def has_room(folder: Path, memory_mib: int) -> bool:
    filesystem = os.statvfs(folder)
    return filesystem.f_bavail * filesystem.f_frsize >= memory_mib << 20


def find_memory_folder(memory_mib: int) -> Path | None:
    """The folder for the file that is a guest's memory, in RAM; None where there is none with room that lets programs
    run from it. The file has no name any more when the guest boots."""
    shared = Path("/dev/shm")
    try:
        # Its processes run code from there; containers often forbid that.
        code = not os.statvfs(shared).f_flag & os.ST_NOEXEC
        return shared if has_room(shared, memory_mib) and code and os.access(shared, os.W_OK) else None
    except OSError:
        return None


def _end(process: subprocess.Popen[bytes] | Copy) -> None:
    """Kill a guest's processes, which are its children: before it is reaped, or its number may be another's group's."""
    if process.returncode is None:
        os.kill(process.pid, signal.SIGKILL)  # a copy that has just begun is not in a group of its own yet
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def _make_job_folder() -> Iterator[Path]:
    """A folder for one guest, locked while this process lives; folders of killed processes are removed."""
    jobs = cache.make_folder("jobs")
    with contextlib.ExitStack() as held:
        # So that nobody removes a folder that was made but is not locked yet.
        with cache.locked(jobs.with_name("jobs.lock")):
            for old in jobs.iterdir():
                with contextlib.suppress(OSError), (old / "lock").open() as lock:
                    if cache.take_lock(lock):
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
def _pick_processor() -> Iterator[int]:
    """One of the processors we may use; if possible one that no other guest of ours has."""
    ours = sorted(os.sched_getaffinity(0))
    locks = cache.make_folder("processors")
    for number in ours:
        with (locks / str(number)).open("w") as lock:
            if cache.take_lock(lock):
                yield number
                return
    yield ours[threading.get_native_id() % len(ours)]  # guests of one process are in threads of their own


@dataclass
class Stall:
    """Tells a guest that hangs from one that waits for a busy processor, by its processes, which are a ``session``.

    ``stalled_s``: the guest hangs if its clock has not moved while its processes used this many processor seconds, or
    for this many real seconds in which they neither computed nor waited for a processor.
    """

    session: int
    stalled_s: float
    _simulated_s = -1.0
    _looked_s = float("-inf")
    _moved_s = 0.0
    _used_s: Mapping[int, float] = field(default_factory=dict)

    def look(self, simulated_s: float) -> str | None:
        """A sentence if the guest, whose clock is now at ``simulated_s``, hangs; else None."""
        now = time.monotonic()
        if now - self._looked_s < min(LOOK_EVERY_S, self.stalled_s / 2):
            return None
        self._looked_s = now
        used = measure_used_s(self.session)
        if simulated_s > self._simulated_s:
            self._simulated_s, self._moved_s, self._used_s = simulated_s, now, used
            return None
        computed, passed = sum(used.values()) - sum(self._used_s.values()), now - self._moved_s
        stands = f"the guest's clock has stood at {simulated_s:.0f} s"
        if computed > self.stalled_s:
            return f"{stands} while it computed for {computed:.0f} s{self.where()}: it hangs"
        # A guest that is niced, beside many processes that are not, hardly computes; but it is ready to.
        if passed > self.stalled_s and computed < IDLE_SHARE * passed and not any(map(_is_runnable, used)):
            return f"{stands} for {passed:.0f} s, and it did not compute: it hangs"
        return None

    def where(self) -> str:
        """The process, but for the first, that has computed most since the clock moved; empty if that is not known."""
        grown = {
            pid: s - self._used_s.get(pid, 0.0)
            for pid, s in measure_used_s(self.session).items()
            if pid != self.session
        }
        command = read_command_line(max(grown, key=grown.__getitem__)) if grown else ""
        return f" in {command!r}" if command else ""


def measure_used_s(number: int, field: int = 3) -> dict[int, float]:
    """Processor seconds, with those of ended children, of a session's running processes (``field`` 1: a parent's)."""
    used = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # the process has ended meanwhile
        if words[field] == str(number):
            used[int(stat.parent.name)] = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return used


def _is_runnable(pid: int) -> bool:
    """If a process runs, or is ready to run and waits for a processor."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "R"
    except OSError:
        return False  # the process has ended meanwhile


def read_command_line(pid: int) -> str:
    """What a guest's process was started as, from the top of its stack (its name is that of all); empty if not told."""
    top, below = b"", 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in reversed(Path(f"/proc/{pid}/maps").read_text().splitlines()):
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            if line.split()[1].startswith("rw") and end < 1 << 47:  # neighbouring pages need not be so in memory
                memory.seek(max(begin, end - (1 << 16)))
                top, below = memory.read(min(end - begin, 1 << 16)) + (top if end == below else b""), begin
                if match := WORDS.search(top):
                    return match[1].replace(b"\0", b" ").decode(errors="replace")[:80]
    return ""
