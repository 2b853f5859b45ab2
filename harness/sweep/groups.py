"""Runs of one pattern and trial, which one machine makes, so that shares of the control compare like with like."""

from __future__ import annotations

from collections.abc import Sequence

from harness.sweep.plan import Job


def groups(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs by pattern and trial, in the order of their first ones; one by one in virtual time, where machines do
    not differ."""
    if all(job.spec.time == "virtual" for job in jobs):
        return [[job] for job in jobs]
    found: dict[tuple[str, int], list[Job]] = {}
    for job in jobs:
        found.setdefault((str(job.folder.parent.parent), job.spec.trial), []).append(job)
    return list(found.values())


def maker_of(group: Sequence[Job]) -> str | None:
    """The worker that made the latest of a group's runs; None when there is none, or none says so."""
    for job in reversed(group):
        outcome = job.outcome()
        if outcome is not None and outcome.run is not None and "worker" in outcome.run.environment:
            return str(outcome.run.environment["worker"])
    return None


def left(group: Sequence[Job]) -> list[Job]:
    """Those of a group that are still to be made, or made again."""
    return [job for job in group if job.next_folder() is not None]
