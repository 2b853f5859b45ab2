"""The one process that stays root: it accepts a job, carries it out in real time, and answers with the results.

The user's process talks to it over a socket pair. All that it reads are messages of bounded length that hold a job;
it writes below /run/hedera alone, and runs nothing of the user's as root: a scheduler of theirs runs as them. When the
other end is closed, however its process ended, it tears a run down and ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.connection import Connection

    from harness.doctor import Finding
    from harness.network.cleanup import Cleaned
    from harness.run.job import Circumstances, Job, OnStage

# A job has 64 MiB at most (`harness.run.job.MAX_JOB_BYTES`).
LIMIT = 65 << 20
"""Root reads no message that is longer."""
_JOB, _CLEAN, _EXAMINE = b"job", b"clean", b"examine"
"""What a message to root begins with. What root says is pickled, for the user's process believes root: a stage (str), a
file's name and contents (tuple), in the end an exception or the answer."""


@dataclass
class RootProcess:
    """What the user's process has of root's: the connection to it."""

    connection: Connection
    pid: int
    at_once: int = 1

    def prepared_for(self, jobs: Iterable[Job]) -> AbstractContextManager[None]:
        return nullcontext()

    def carry(self, job: Job, place: Path, on_stage: OnStage) -> Circumstances:
        """Put a run's files into the folder ``place``. RunFailed, UserMistake or UnfitMachine as root says."""
        from harness.run.job import Circumstances

        self._ask(_JOB + job.encoded(), place, on_stage)
        return Circumstances()

    def clean(self) -> Cleaned:
        return cast("Cleaned", self._ask(_CLEAN, Path(), lambda *_: None))

    def examine(self) -> list[Finding]:
        return cast("list[Finding]", self._ask(_EXAMINE, Path(), lambda *_: None))

    def _ask(self, question: bytes, place: Path, on_stage: OnStage) -> object:
        from record.errors import RunFailed

        try:
            self.connection.send_bytes(question)
            while True:
                # What ``on_stage`` raises ends the run, so it is called while root is at it.
                while not self.connection.poll(0.1):
                    on_stage("", None)
                try:
                    answer = self.connection.recv()
                except OSError:  # it ended within a message
                    raise EOFError from None
                if isinstance(answer, str):
                    on_stage(answer, None)
                elif isinstance(answer, tuple):
                    (place / answer[0]).write_bytes(answer[1])
                elif isinstance(answer, Exception):
                    raise answer
                else:
                    return answer
        except (EOFError, ConnectionError):
            raise RunFailed("the process that is root has ended, and what it was at with it") from None

    def close(self) -> None:
        self.connection.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def start_root(run_as: tuple[int, int] | None = None) -> RootProcess:
    """Fork the process that stays root. ``run_as``: the user and group of what runs a user's scheduler; None: root."""
    # Not before `start` has taken foreign folders from where modules come from.
    from multiprocessing import Pipe

    user_end, root_end = Pipe()
    pid = os.fork()
    if pid:
        root_end.close()
        return RootProcess(user_end, pid)
    try:
        user_end.close()
        signal.signal(signal.SIGINT, _raise_interrupt)
        # Ctrl-C goes to the user's process, which then closes the connection: in a session of its own root does not
        # hear it, and tears down once and not twice.
        os.setsid()
        _serve(root_end, run_as)
    finally:
        os._exit(0)


def _serve(connection: Connection, run_as: tuple[int, int] | None) -> None:
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            connection.send(_answer(connection.recv_bytes(LIMIT), connection, run_as))


def _raise_interrupt(number: int, frame: object) -> None:
    from harness.network.processes import hurry

    hurry()
    raise KeyboardInterrupt


def _end_with(connection: Connection) -> None:
    """Interrupt what root is at when the other end is closed."""
    # Once, and only once: a second interruption could leave a tear-down half done.
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    poll.poll()
    os.kill(os.getpid(), signal.SIGINT)


def _answer(question: bytes, connection: Connection, run_as: tuple[int, int] | None) -> object:
    from harness.doctor import examine_as_root
    from harness.network.cleanup import remove_leftovers
    from harness.run.experiment import run_experiment
    from harness.run.job import decode_job
    from record.errors import HarnessError, RunFailed, UserMistake

    def deliver(raw: Path) -> None:
        for path in sorted(raw.iterdir()):
            connection.send((path.name, path.read_bytes()))

    try:
        if not question.startswith(_JOB):
            return remove_leftovers() if question == _CLEAN else examine_as_root()
        job = decode_job(question.removeprefix(_JOB))
        if job.spec.time != "real":
            raise UserMistake("root carries out runs in real time")
        run_experiment(job.spec, deliver, connection.send, run_as)
    except HarnessError as error:
        return error
    except Exception as error:  # noqa: BLE001, the other end tells it
        return RunFailed(f"an error nobody expected ({type(error).__name__}: {error})")
    return None


def start() -> None:
    """What `hedera` begins with as root: the environment that root believes; and behind sudo, the root child apart,
    and this process becomes for good the person who called sudo."""
    global _forked
    if os.geteuid() != 0:
        return
    if not sys.flags.isolated:  # nothing is imported from PYTHONPATH or the current folder
        named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        our_folder = str(Path(__file__).resolve().parents[1])
        foreign = {"", *named, *map(os.path.abspath, named), os.getcwd()} - {our_folder}
        sys.path[:] = [path for path in sys.path if path not in foreign]
    believed = filter_allowed(os.environ)
    os.environ.clear()
    os.environ.update(believed)
    person = find_invoker()
    if person is None:
        return
    import ctypes
    import pwd

    uid, gid = person
    _forked = start_root(person)
    try:
        known = pwd.getpwuid(uid)
        groups, home, name = os.getgrouplist(known.pw_name, gid), known.pw_dir, known.pw_name
    except KeyError:
        groups, home, name = [gid], "/", str(uid)
    # The groups come first and the user comes last: who is no longer root may not change the others.
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    os.environ.update(HOME=home, USER=name, LOGNAME=name)
    # A process that changed its user may not look at itself in /proc, until it says that it holds no secret.
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ


_forked: RootProcess | None = None


def find_root() -> RootProcess:
    """The root child: the one behind sudo, else, in a root shell, one made now. UnfitMachine without root."""
    global _forked
    if _forked is None:
        from harness.network.machine import require_root

        require_root()
        _forked = start_root()
    return _forked


def may_be_root() -> bool:
    return _forked is not None or os.geteuid() == 0


def find_invoker() -> tuple[int, int] | None:
    """The user and group of the person who called sudo; None if there is none."""
    words = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    uid, gid = (int(word) if word.isascii() and word.isdecimal() else 0 for word in words)
    # The highest number means "unchanged" to the kernel.
    return (uid, gid) if 0 < uid < 2**32 - 1 and gid < 2**32 - 1 else None


_ALLOWED = {"HOME", "LANG", "TERM", "TZ", "COLUMNS", "LINES", "NO_COLOR", "POX_DIR", "SUDO_UID", "SUDO_GID",
            "SUDO_USER", "SUDO_COMMAND", "PYTHONDONTWRITEBYTECODE", "http_proxy", "https_proxy", "no_proxy",
            "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
            "SHELL", "_HEDERA_COMPLETE", "COMP_WORDS", "COMP_CWORD"}  # fmt: skip  # `record.shell_completion`
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def filter_allowed(environment: os._Environ[str] | dict[str, str]) -> dict[str, str]:
    """The variables that root believes: others say from where programs load code and settings."""
    believed = {
        name: value
        for name, value in environment.items()
        if (name in _ALLOWED or name.startswith(("LC_", "HEDERA_"))) and name != "HOME"
    }
    return believed | {"PATH": os.pathsep.join(filter(_is_root_s, _PATH)), "HOME": "/root"}


def _is_root_s(folder: str) -> bool:
    try:
        place = Path(folder).resolve(strict=True)
        return all(about.st_uid == 0 and not about.st_mode & 0o022 for about in map(os.stat, (place, *place.parents)))
    except OSError:
        return False


def end() -> None:
    """Have what the root child is at torn down, and wait for its end."""
    global _forked
    if _forked is not None:
        _forked.close()
        _forked = None
