"""What drives a simulation's rates: flows that start, send at rates that an engine finds, and end, tick by tick."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from topos.arrays import Float64, Int32


class Engine(ABC):
    """Time goes in ticks of ``tick_s`` seconds, of which ``tick`` have passed. Arrays have shape (flows,)."""

    def __init__(self, tick_s: float) -> None:
        self.tick = 0
        self.tick_s = tick_s

    def advance_to(self, t: float) -> Float64:
        """Run until the tick nearest to ``t`` seconds; returns the sum of all rates in each since, Mb/s (ticks,)."""
        ticks = round(t / self.tick_s) - self.tick
        if not self.idle:
            return self.advance(ticks)
        self.tick += ticks
        return np.zeros(ticks)

    @abstractmethod
    def advance(self, ticks: int) -> Float64:
        """Run ``ticks`` ticks; returns the sum of all rates in each, Mb/s, float64 (ticks,)."""

    @abstractmethod
    def reroute(self, flows: Int32, links: Int32) -> None:
        """Move ``flows`` (moved,), under way or still to start, to new ``links`` (moved, tiers)."""

    @property
    @abstractmethod
    def active(self) -> Int32:
        """The flows that have started and not finished, in ascending order: int32 (active,)."""

    @property
    @abstractmethod
    def idle(self) -> bool:
        """Whether no flow is active and none will start."""

    @property
    @abstractmethod
    def rates_mbps(self) -> Float64:
        """Every flow's rate in the last tick, 0 when it is not active."""

    @property
    @abstractmethod
    def sent_bytes(self) -> Float64:
        """What every flow has sent so far, never more than its size."""

    @property
    @abstractmethod
    def started_s(self) -> Float64:
        """When every flow started; nan for those that have not."""

    @property
    @abstractmethod
    def finished_s(self) -> Float64:
        """When every flow sent its last bit; nan for those that have not."""
