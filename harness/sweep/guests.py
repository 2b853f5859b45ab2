"""Runs in virtual time: each in a guest of its own (`virtual.guest`), as many at once as there are processors.

An ordinary user's rights are enough: in the guest the run is root's, and the guest is a process of that user. What
comes out of it is not believed before it was looked at, as with a cluster's worker.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import py_compile
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from files.rights import NOBODY, invoker, user
from harness.errors import UnfitMachine, WorkerFailed
from harness.network import machine
from harness.run.controller import CODE
from harness.run.experiment import SLOWEST, failed_run, longest_s
from harness.run.spec import RunSpec
from harness.sweep import enclosed, remote
from harness.sweep.member import require_same
from harness.sweep.plan import Job
from harness.sweep.source import ROOT, Source, first_source, parts
from harness.sweep.store import RESULT, new_run, require_room
from results import record
from results.record import Run
from results.temporary import temporary_folder
from virtual import cache
from virtual import kernel as kernels
from virtual.errors import GuestFailed, Unavailable
from virtual.guest import FILES, RESULTS, Ended, Guest, Progress
from virtual.layer import layer
from virtual.results import copy_results, read_small

JOB = Path(__file__).with_name("job.sh")
COMPILED, CONTROLLER_S = "/run/compiled", CODE
"""Where a guest has the machine code that earlier ones compiled: root's, and the controller's own."""
MOST_COMPILED = 1000
"""Pieces of it that are kept: some 80 for one state of the sources."""
NAME = "guest"
"""What a run made in one says of its worker, so that it is told from runs of this machine."""

Hear = Callable[[str, Progress], None]
"""Hears the stage a run is at, and how far its guest is, some ten times a second."""
Beside = Callable[[Path], contextlib.AbstractContextManager[Any]]
"""What goes on outside while a guest lives, told the folder that its results come to."""


def clocks(progress: Progress) -> str:
    """How far a guest is, in words: by its clock, and by ours."""
    return f"{progress.simulated_s:.0f} s of virtual time in {progress.real_s:.0f} s"


class Stopped(Exception):
    """Nobody waits for this run any more."""


@dataclass(frozen=True)
class Ground:
    """What every guest stands on: the kernel, what is laid over this machine's files, our code, what it is told so
    that it need not look (`machine.told`), and the machine code that earlier guests have compiled."""

    kernel: kernels.Kernel
    layers: tuple[Path, ...]
    code: Source
    told: str
    compiled: Path


def prepare(say: Callable[[str], None]) -> Ground:
    """What guests need, made now where it is not there yet. UnfitMachine, with what to install, where that fails."""
    try:
        kernel = kernels.kernel(lambda sentence: say(f"{sentence} ..."))
        missing = [tool.package for tool in machine.TOOLS if machine.version_of(tool) is None]
        over = layer(list(dict.fromkeys(missing))) if missing else None
        compiled = cache.folder("compiled")
    except Unavailable as reason:
        raise UnfitMachine(f"virtual time: {reason}") from None
    if kernel.slow is not None:
        say(kernel.slow)
    code, files = first_source(), parts(ROOT)
    _compile(files)
    told = {
        "tools": {tool.name: version for tool in machine.TOOLS if (version := machine.version_of(tool))},
        "revision": code.revision,
        "parts": [str(path.relative_to(ROOT)) for path in files],
    }
    return Ground(kernel, (over,) if over else (), code, json.dumps(told), compiled)


def _compile(files: Sequence[Path]) -> None:
    """Python's own compiling, of modules that nobody may have imported here yet, and that a guest would compile
    every time: what it writes beside them ends with it."""
    for path in files:
        if path.suffix == ".py" and not sys.dont_write_bytecode:
            with contextlib.suppress(OSError, py_compile.PyCompileError):
                written = Path(importlib.util.cache_from_source(str(path)))
                if not written.exists() or written.stat().st_mtime < path.stat().st_mtime:
                    py_compile.compile(str(path), doraise=True)


def run_in_guest(
    spec: RunSpec,
    folder: Path,
    ground: Ground,
    hear: Hear,
    worker: str | None = None,
    beside: Beside = contextlib.nullcontext,
) -> Run:
    """Carry out one run, resolved but for its traffic, in a guest, and publish it in ``folder``.

    ``worker``: the name of this machine among those of a cluster, for the result. ``beside``: entered while the guest
    is there, with the folder that its results come to.

    A guest that fails is published as an invalid run, with the reason. Raises RunFailed when ``folder`` is taken or
    a disk full, UnfitMachine where no guest can be booted, and what ``hear`` raises.
    """
    spec = spec.for_its_traffic()
    with temporary_folder("guest") as place:
        raw = place / "run"
        with new_run(folder, raw):
            try:
                require_room(cache.folder("jobs"))
                run = _from_guest(spec, raw, ground, hear, worker, beside)
            except Unavailable as reason:
                raise UnfitMachine(f"virtual time: {reason}") from None
            except (GuestFailed, WorkerFailed) as reason:
                require_room(cache.folder("jobs"))  # a full disk is no result
                for path in raw.iterdir():
                    path.unlink()
                run = failed_run(spec, f"the guest's run is lost: {reason}")
                made = {"source": ground.code.fingerprint, "time": "virtual"}
                run = msgspec.structs.replace(run, environment=made | _made_by(worker))
            return record.write(raw / RESULT, run)


def _made_by(worker: str | None) -> dict[str, str]:
    return {"worker": worker} if worker else {}


def _from_guest(spec: RunSpec, raw: Path, ground: Ground, hear: Hear, worker: str | None, beside: Beside) -> Run:
    asked = remote.request("run", spec, NAME)
    contents = asked.pop("contents")
    places = enclosed.places_of(contents)
    asked["at"] = {name: f"{FILES}/{place}" for name, place in places.items()}
    guest_of_run = Guest(
        ground.kernel.linux,
        _command(asked, ground.compiled),
        folder=Path("/"),  # the user may stand in /tmp
        files={places[name]: content for name, content in contents.items()},
        environment=_environment() | {machine.TOLD: ground.told},
        layers=ground.layers,
        real_s=SLOWEST * longest_s(spec),
        seed=spec.seed,
    )
    with guest_of_run as guest, beside(guest.results):
        began = datetime.now(timezone.utc).replace(microsecond=0)  # in there all runs begin with the same year
        said = guest.results.parent / "stdout"
        ended = guest.wait(lambda progress: hear(_stage(said), progress))
        if ended.status:
            words = (ended.stderr.strip().splitlines() or [f"it ended with status {ended.status}"])[-1]
            raise GuestFailed(words.removeprefix("hedera: "))
        copy_results(guest.results / "run", raw)
        _keep(guest, ground.compiled)
    try:
        run = record.read(raw / RESULT)
    except ValueError as error:
        raise GuestFailed(f"its run.json {error}") from None
    require_same(run, spec, NAME, ground.code)
    return _with_facts(msgspec.structs.replace(run, started=began), ended, worker, ground.kernel.sha256)


def _keep(guest: Guest, compiled: Path) -> None:
    """Machine code that a guest has compiled, for the next guests alone: here nobody loads it."""
    place = guest.job / "compiled"
    with contextlib.suppress(OSError, GuestFailed):
        place.mkdir()
        copy_results(guest.results / "compiled", place)
        for path in place.iterdir():
            path.replace(compiled / path.name)
        for old in sorted(compiled.iterdir(), key=lambda path: path.stat().st_mtime)[:-MOST_COMPILED]:
            old.unlink()


def _command(asked: Mapping[str, Any], compiled: Path) -> list[str]:
    """The command of a run's guest: `job.sh`, and what it is told."""
    hedera = Path(sys.executable).with_name("hedera")
    owner = (invoker() or NOBODY).uid
    places = [RESULTS, str(compiled), COMPILED, CONTROLLER_S]
    return ["sh", str(JOB), json.dumps(asked), sys.executable, str(hedera), *places, str(owner)]


def _environment() -> dict[str, str]:
    """In there root is who we are, and whom root hands files and programs to is us as well."""
    who = invoker() or user(os.geteuid())
    kept = {name: os.environ[name] for name in ("POX_DIR", "PYTHONDONTWRITEBYTECODE") if name in os.environ}
    # Mininet wants Python's distutils, and setuptools would give its own, with itself; Python 3.12 has no other.
    lean = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} if sys.version_info < (3, 12) else {}
    sudo = {"SUDO_UID": str(who.uid), "SUDO_GID": str(who.gid)} if who.uid else {}
    return {**kept, **lean, "HOME": who.home, "NUMBA_CACHE_DIR": COMPILED, **sudo}


def _stage(said: Path) -> str:
    """The last stage that the run has told; what it says besides, at its end, is none."""
    with contextlib.suppress(OSError):
        for line in reversed(read_small(said, 1 << 16).splitlines()):
            with contextlib.suppress(ValueError, LookupError, TypeError):
                return str(json.loads(line)["stage"])
    return "starting"


def _with_facts(run: Run, ended: Ended, worker: str | None, sha256: str) -> Run:
    """With what only we know: which kernel it was, and whether its time was virtual at all."""
    facts = {
        **_made_by(worker),
        "time": "virtual",
        "guest_kernel": ended.kernel,
        "guest_kernel_sha256": sha256,
        "guest_mode": ended.mode,
        "guest_real_s": round(ended.real_s, 1),
        "guest_simulated_s": round(ended.simulated_s, 1),
    }
    environment = {name: value for name, value in run.environment.items() if name != "worker"} | facts
    if ended.time_travel:
        return msgspec.structs.replace(run, environment=environment)
    reason = "its time was not virtual: the guest's clock ran with this machine's"
    return msgspec.structs.replace(run, environment=environment, verdict="invalid", reasons=(reason, *run.reasons))


class Watcher:
    """Who hears of runs in guests. Called in the thread that carries them out."""

    def done(self, job: Job, run: Run) -> None:
        """A run has been published."""

    def look(self, doing: Sequence[tuple[Job, str, Progress]]) -> None:
        """Some times a second: what each guest is at."""


def carry_out(jobs: Sequence[Job], ground: Ground, at_once: int, watcher: Watcher) -> None:
    """Make what is left of the jobs, each in a guest, ``at_once`` at a time. Ctrl-C ends all guests.

    Raises RunFailed when a run cannot be kept.
    """
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    done: queue.SimpleQueue[tuple[Job, Run] | BaseException | None] = queue.SimpleQueue()
    doing: dict[int, tuple[Job, str, Progress]] = {}
    stop = threading.Event()

    def work(number: int) -> None:
        try:
            while not stop.is_set():
                try:
                    job = waiting.get_nowait()
                except queue.Empty:
                    break
                if (folder := job.next_folder()) is None:
                    continue

                def hear(stage: str, progress: Progress, job: Job = job) -> None:
                    if stop.is_set():
                        raise Stopped
                    doing[number] = (job, stage, progress)

                run = run_in_guest(job.spec, folder, ground, hear)
                doing.pop(number, None)
                done.put((job, run))
            done.put(None)
        except Stopped:
            done.put(None)
        except BaseException as error:  # noqa: BLE001, it is raised where Ctrl-C is
            done.put(error)

    # A guest dies with the thread that started it, and each thread has one at a time.
    threads = [threading.Thread(target=work, args=(number,)) for number in range(at_once)]
    for thread in threads:
        thread.start()
    try:
        left = len(threads)
        while left:
            try:
                ended = done.get(timeout=0.5)
            except queue.Empty:
                watcher.look(list(doing.values()))
                continue
            if ended is None:
                left -= 1
            elif isinstance(ended, BaseException):
                raise ended
            else:
                watcher.done(*ended)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def guests_at_once(asked: int | None) -> int:
    """How many guests run side by side: each is one processor's."""
    return asked or machine.processors()
