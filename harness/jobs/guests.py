"""Jobs in virtual time: each in a guest of its own (`virtual.guest`), as many at once as there are processors; or on
the workers of a Dask cluster (`record.tasks.cluster`), which do the same.

An ordinary user's rights are enough: in the guest the run is root's, and the guest is a process of that user. What
comes out of it is copied within bounds, and judged out here (`harness.jobs.carry_out`).
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from harness.jobs.guest_files import POX, World, copy_code, make_world
from harness.network import machine
from harness.run import NOT_VIRTUAL, Circumstances, Job, OnStage, decode_job, describe_first_source, files_lock
from record.errors import RunFailed, UnfitMachine, UserMistake, WorkerFailed
from record.files import require_room
from record.run import Fact
from record.tasks import errors_of_workers, require_fit, submit
from virtual import cache, limits
from virtual.apt import make_layer
from virtual.guest import Guest, Original
from virtual.kernel import Kernel, find_kernel
from virtual.limits import Needs
from virtual.results import copy_results, read_small

ENVIRONMENT = {"TMPDIR": "/run", "TZ": "UTC", "NUMBA_CACHE_DIR": "/run/compiled"}
# Thirty-one were measured at 1 Gb/s with k = 4.
SLOWEST = 400.0
"""A guest that takes more real seconds than this for one second of its own clock is taken to hang."""


@dataclass(frozen=True)
class GuestImage:
    """What all guests have: kernel, ``layers`` over this machine's files, `machine.load_known_facts`, and what they
    see."""

    kernel: Kernel
    layers: tuple[Path, ...]
    facts: str
    world: World


def prepare(say: Callable[[str], None], job: Job | None = None) -> GuestImage:
    """What guests need, made now where it is missing; before it, the limits that the guest of ``job`` takes are
    checked. UnfitMachine says what to install or raise."""
    # What this machine cannot hold is said before minutes are spent on fetching and compiling.
    if job is not None:
        limits.require(job.needs)
    kernel = find_kernel(say)
    versions = {tool.name: version for tool in machine.TOOLS if (version := machine.find_version(tool))}
    missing = [tool.package for tool in machine.TOOLS if tool.name not in versions]
    over = make_layer(list(dict.fromkeys(missing))) if missing else None
    code = copy_code(say)
    if kernel.slow is not None:
        say(kernel.slow)
    facts = json.dumps({"tools": versions, "revision": describe_first_source().revision})
    return GuestImage(kernel, (over,) if over else (), facts, make_world(code))


# --- copies of one guest ----------------------------------------------------------------------------------------------

# Several runs of a sweep may have the same network. For these one guest is booted, which waits with the network, and
# each run gets a copy of it: to boot and to build takes two processor seconds and more at k = 4, a copy 0.1 to 0.2. A
# run in a copy is, byte for byte, the run in a guest of its own.

# Guests that run need memory, too. A waiting guest is counted with half of the memory that it may take, because that is
# twice what was measured (`harness.run.job.Job.needs`).
MEMORY_SHARE = 4
"""All waiting guests together take this part of the machine's memory at most."""
_Key = tuple[bytes, limits.Needs]


class Originals:
    """The waiting guests of the jobs of `prepared_for`. One is booted for the first of its jobs, and ended after the
    last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._left = Counter[_Key]()
        self._booted: dict[_Key, Future[Original | None]] = {}
        self._most = 0

    @contextlib.contextmanager
    def prepared_for(self, jobs: Iterable[Job]) -> Iterator[None]:
        """While the block runs, these jobs are carried out."""
        self._left = Counter(map(_make_key, jobs))
        used_mib = max((needs.memory_mib // 2 for _, needs in self._left), default=1)
        self._most = limits.measure_memory_mib() // MEMORY_SHARE // used_mib
        try:
            yield
        finally:
            self._left.clear()
            while self._booted:
                _end(self._booted.popitem()[1])

    @contextlib.contextmanager
    def of(self, job: Job, boot: Callable[[], Original]) -> Iterator[Original | None]:
        """The waiting guest of a job, while the block runs. It is booted now if the job is the first of several with
        this network. None: the job has a guest of its own."""
        key, booting = _make_key(job), None
        with self._lock:
            if key not in self._booted and self._left[key] > 1 and len(self._booted) < self._most:
                booting = self._booted[key] = Future()
            future = self._booted.get(key)
        if booting is not None:
            original = None
            try:
                with contextlib.suppress(UnfitMachine, WorkerFailed):  # the run's own guest tells why
                    original = boot()
            finally:
                booting.set_result(original)
        original = None if future is None else future.result()
        try:
            yield original if original is not None and original.ready else None
        finally:
            with self._lock:
                self._left[key] -= 1
                last = self._booted.pop(key, None) if self._left[key] == 0 else None
            if last is not None:
                _end(last)


def _make_key(job: Job) -> _Key:
    return job.network_only_job.encoded(), job.needs


def _end(future: Future[Original | None]) -> None:
    original = future.result()
    if original is not None:
        original.close()


# --- one guest for each run -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guests:
    """Carries jobs out in guests, ``at_once`` of them side by side."""

    image: GuestImage
    at_once: int
    originals: Originals = field(default_factory=Originals)

    def prepared_for(self, jobs: Iterable[Job]) -> contextlib.AbstractContextManager[None]:
        """While the block runs, which carries out these jobs, runs on one network are copies of one guest."""
        return self.originals.prepared_for(jobs if self.image.kernel.copies else ())

    def carry(self, job: Job, place: Path, on_stage: OnStage) -> Circumstances:
        """Put a run's files into the folder ``place``. WorkerFailed where the guest fails, UnfitMachine where none
        can be booted, and what ``on_stage`` raises."""
        image = self.image
        require_room(cache.make_folder("jobs"))
        guest_folders, command = image.world.of_run(job.spec), image.world.command(job.spec)
        # This is what all guests of one network have in common. It boots as the original of copies, or, with the run's
        # own job besides, as the guest of a run that has no original.
        first = Guest(
            image.kernel.linux,
            command,
            folder=Path("/run"),
            world=guest_folders,
            python=image.world.python,
            files={"network.json": job.network_only_job.encoded()},
            environment=ENVIRONMENT | {machine.FACTS: image.facts} | ({"POX_DIR": POX} if POX in guest_folders else {}),
            layers=image.layers,
            processes=job.needs.processes,
            memory_mib=job.needs.memory_mib,
            real_s=SLOWEST * job.longest_s,
            seed=job.spec.seed,
        )

        def boot() -> Original:
            # The waiting guest makes its copies itself, and nobody asks for limits then. So what all of them take is
            # asked for here: the processes of as many copies as run at once, and of two guests that wait. The second is
            # that of the network before, which is ended outside of the lock (`Originals.of`), while this one boots. No
            # measurement of that number is kept.
            limits.require(Needs((2 + self.at_once) * job.needs.processes, job.needs.memory_mib))
            return Original(first, lambda progress: on_stage("building", progress))

        try:
            with contextlib.ExitStack() as stack:
                original = stack.enter_context(self.originals.of(job, boot))
                files = {**first.files, "job.json": job.encoded()}
                guest = stack.enter_context(replace(first, files=files, original=original))
                # In a guest all runs begin at the same moment of 2026, so when this one was made is told out here.
                began = datetime.now(timezone.utc).replace(microsecond=0)
                stages = guest.job / "out" / "stdout"
                exited = guest.wait(lambda progress: on_stage(_read_stage(stages), progress))
                if exited.status:
                    words = exited.stderr.strip().splitlines()
                    raise WorkerFailed(words[-1].removeprefix("hedera: ") if words else f"status {exited.status}")
                copy_results(guest.results / "run", place)
        except WorkerFailed as reason:
            # A guest fails as well where the disk is full. That is no result of the run: it is said instead.
            require_room(cache.make_folder("jobs"))
            raise WorkerFailed(f"the guest's run is lost: {reason}") from None
        facts: dict[str, Fact] = {
            "time": "virtual",
            "host_processor": machine.read_processor_model(),
            "guest_kernel": exited.kernel,
            "guest_kernel_sha256": image.kernel.sha256,
            "guest_mode": exited.mode,
            "guest_real_s": round(exited.real_s, 1),
            "guest_simulated_s": round(exited.simulated_s, 1),
        }
        return Circumstances(began, facts, None if exited.time_travel else NOT_VIRTUAL)


def _read_stage(stages: Path) -> str:
    with contextlib.suppress(OSError):
        if lines := read_small(stages, 1 << 16).splitlines():
            return lines[-1]
    return "starting"


# --- on a cluster -----------------------------------------------------------------------------------------------------

MAX_SENT_BYTES = 1 << 30
"""A worker's files of a run are not larger."""


@dataclass(frozen=True)
class Workers:
    """Carries jobs out on a cluster, one for each thread of its workers."""

    executor: Executor
    at_once: int

    def prepared_for(self, jobs: Iterable[Job]) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def carry(self, job: Job, place: Path, on_stage: OnStage) -> Circumstances:
        """Put a run's files into the folder ``place``; a lost worker's job goes to another one. What the run raises
        is raised at once, with what `record.tasks.errors_of_workers` says."""
        future = submit(self.executor, run_on_worker, job.encoded(), describe_first_source().fingerprint)
        try:
            on_stage("on a worker", None)
            # Ctrl-C and the other runs' errors come in by ``on_stage``, so it is called while the worker is at it.
            while not wait([future], timeout=0.5).done:
                on_stage("on a worker", None)
            with errors_of_workers(run_on_worker):
                circumstances, files = future.result()
        except BaseException:
            future.cancel()
            raise
        if any(name != Path(name).name for name in files) or sum(map(len, files.values())) > MAX_SENT_BYTES:
            raise RunFailed("what the worker sent is no run")
        for name, content in files.items():
            (place / name).write_bytes(content)
        return circumstances


def run_on_worker(data: bytes, fingerprint: str) -> tuple[Circumstances, dict[str, bytes]]:
    require_fit(describe_first_source().fingerprint == fingerprint)
    with files_lock:  # the worker may have threads, each with a job
        job = decode_job(data)
    if job.spec.time != "virtual":
        raise UserMistake("a cluster makes runs in virtual time")
    with TemporaryDirectory(prefix="hedera-worker-") as place:
        guests = Guests(prepare(lambda sentence: None), 1)
        circumstances = guests.carry(job, Path(place), lambda stage, progress: None)
        return circumstances, {path.name: path.read_bytes() for path in Path(place).iterdir()}
