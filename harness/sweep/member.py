"""One worker of a fleet: what it said of itself, what it is at, and how far it is believed."""

from __future__ import annotations

from dataclasses import asdict

import msgspec

from harness.errors import WorkerFailed
from harness.run.spec import RunSpec
from harness.sweep.source import Source
from results.record import Run


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
