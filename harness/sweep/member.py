"""One worker of a fleet: what it said of itself, what it is at, and how far it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from harness.errors import WorkerFailed
from harness.run.spec import RunSpec
from harness.sweep.asked import Asked
from harness.sweep.plan import Job
from harness.sweep.source import Source
from results.live import Now, Worker
from results.parts import Sentence
from results.record import SCHEMA, Run


class Told(msgspec.Struct, frozen=True):
    """What a worker says of itself (`harness.sweep.remote.introduce`)."""

    schema: int
    host: Sentence
    revision: Sentence
    fingerprint: str
    root: bool
    missing: tuple[Sentence, ...]
    kernel_datapath: bool
    pox: bool
    machine: Sentence


@dataclass
class Member:
    """A worker, and what it is at. ``told``: what it said of itself, when it can make runs; ``unfit``: why it gets
    none (any more)."""

    address: str
    name: str
    told: Told | None = None
    unfit: str | None = None
    asked: Asked | None = None
    group: list[Job] = field(default_factory=list)
    folder: Path | None = None
    now: Now | None = None

    @property
    def fit(self) -> bool:
        """Whether it has introduced itself, and gets runs."""
        return self.told is not None and self.unfit is None

    def as_live(self) -> Worker:
        """For whoever watches."""
        doing = self.unfit or (f"{self.now.pattern} {self.now.scheme}: {self.now.stage}" if self.now else "idle")
        where = f"{self.told.host}: {self.told.machine}" if self.told else "not introduced"
        return Worker(name=self.name, machine=where, doing=doing, used=self.unfit is None)


class Watcher:
    """Who hears how a sweep on a cluster goes; each of these does nothing here."""

    def done(self, job: Job, run: Run) -> None:
        """A run has been published."""

    def warn(self, sentence: str) -> None:
        """Something the user has to know."""

    def look(self, members: Sequence[Member]) -> None:
        """Twice a second: all workers, lost ones left out."""


def introduced(said: object, code: Source) -> Told:
    """What a worker said of itself, if it has our code. WorkerFailed with why it gets no runs, and what to do."""
    try:
        told = msgspec.convert(said, Told)
    except msgspec.ValidationError:
        told = None
    if told is None or told.schema != SCHEMA:
        raise WorkerFailed("it has another revision of this project: install the same one")
    if told.fingerprint != code.fingerprint:
        raise WorkerFailed(
            f"its code is of revision {told.revision[:40]}, here is {code.revision}: "
            "check the same one out there, without changes, and start the worker again"
        )
    return told


def require_fit(told: Told, time: str) -> None:
    """WorkerFailed, with what to do, when a worker makes no runs in that ``time``, ``real`` or ``virtual``."""
    if time == "virtual":
        if told.root:
            raise WorkerFailed("it runs as root, and makes runs in real time: start it as an ordinary user")
        return
    if not told.root:
        raise WorkerFailed(
            "it does not run as root, which network namespaces need: start it with sudo, or ask for --time virtual"
        )
    if told.missing:
        raise WorkerFailed(f"{', '.join(told.missing)} missing there: run setup/install.sh --cluster on it")


def require_same(run: Run, spec: RunSpec, worker: str, code: Source) -> None:
    """WorkerFailed unless a result is of the run that was asked for, made by that worker, with our code."""
    asked = asdict(spec.for_its_traffic())
    settings = msgspec.structs.asdict(run.spec)
    found = {"scheme": run.scheme, "traffic": run.traffic, "trial": run.trial, "seed": run.seed, **settings}
    different = [name for name, value in asked.items() if name in found and found[name] != value]
    standing = spec.workload().standing
    flows = [(int(src), int(dst)) for src, dst in zip(standing.src, standing.dst, strict=True)]
    if different or [tuple(pair) for pair in run.matrix] != flows:
        what = ", ".join(different) or "other flows"
        raise WorkerFailed(f"what it sent is not the run that was asked for ({what})")
    if run.environment.get("worker") != worker or run.environment.get("source") != code.fingerprint:
        raise WorkerFailed("its code has changed, or what it sent was made elsewhere: start that worker again")
