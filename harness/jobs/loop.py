"""The one loop: jobs are carried out side by side, checked, published, and tried once more where they do not count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Protocol

import msgspec

from harness.errors import WorkerFailed
from harness.jobs.job import Hear, Job
from harness.jobs.store import RESULT, Planned, new_folder
from harness.run.source import first_source
from harness.run.spec import RunSpec
from record import run as record
from record.files import make_folder
from record.run import Run

if TYPE_CHECKING:
    from virtual.guest import Progress

LOOK_EVERY_S = 0.5
Doing = Mapping[Planned, tuple[str, "Progress | None"]]
"""At which stage each run is that is under way, and how far its guest is."""


class Where(Protocol):
    """Who carries jobs out: guests, the root child, a cluster."""

    @property
    def at_once(self) -> int:
        """How many side by side."""

    def carry(self, job: Job, place: Path, hear: Hear) -> None:
        """Put a job's results into the folder ``place``; ``hear`` may raise, which ends the run."""


def stage_words(stage: str, progress: Progress | None) -> str:
    """A stage in words, and how far its guest is: by its clock, and by ours."""
    if progress is None:
        return stage
    return f"{stage}, {progress.simulated_s:.0f} s of virtual time in {progress.real_s:.0f} s"


class Stopped(Exception):
    """Nobody waits for this run any more."""


def run(job: Job, folder: Path, where: Where, hear: Hear = lambda stage, progress: None) -> Run:
    """Carry out one run and publish it in ``folder``.

    What a guest or a worker loses is published as a lost run, with the reason. Raises UnfitMachine before anything is
    built, RunFailed when ``folder`` is taken or a disk full, and what ``hear`` raises.
    """
    make_folder(folder.parent)
    with new_folder(folder) as place:
        try:
            where.carry(job, place, hear)
            found = _checked(place, job.spec)
        except WorkerFailed as reason:
            from harness.verdict.result import failed_run

            for path in place.iterdir():
                path.unlink()
            made = {"source": first_source().fingerprint, "time": job.spec.time}
            found = msgspec.structs.replace(failed_run(job.spec, str(reason)), verdict=record.LOST, environment=made)
        known = {"key": job.key, "inputs": job.inputs, "emulator": job.emulator}
        return record.write(place / RESULT, msgspec.structs.replace(found, **known))


def carry_out(
    jobs: Iterable[Planned], where: Where, done: Callable[[Planned, Run], None], look: Callable[[Doing], None]
) -> None:
    """Carry out what is left of the jobs. Ctrl-C ends those under way; what is finished has been published.

    ``done`` hears of each run that has been published, ``look`` twice a second of what is under way; both in this
    thread. Raises what `run` raises, when all others under way have ended.
    """
    stop = Event()
    doing: dict[Planned, tuple[str, Progress | None]] = {}

    def attempt(planned: Planned) -> Run | None:
        folder = planned.next_folder()

        def hear(stage: str, progress: Progress | None) -> None:
            if stop.is_set():
                raise Stopped
            if stage:
                doing[planned] = (stage, progress)

        try:
            return None if folder is None or stop.is_set() else run(planned.job, folder, where, hear)
        finally:
            doing.pop(planned, None)

    with ThreadPoolExecutor(where.at_once) as pool:
        waiting: dict[Future[Run | None], Planned] = {}
        try:
            waiting |= {pool.submit(attempt, planned): planned for planned in jobs}
            while waiting:
                for future in wait(waiting, LOOK_EVERY_S, FIRST_COMPLETED).done:
                    planned = waiting.pop(future)
                    if (result := future.result()) is None:
                        continue
                    done(planned, result)
                    if not result.lost and not planned.done:
                        waiting[pool.submit(attempt, planned)] = planned
                look(dict(doing))
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _checked(place: Path, spec: RunSpec) -> Run:
    """The result in a folder. WorkerFailed unless it is of the run that was asked for, made with our code."""
    from harness.verdict.result import unmeasured

    try:
        found = record.read(place / RESULT)
    except ValueError as error:
        raise WorkerFailed(f"its run.json {error}") from None
    asked = unmeasured(spec)
    names = ("scheme", "traffic", "trial", "seed", "spec", "matrix")
    if different := [name for name in names if getattr(found, name) != getattr(asked, name)]:
        raise WorkerFailed(f"what came is not the run that was asked for (another {', '.join(different)})")
    if found.environment.get("source") != first_source().fingerprint:
        raise WorkerFailed("what came was made with other code: it has changed since this command began")
    return found
