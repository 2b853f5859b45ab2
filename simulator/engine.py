"""What drives a simulation's rates: the interface of every engine, and what those that go tick by tick share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from topos.arrays import Float64, Int32


class Engine(Protocol):
    """Flows that start, send at rates that the engine finds, and end. Arrays have shape (flows,) unless said."""

    def advance_to(self, t: float) -> Float64:
        """Run until ``t`` seconds after the start; returns the sum of all rates in each tick since, Mb/s (ticks,)."""
        ...

    def reroute(self, flows: Int32, links: Int32) -> None:
        """Move ``flows`` (moved,), under way or still to start, to new ``links`` (moved, tiers)."""
        ...

    @property
    def active(self) -> Int32:
        """The flows that have started and not finished, in ascending order: int32 (active,)."""
        ...

    @property
    def idle(self) -> bool:
        """Whether no flow is active and none will start."""
        ...

    @property
    def rates_mbps(self) -> Float64:
        """Every flow's rate in the last tick, Mb/s, 0 when it is not active."""
        ...

    @property
    def sent_bytes(self) -> Float64:
        """What every flow has sent so far, never more than its size."""
        ...

    @property
    def started_s(self) -> Float64:
        """When every flow started, seconds; nan for those that have not."""
        ...

    @property
    def finished_s(self) -> Float64:
        """When every flow sent its last bit, seconds; nan for those that have not."""
        ...


class TickEngine(ABC):
    """An engine whose time goes in ticks of ``tick_s`` seconds; ``tick`` have passed."""

    def __init__(self, tick_s: float) -> None:
        self.tick = 0
        self.tick_s = tick_s

    def advance_to(self, t: float) -> Float64:
        """As `Engine.advance_to`, to the nearest tick."""
        ticks = round(t / self.tick_s) - self.tick
        if not self.idle:
            return self.advance(ticks)
        self.tick += ticks
        return np.zeros(ticks)

    @abstractmethod
    def advance(self, ticks: int) -> Float64:
        """Run ``ticks`` ticks; returns the sum of all rates in each, Mb/s, float64 of shape (ticks,)."""

    @property
    @abstractmethod
    def idle(self) -> bool:
        """As `Engine.idle`."""
