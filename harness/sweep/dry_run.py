"""What a sweep would run, and how long that takes; nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.sweep.plan import Job, seconds_left
from results.output import duration


def told(jobs: Sequence[Job], folder: Path, at_once: int) -> Iterator[str]:
    """In lines: patterns, schemes, trials, and the time that is left where ``at_once`` run side by side."""
    specs = [job.spec for job in jobs]
    spec = specs[0]
    yield f"patterns: {'  '.join(dict.fromkeys(one.traffic for one in specs))}"
    yield f"schemes: {'  '.join(dict.fromkeys(one.scheme for one in specs))}"
    trials = len({one.trial for one in specs})
    yield (
        f"trials: {trials} of {spec.seconds:g} s, links of {spec.link_mbps:g} Mb/s, in {spec.time} time, "
        f"{at_once} at once"
    )
    done = sum(job.next_folder() is None for job in jobs)
    left = duration(seconds_left(jobs) / at_once)
    yield f"{len(jobs)} runs, {done} already done; about {left} to go. Results: {folder}"
