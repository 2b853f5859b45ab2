"""One worker of a fleet: what it said of itself, what it is at, and how far it is believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import WorkerFailed
from harness.run.spec import RunSpec
from harness.sweep.plan import Job
from harness.sweep.source import Source
from results.live import Now, Worker
from results.record import SCHEMA, Run


@dataclass
class Member:
    """A worker, and what it is at. ``told``: what it said of itself; ``unfit``: why it gets no runs."""

    address: str
    name: str
    told: dict[str, Any] = field(default_factory=dict)
    unfit: str | None = None
    asked: Any = None
    group: list[Job] = field(default_factory=list)
    folder: Path | None = None
    now: Now | None = None

    @property
    def fit(self) -> bool:
        """Whether it has introduced itself, and gets runs."""
        return bool(self.told) and self.unfit is None

    def as_live(self) -> Worker:
        """For whoever watches."""
        doing = self.unfit or (
            f"{self.now.pattern} {self.now.scheme}: {self.now.stage}" if self.now else "idle"
        )
        where = (
            f"{self.told.get('host', '')}: {self.told.get('machine', '')}"
            if self.told
            else "not introduced yet"
        )
        return Worker(name=self.name, machine=where, doing=doing, used=self.unfit is None)


class Watcher:
    """Who hears how a sweep on a cluster goes; each of these does nothing here."""

    def done(self, job: Job, result: Run, worker: str) -> None:
        """A run has been published."""

    def warn(self, sentence: str) -> None:
        """Something the user has to know."""

    def look(self, members: Sequence[Member]) -> None:
        """Twice a second: all workers, lost ones left out."""


def unfit(told: Any, code: Source) -> str | None:
    """Why a worker that said this of itself gets no runs, and what to do; None when it is fit."""
    if not isinstance(told, dict) or told.get("schema") != SCHEMA:
        return "it has another revision of this project: install the same one"
    if told.get("fingerprint") != code.fingerprint:
        return (
            f"its code is of revision {str(told.get('revision'))[:40]}, here is {code.revision}: "
            "check the same one out there, without changes, and start the worker again"
        )
    if not told.get("root"):
        return "it does not run as root, which network namespaces need: start it with sudo"
    if missing := told.get("missing"):
        return f"{', '.join(map(str, missing))} missing there: run setup/install.sh --cluster on it"
    return None


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
        raise WorkerFailed(
            "its code has changed, or what it sent was made elsewhere: start that worker again"
        )
