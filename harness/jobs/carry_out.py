"""Runs are carried out side by side, judged, stored, and tried once more where they do not count.

A run's folder is stored whole or not at all, never over another; a sweep's is one sweep's at a time.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from harness.run import NOT_VIRTUAL, OBSERVATION_FILE, Circumstances, Job, OnStage, describe_first_source, make_job
from harness.verdict import judge_files, make_failed_run
from record import run as record
from record.errors import RunFailed, UserMistake, WorkerFailed, is_full, to_one_line
from record.files import describe_full_disk, make_folder, make_partial_name, require_room
from record.run import OLDER, Run
from record.spec import RunSpec, list_options
from virtual.cache import take_lock

if TYPE_CHECKING:
    from virtual.guest import Progress

RESULT = "run.json"
LOCK = ".lock"


def make_slug(text: str) -> str:
    """A name of the user's as a folder name: letters, digits and ``.-_,`` stay, all else becomes ``_``."""
    return re.sub(r"[^A-Za-z0-9.,_-]+", "_", text).strip("_.") or "_"


def name_folder(name: str) -> str:
    """The folder of a pattern or scheme, another one for each, although `make_slug` may make users' own names alike."""
    return make_slug(name) + ("-" + hashlib.sha256(name.encode()).hexdigest()[:6] if re.search("[_/]", name) else "")


def require_writable(folder: Path, name: str = "") -> None:
    """Create the folder; UserMistake when it cannot be written to, or can hold nothing of that name."""
    try:
        make_folder(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with contextlib.suppress(FileNotFoundError):
            Path(folder, name).lstat()
    except OSError as error:
        raise UserMistake(f"results cannot be written to {folder}: {error.strerror}") from None


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other sweeps out of a folder while the block runs; UserMistake when one is at work there."""
    # Whoever can open a lock can take it and never give it back, so nobody but this user can open this one.
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if not take_lock(descriptor):
            holder = os.pread(descriptor, 200, 0).decode(errors="replace")
            by = f" ({to_one_line(holder)})" if holder else ""
            raise UserMistake(f"another sweep is at work in {folder}{by}: wait for its end, or use another --name")
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()}, since {time.strftime('%H:%M:%S')}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def read_run(folder: Path) -> Run | None:
    """The result in a run's folder, or None when there is none that can be read."""
    try:
        return record.read(folder / RESULT)
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class Planned:
    """A run to do, and its folder. A run of another key there, as of an edited scheduler, moves aside (`set_aside`)."""

    job: Job
    folder: Path

    @property
    def spec(self) -> RunSpec:
        return self.job.spec

    @property
    def attempts(self) -> tuple[Path, ...]:
        """The folders of the first and, in real time, the second try."""
        # In virtual time one seed is one result: a second try would give the first one again.
        if self.spec.time == "virtual":
            return (self.folder,)
        return self.folder, self.folder.with_name(self.folder.name + "-again")

    def outcome(self) -> Run | None:
        """The result that counts: the first valid try, else the last one; None as long as no try can be read. Where
        there can be no other try, and none can be read, it is an invalid run that says so."""
        tries = [run for folder in self.attempts if (run := read_run(folder)) is not None]
        if not tries and all(map(os.path.lexists, self.attempts)):
            names = " and ".join(str(folder / RESULT) for folder in self.attempts)
            return make_failed_run(self.spec, f"{names} cannot be read: remove one of these folders to run it again")
        return next((run for run in tries if run.valid), tries[-1] if tries else None)

    def next_folder(self) -> Path | None:
        """Where the next try goes; None when the job is done: valid, nothing to be judged by, or tried twice. What the
        machine lost was no try."""
        before = self.outcome()
        if before is not None and not before.may_be_tried_again:
            return None
        return next((folder for folder in self.attempts if not os.path.lexists(folder) or was_lost(folder)), None)

    @property
    def done(self) -> bool:
        return self.next_folder() is None

    def set_aside(self) -> str | None:
        """Give runs of other keys that lie in its folders names of their own, and those of its key that were set aside
        before their places. Returns why, a sentence; None where there was nothing to do."""
        why = None
        for folder in self.attempts:
            before = read_run(folder)
            if before is not None and before.key != self.job.key:
                folder.rename(_find_free_path(folder.with_name(f"{folder.name}.{before.key or OLDER}")))
                why = why or self._describe_difference(before)
            aside = folder.with_name(f"{folder.name}.{self.job.key}")
            if not os.path.lexists(folder) and os.path.lexists(aside):
                aside.rename(folder)
        return why

    def _describe_difference(self, other: Run) -> str:
        here = self.job.inputs
        edited = [name for name in here if other.key and other.inputs.get(name) != here[name]]
        if edited:
            return f"{', '.join(edited)} changed since"
        if other.emulated_by != self.job.emulator:
            return f"made by another emulator ({other.emulated_by}; now {self.job.emulator})"
        return "asked for with other options"


def was_lost(folder: Path) -> bool:
    before = read_run(folder)
    return before is not None and before.lost


def _find_free_path(folder: Path) -> Path:
    """A path like this one, with a number behind it where something has that name already."""
    names = (folder, *(folder.with_name(f"{folder.name}.{n}") for n in range(2, 1000)))
    return next(path for path in names if not os.path.lexists(path))


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder that becomes ``folder``, in place of a lost run, when the block ends without an exception, and is gone
    otherwise.

    RunFailed when ``folder`` is taken, and when the disk is full: what tools could not write would not be missed.
    """
    if os.path.lexists(folder) and not was_lost(folder):
        raise RunFailed(f"{folder} is already there, and results are never overwritten")
    partial = folder.with_name(make_partial_name(folder))
    try:
        make_folder(partial)
        require_room(partial)
        yield partial
        require_room(partial)
        # A rename happens or does not: whoever looks, and whatever is killed, there is a whole run or none.
        if was_lost(folder):
            shutil.rmtree(folder)
        os.rename(partial, folder)
    except OSError as error:
        if is_full(error):
            raise describe_full_disk(folder.parent) from None
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise RunFailed(f"{folder} is already there, and results are never overwritten") from None
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


# --- the loop ---------------------------------------------------------------------------------------------------------

# A person sees the line move; a run takes seconds, so that nothing waits for the next look.
LOOK_EVERY_S = 0.5
"""How often what is under way is looked at."""
UnderWay = Mapping[Planned, tuple[str, "Progress | None"]]
"""The runs that are under way: the stage of each, and how far its guest is."""


class Carrier(Protocol):
    """Who carries jobs out: guests, the root child, a cluster."""

    @property
    def at_once(self) -> int:
        """How many side by side."""

    def prepared_for(self, jobs: Iterable[Job]) -> AbstractContextManager[None]:
        """While the block runs, these jobs are carried out; what they have in common may be made once."""

    def carry(self, job: Job, place: Path, on_stage: OnStage) -> Circumstances:
        """Put a run's files into the folder ``place``; ``on_stage`` may raise, which ends the run."""


def describe_stage(stage: str, progress: Progress | None) -> str:
    """A stage in words, and how far its guest is: by its clock, and by ours."""
    if progress is None:
        return stage
    return f"{stage}, {progress.simulated_s:.0f} s of virtual time in {progress.real_s:.0f} s"


def run_job(job: Job, folder: Path, carrier: Carrier, on_stage: OnStage = lambda stage, progress: None) -> Run:
    """Carry out one run, judge what was seen of it, and store it in ``folder``.

    What a guest or a worker loses is stored as a lost run, with the reason. Raises UnfitMachine before anything is
    built, RunFailed when ``folder`` is taken or a disk full, and what ``on_stage`` raises.
    """
    with new_folder(folder) as place:
        try:
            circumstances = carrier.carry(job, place, on_stage)
            on_stage("judging", None)
            result = _judge(job, place, circumstances)
            # The controller is read from the disk when the run begins. Code that was edited since this command began
            # would make runs that look like the others and are not.
            if result.environment.get("source") != describe_first_source().fingerprint:
                raise WorkerFailed("what came was made with other code: it has changed since this command began")
        except WorkerFailed as reason:
            # What came of a lost run must not be taken for the files of a run.
            for path in place.iterdir():
                path.unlink()
            environment = {"source": describe_first_source().fingerprint, "time": job.spec.time}
            result = replace(make_failed_run(job.spec, str(reason)), verdict=record.LOST, environment=environment)
        result = replace(result, key=job.key, inputs=job.inputs, emulator=job.emulator)
        try:
            return record.write(place / RESULT, result)
        except ValueError as error:
            failed = make_failed_run(job.spec, *result.reasons, f"its result is not what it should be: {error}")
            still_true = ("key", "inputs", "emulator", "started", "timing", "environment")
            facts = {name: getattr(result, name) for name in still_true}
            return record.write(place / RESULT, replace(failed, **facts))


def _judge(job: Job, place: Path, circumstances: Circumstances) -> Run:
    """The result of a run whose files are in ``place``. WorkerFailed where these do not tell of a run."""
    try:
        with job.files_in_place():
            result = judge_files(job.spec, place)
    except ValueError as error:
        raise WorkerFailed(str(error)) from None
    environment = {**result.environment, **circumstances.environment}
    result = replace(result, started=circumstances.started or result.started, environment=environment)
    if circumstances.doubt is not None:
        result = replace(result, verdict="invalid", reasons=(circumstances.doubt, *result.reasons))
    return result


def judge_again(path: Path) -> tuple[Run, Run]:
    """The run of a run.json as it is stored, and as it is judged today by the raw files beside it; where these differ,
    the file is written anew. ValueError or RunFailed, one sentence, where it, its raw files or the user's files that it
    was made of cannot be read or have changed: it is left as it is."""
    stored = record.read(path)
    if not (path.parent / OBSERVATION_FILE).exists():
        raise RunFailed(f"has no {OBSERVATION_FILE}, which tells what was seen of it")
    options = {name: value for name, value in stored.settings.items() if name in list_options(RunSpec)}
    job = make_job(RunSpec(stored.scheme, stored.traffic, seed=stored.seed, trial=stored.trial, **options))
    if edited := [name for name in {**job.inputs, **stored.inputs} if job.inputs.get(name) != stored.inputs.get(name)]:
        raise RunFailed(f"was made of other files: {', '.join(edited)} changed since")
    doubt = NOT_VIRTUAL if NOT_VIRTUAL in stored.reasons else None
    run = _judge(job, path.parent, Circumstances(stored.started, dict(stored.environment), doubt))
    run = replace(run, key=stored.key, inputs=stored.inputs, emulator=stored.emulator)
    read_again = record.decode(record.encode(run))
    return stored, read_again if read_again == stored else record.write(path, run)


def carry_out_all(
    jobs: Iterable[Planned], carrier: Carrier, done: Callable[[Planned, Run], None], look: Callable[[UnderWay], None]
) -> None:
    """Carry out what is left of the jobs. Ctrl-C ends those under way; what is finished has been stored.

    ``done`` hears of each run that has been stored, ``look`` twice a second of what is under way; both in this
    thread. Raises what `run_job` raises, when all others under way have ended.
    """
    stop = Event()
    under_way: dict[Planned, tuple[str, Progress | None]] = {}

    def try_once(planned: Planned) -> Run | None:
        folder = planned.next_folder()

        def note_stage(stage: str, progress: Progress | None) -> None:
            if stop.is_set():
                raise CancelledError
            if stage:
                under_way[planned] = (stage, progress)

        try:
            return None if folder is None or stop.is_set() else run_job(planned.job, folder, carrier, note_stage)
        finally:
            under_way.pop(planned, None)

    jobs = list(jobs)
    # A thread is enough for each run: it waits for a guest, for root or for a worker, and computes nothing until it
    # judges.
    with carrier.prepared_for(planned.job for planned in jobs), ThreadPoolExecutor(carrier.at_once) as pool:
        waiting: dict[Future[Run | None], Planned] = {}
        try:
            waiting |= {pool.submit(try_once, planned): planned for planned in jobs}
            while waiting:
                for future in wait(waiting, LOOK_EVERY_S, FIRST_COMPLETED).done:
                    planned = waiting.pop(future)
                    if (result := future.result()) is None:
                        continue
                    done(planned, result)
                    if not result.lost and not planned.done:
                        waiting[pool.submit(try_once, planned)] = planned
                look(dict(under_way))
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
