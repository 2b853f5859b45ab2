"""Jobs on a Dask cluster (`record.tasks.cluster`): each worker carries them out in guests, in virtual time."""

from __future__ import annotations

import os
from concurrent.futures import Executor, wait
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import extract_tb

from harness.jobs.guests import Guests, prepare
from harness.jobs.job import Circumstances, Hear, Job, decoded
from harness.jobs.job import _given as files_lock
from harness.run.source import first_source
from record.errors import RunFailed, UnfitMachine, UserMistake

MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Workers:
    """Carries jobs out on a cluster, one for each thread of its workers."""

    executor: Executor
    at_once: int

    def carry(self, job: Job, place: Path, hear: Hear) -> Circumstances:
        """Put a run's files into the folder ``place``; a lost worker's job goes to another one."""
        future = self.executor.submit(on_worker, job.encoded(), first_source().fingerprint)
        try:
            hear("on a worker", None)
            while not wait([future], timeout=0.5).done:
                hear("on a worker", None)
            circumstances, files = future.result()
        except BaseException as error:
            future.cancel()
            if type(error).__name__ == "KilledWorker":
                raise RunFailed("workers were lost with this run, again and again") from None
            # The function or its arguments are not there in another version.
            begun = any(frame.name == "on_worker" for frame in extract_tb(error.__traceback__))
            if isinstance(error, (AttributeError, ImportError, TypeError)) and not begun:
                raise UnfitMachine(f"a worker has other code ({error}): check the same one out there") from None
            raise
        if any(name != Path(name).name for name in files) or sum(map(len, files.values())) > MAX_BYTES:
            raise RunFailed("what the worker sent is no run")
        for name, content in files.items():
            (place / name).write_bytes(content)
        return circumstances


def on_worker(data: bytes, fingerprint: str) -> tuple[Circumstances, dict[str, bytes]]:
    if os.geteuid() == 0:
        raise UnfitMachine("a worker runs as root: start dask worker as an ordinary user")
    if (ours := first_source()).fingerprint != fingerprint:
        raise UnfitMachine(f"a worker has other code (revision {ours.revision}): check the same one out there")
    with files_lock:  # the worker may have threads, each with a job
        job = decoded(data)
    if job.spec.time != "virtual":
        raise UserMistake("a cluster makes runs in virtual time")
    with TemporaryDirectory(prefix="hedera-worker-") as place:
        guests = Guests(prepare(lambda sentence: None), 1)
        circumstances = guests.carry(job, Path(place), lambda stage, progress: None)
        return circumstances, {path.name: path.read_bytes() for path in Path(place).iterdir()}
