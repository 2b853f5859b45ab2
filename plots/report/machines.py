"""A comparison of the machines that made the runs of a sweep on a cluster.

A machine that is too slow has a low ratio of measured rates to the max-min fair rates on its flows' paths; this ratio
is nearly the same for all schemes and patterns. Its runs get verdicts like any others; here the machine is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedera.schemes import CONTROL
from results.record import Run

SLOWER = 0.02
"""A machine is listed as slow if its median of measured over max-min is below the others' by more than this."""


@dataclass(frozen=True)
class Machine:
    """One machine: its name and description, how many of its runs are valid, and the median over its valid runs of
    measured over max-min fair rates: for the controls, and for all runs."""

    name: str
    what: str
    valid: int
    runs: int
    control_of_maxmin: float | None
    of_maxmin: float | None
    others_of_maxmin: float | None

    @property
    def slow(self) -> bool:
        """Whether it is slower than the others by more than SLOWER."""
        if self.of_maxmin is None or self.others_of_maxmin is None:
            return False
        return self.of_maxmin < self.others_of_maxmin - SLOWER


@dataclass(frozen=True)
class Machines:
    """All of them, by name, and the (pattern, trial) whose shares of the control compare two machines."""

    machines: tuple[Machine, ...]
    mixed: tuple[tuple[str, int], ...]

    @property
    def slow(self) -> tuple[Machine, ...]:
        """The machines listed as slow."""
        return tuple(machine for machine in self.machines if machine.slow)


def maker(run: Run) -> str | None:
    """The machine that made a run; None if it was the machine of the sweep itself."""
    found = run.environment.get("worker")
    return found if isinstance(found, str) else None


def compare_machines(runs: Sequence[Run]) -> Machines | None:
    """The machines of these runs; None if there are fewer than two, or time is virtual, where they do not matter."""
    made: dict[str, list[Run]] = {}
    runs = [run for run in runs if run.spec.time != "virtual"]
    for run in runs:
        if (name := maker(run)) is not None:
            made.setdefault(name, []).append(run)
    if len(made) < 2:
        return None
    return Machines(tuple(_machine(name, made) for name in sorted(made)), tuple(_mixed(runs)))


def _machine(name: str, made: dict[str, list[Run]]) -> Machine:
    own = made[name]
    others = [run for other, runs in made.items() if other != name for run in runs]
    facts = own[-1].environment
    return Machine(
        name,
        f"{facts.get('cores', '?')} x {facts.get('processor', 'unknown')}",
        sum(run.valid for run in own),
        len(own),
        _median([run for run in own if run.scheme == CONTROL]),
        _median(own),
        _median(others),
    )


def _median(runs: Sequence[Run]) -> float | None:
    shares = [
        run.bisection_mbps / run.maxmin_mbps
        for run in runs
        if run.valid and run.bisection_mbps is not None and run.maxmin_mbps
    ]
    return float(np.median(shares)) if shares else None


def _mixed(runs: Sequence[Run]) -> list[tuple[str, int]]:
    controls = {(run.pattern, run.trial): maker(run) for run in runs if run.scheme == CONTROL and run.valid}
    found = {
        (run.pattern, run.trial)
        for run in runs
        if run.valid and (run.pattern, run.trial) in controls and maker(run) != controls[run.pattern, run.trial]
    }
    return sorted(found)
