"""Ending, freezing or slowing the controller in the middle of a run, as ``--disturb`` asks for it.

``controller:kill@SECONDS`` ends it with SIGKILL, ``controller:freeze@SECONDS`` stops it with SIGSTOP, and
``controller:slow@SECONDS`` lets it run a seventh of the time from then on. Seconds count from the start of
the traffic.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.run.controller import Controller

SIGNALS = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP}
SLOW_PERIOD_S, SLOW_RUNS_S = 0.7, 0.1
"""A slow controller is stopped and let go in turn: how long one turn is, and how much of it it may run."""
_FORM = re.compile(r"controller:(kill|freeze|slow)@([0-9]{1,9}(?:\.[0-9]{1,9})?)", re.ASCII)


@dataclass(frozen=True)
class Disturbance:
    """What happens to the controller, and when."""

    how: str
    at: float


def parse_all(texts: Sequence[str], seconds: float) -> tuple[Disturbance, ...]:
    """Disturbances in the order of their times. Raises ValueError, one sentence, for anything else."""
    found = []
    for text in texts:
        match = _FORM.fullmatch(text)
        if match is None or not 0 < float(match[2]) < seconds:
            raise ValueError(
                "a disturbance is controller:kill@SECONDS, controller:freeze@SECONDS or controller:slow@SECONDS "
                f"inside the run of {seconds:g} s, not {text[:60]!r}"
            )
        found.append(Disturbance(match[1], float(match[2])))
    return tuple(sorted(found, key=lambda one: one.at))


class Disturber:
    """Does what is due to the controller that runs then; call `tick` often with the seconds since the start.

    Call `finish` before the controller is ended: a stopped process would not hear of it.
    """

    def __init__(self, disturbances: Sequence[Disturbance], controller: Controller) -> None:
        self._due = list(disturbances)
        self._controller = controller
        self._slow_since: float | None = None

    def tick(self, t: float) -> None:
        """Do what is due."""
        while self._due and t >= self._due[0].at:
            how = self._due.pop(0).how
            if how == "slow":
                self._slow_since = t
            else:
                self._signal(SIGNALS[how])
        if self._slow_since is not None:
            runs = (t - self._slow_since) % SLOW_PERIOD_S >= SLOW_PERIOD_S - SLOW_RUNS_S
            self._signal(signal.SIGCONT if runs else signal.SIGSTOP)

    def finish(self) -> None:
        """Let a slow controller run as it likes."""
        if self._slow_since is not None:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._controller.process.poll() is None:
            os.killpg(self._controller.process.pid, number)
