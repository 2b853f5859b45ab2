"""Ending or freezing the controller in the middle of a run, as ``--disturb`` asks for it.

``controller:kill@SECONDS`` ends it with SIGKILL, ``controller:freeze@SECONDS`` stops it with SIGSTOP. Seconds count
from the start of the traffic.
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
_FORM = re.compile(r"controller:(kill|freeze)@([0-9]{1,9}(?:\.[0-9]{1,9})?)", re.ASCII)


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
                "a disturbance is controller:kill@SECONDS or controller:freeze@SECONDS "
                f"inside the run of {seconds:g} s, not {text[:60]!r}"
            )
        found.append(Disturbance(match[1], float(match[2])))
    return tuple(sorted(found, key=lambda one: one.at))


class Disturber:
    """Does what is due to the controller that runs then; call `tick` often with the seconds since the start."""

    def __init__(self, disturbances: Sequence[Disturbance], controller: Controller) -> None:
        self._due = list(disturbances)
        self._controller = controller

    def tick(self, t: float) -> None:
        while self._due and t >= self._due[0].at:
            number = SIGNALS[self._due.pop(0).how]
            if self._controller.process.poll() is None:
                os.killpg(self._controller.process.pid, number)
