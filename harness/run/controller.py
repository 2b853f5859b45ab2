"""The OpenFlow controller as a process: which platform, how it is started, what its log says.

It needs nothing of root's: once in its namespace it is the person who asked for the run, if there is one, before its
first line runs. Its log is a file of root's that it is handed open.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert, defstruct

from harness.network import REAP_S, Children, machine, wait_until
from record.errors import RunFailed, to_one_line
from record.spec import OPEN
from virtual import TIED

PORT = 6653
"""The number that IANA gives OpenFlow. It is free: the controller has a namespace of its own."""
LOG = "controller.jsonl"
"""The file into which the controller writes its events."""
START_S = 120.0
"""A controller may take so long to say its first word: where nothing is compiled yet for its user, it takes a
minute."""
# The controller says a word every second (`controllers.core.HEARTBEAT_S`). One that misses three of them in a row is
# frozen, and not slow: polling and deciding take it 8 ms (`record.spec.MEASURED_DELAY_MS`).
SILENCE_S = 4.0
"""After so many seconds without a word the controller is taken to be frozen."""
_LAST_BYTES = 4096
PROJECT = Path(__file__).resolve().parents[2]

Event = dict[str, Any]

_MAX = 2**53
Whole = Annotated[int, Meta(ge=-_MAX, le=_MAX)]
Real = Annotated[float, Meta(ge=-_MAX, le=_MAX)]
_FIELDS: dict[str, dict[str, Any]] = {
    "start": dict.fromkeys(("scheme", "platform", "platform_version"), str),
    "switch": {"state": str},
    "ready": {"switches": Whole},
    "flow": dict.fromkeys(("key", "src", "dst", "src_port", "dst_port", "core"), Whole) | {"reason": str},
    "reroute": dict.fromkeys(("key", "core"), Whole),
    "round": dict.fromkeys(("round", "flows", "large", "placed", "changed"), Whole)
    | dict.fromkeys(("polled_s", "compute_s", "install_s"), Real),
    "error": {"message": str},
}
"""What is read of each kind of event. Text is made one line. Events of other kinds are kept as they are."""


class _Any(Struct):
    t: Real
    event: str


_KINDS = {kind: defstruct(kind, list(fields.items()), bases=(_Any,)) for kind, fields in _FIELDS.items()}


def make_command(platform: str, address: str, options: Mapping[str, object]) -> list[str]:
    """The command line of a platform's controller; ``options`` become ``--name=value``."""
    flags = [f"--{name}={value}" for name, value in options.items()]
    if platform == "os-ken":
        return [*_make_python_command("controllers.os_ken_main"), f"--listen={address}:{PORT}", *flags]
    pox = machine.find_pox()
    assert pox is not None, "`harness.run.job` found it"
    of_01 = ["openflow.of_01", f"--address={address}", f"--port={PORT}"]
    return [
        *_make_python_command("controllers.pox_main"),
        str(pox.resolve()),
        *of_01,
        "controllers.pox_component",
        *flags,
    ]


# The controller may run as a user who has other programs. It is made not dumpable (PR_SET_DUMPABLE, 4), so that these
# neither trace it nor read its memory.
_RUN_MODULE = (
    "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); "
    "import sys; modules, module = sys.argv[1:3]; del sys.argv[1:3]; sys.path[:0] = modules.split(':'); "
    "import runpy; runpy.run_module(module, run_name='__main__', alter_sys=True)"
)


def _make_python_command(module: str) -> list[str]:
    """The command that runs a module of ours.

    Isolated: neither the folder the user stands in nor PYTHONPATH lends it modules, as with ``python -m``. In a guest
    its modules are where ours are, and no list of the environment's packages is read.
    """
    flags = [flag for flag, on in (("-B", sys.dont_write_bytecode), ("-S", sys.flags.no_site)) if on]
    modules = [path for path in sys.path if path.startswith("/opt/")] if sys.flags.no_site else [str(PROJECT)]
    return [sys.executable, "-I", *flags, "-c", _RUN_MODULE, ":".join(modules), module]


OF_ROOTS_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "POX_DIR", "PYTHONDONTWRITEBYTECODE", "NUMBA_CACHE_DIR")
"""Of root's environment, the variables that the controller of another user gets."""


def confine(run_as: tuple[int, int] | None, folder: Path) -> list[str]:
    """A prefix for a controller whose output goes to ``folder``: as the person, if there is one, with no rights of
    root's for good, and tied to us."""
    # A user's scheduler may print without end. Its output fills a quarter of what is free then, and its log as much, so
    # that half stays free, whatever it prints: /run is the memory of the machine.
    most = max(shutil.disk_usage(folder).free // 4, 1 << 20)
    prefix = ["prlimit", f"--fsize={most}", "--"]
    if os.geteuid() == 0:
        # In a namespace of processes of its own, all that a user's scheduler has started ends with it, whatever session
        # that has gone to.
        prefix += ["unshare", "--pid", "--fork", "--kill-child=KILL", "--"]
    if run_as is not None:
        without = ["--clear-groups", "--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"]
        prefix += ["setpriv", f"--reuid={run_as[0]}", f"--regid={run_as[1]}", *without, "--"]
        # It is tied a second time, because changing the user undoes the first (PR_SET_PDEATHSIG). Its parent is outside
        # its namespace of processes, where it has the number 0.
        prefix += [*TIED, "0"]
    return prefix


def choose_environment(run_as: tuple[int, int] | None) -> dict[str, str]:
    """The variables that a controller gets: all of ours, or OF_ROOTS_ENVIRONMENT alone if it runs as another user."""
    if run_as is None:
        return dict(os.environ)
    try:
        home = pwd.getpwuid(run_as[0]).pw_dir
    except KeyError:
        home = "/"
    return {name: os.environ[name] for name in OF_ROOTS_ENVIRONMENT if name in os.environ} | {"HOME": home}


@dataclass(frozen=True)
class Restart:
    """When the harness noticed that the controller was gone (seconds since the epoch), and what it noticed."""

    t: float
    reason: str


class Controller:
    """A running controller and the events it has logged so far (``events``, oldest first).

    ``rows``: its network's plan (`PlannedNetwork.rows`); None: a fat-tree. ``run_as``: the user and group that it runs
    as; None: ours. ``restarts``: what `supervise` had to do; ``lost``: why there is no controller any longer, or None;
    ``log_bytes``: how much of its log has been read.
    """

    def __init__(
        self,
        platform: str,
        address: str,
        namespace: int,
        options: Mapping[str, object],
        directory: Path,
        children: Children,
        run_as: tuple[int, int] | None = None,
        rows: str | None = None,
    ) -> None:
        self.events: list[Event] = []
        self.restarts: list[Restart] = []
        self.lost: str | None = None
        self._log = directory / LOG
        self._directory = directory
        self._namespace = namespace
        self._run_as = run_as
        self._to_run = (platform, address, options)
        self._handed = {"log": (self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)}
        if rows is not None:
            self._handed["topology"] = (directory / "topology.json", os.O_RDONLY)
            (directory / "topology.json").write_text(rows)
            (directory / "topology.json").chmod(0o644)
        self._children = children
        self.log_bytes = 0
        self._start("controller.txt")

    def _start(self, output: str) -> None:
        self._output = self._directory / output
        # Until it has said its first word, a controller may be compiling. After that it is held to its heartbeat.
        self._heard = time.monotonic()
        self._patience = START_S
        platform, address, options = self._to_run
        # It is handed files that root has opened: it may neither look into this folder nor write there.
        handed = {name: os.open(path, flags, 0o600) for name, (path, flags) in self._handed.items()}
        try:
            if self._run_as is not None:
                os.fchown(handed["log"], self._run_as[0], -1)  # it opens by number what lies where it cannot look
            self.process: subprocess.Popen[bytes] = self._children.spawn(
                "controller",
                [
                    *confine(self._run_as, self._directory),
                    *make_command(platform, address, {**options, **{name: f"{OPEN}{n}" for name, n in handed.items()}}),
                ],
                namespace=self._namespace,
                output=self._output,
                environment=choose_environment(self._run_as),
                handed=tuple(handed.values()),
            )
        finally:
            for number in handed.values():
                os.close(number)

    def read(self) -> None:
        """Take in what has been logged since the last call. A line that is still being written waits for the next
        call."""
        with self._log.open("rb") as log:
            log.seek(self.log_bytes)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.log_bytes += len(whole)
        if whole:
            self._heard = time.monotonic()
            self._patience = SILENCE_S
        self.events += parse_events(whole)

    def supervise(self) -> None:
        """Take in the log. Restart a controller that has ended, or has not been heard of for SILENCE_S, once.

        Flows go on meanwhile: the switches keep their entries, and the new controller learns from them.
        """
        self.read()
        if self.lost is None and (reason := self._find_trouble()) is not None:
            # A second end is told and not mended: a controller that fails again and again must not look like one that
            # works.
            if self.restarts:
                self.lost = f"the controller {reason}, and had been restarted once already"
                return
            self.restarts.append(Restart(time.time(), reason))
            # It gets no time to end by itself: one that is frozen would take all of it, and flows wait meanwhile.
            self._children.end([self.process], deadline=0)
            wait_until(self._is_all_gone, REAP_S)
            with self._log.open("ab") as log:
                log.write(b"\n")  # it may have been ended in the middle of a line
            self._start("controller-restarted.txt")

    def _is_all_gone(self) -> bool:
        """Whether nobody of the killed controller's processes is left, who still holds its port: the first of them
        has the others killed, and is gone before they are."""
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def _find_trouble(self) -> str | None:
        if self.process.poll() is not None:
            return f"ended (status {self.process.returncode})"
        if time.monotonic() - self._heard > self._patience:
            return f"was not heard of for {self._patience:g} s"
        return None

    def find(self, event: str) -> list[Event]:
        return [entry for entry in self.events if entry["event"] == event]

    def wait_for(self, event: str, deadline: float) -> Event:
        """The first event of a kind; RunFailed when it does not come within ``deadline`` seconds."""
        limit = time.monotonic() + deadline
        while True:
            self.read()
            if events := self.find(event):
                return events[0]
            if self.process.poll() is not None:
                raise RunFailed(f"the controller ended before it was '{event}': {self._read_last_words()}")
            if time.monotonic() > limit:
                up = sum(1 for entry in self.find("switch") if entry["state"] == "up")
                raise RunFailed(f"the controller was not '{event}' within {deadline:g} s ({up} switches up)")
            # A controller is ready within half a second (k = 4): to look a hundred times a second costs little, and
            # what follows in virtual time waits for a round moment anyway (`harness.run.emulation.wait_for_moment`).
            time.sleep(0.01)

    def _read_last_words(self) -> str:
        """The last line of what it said: a user's scheduler says what it likes, and as much."""
        try:
            with self._output.open("rb") as output:
                output.seek(max(0, os.fstat(output.fileno()).st_size - _LAST_BYTES))
                text = output.read(_LAST_BYTES).decode(errors="replace").strip()
        except FileNotFoundError:
            text = ""
        return to_one_line(text.splitlines()[-1]) if text else f"status {self.process.returncode}"


def parse_events(text: bytes) -> list[Event]:
    """The events in the whole lines of a log. Lines that are not events are skipped: a controller that was ended leaves
    half a line."""
    events = []
    for line in text.split(b"\n"):
        try:
            event = json.loads(line)
            kind = convert(event, _Any).event
            convert(event, _KINDS.get(kind, _Any))
        except (ValueError, RecursionError, ValidationError):
            continue
        fields = _FIELDS.get(kind, {}).items()
        events.append(event | {name: to_one_line(event[name]) for name, of in fields if of is str})
    return events
