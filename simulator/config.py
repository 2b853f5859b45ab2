"""What one simulation is: every choice in one frozen object, whose fields are the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from msgspec import Meta

from record.spec import Experiment, described, middle, one_of
from simulator.workload import bounded
from traffic.flows import NOTHING, Flows, joined
from traffic.graph import FlowGraph

ENGINES = ("aimd", "maxmin")
INCREASE = 0.12
"""Of the link's rate: a flow's first rate, and its growth per tick, 15 MB/s at 1 Gb/s (section 5.5)."""
MAX_TICKS = 100_000_000
"""8 bytes a tick: their rates take 0.8 GB."""


@dataclass(frozen=True)
class Config(Experiment):
    """One run of the simulator. The defaults are the paper's, or where it gives none docs/notes/simulator.md's.

    Raises ValueError, one sentence, for a value that makes no sense.
    """

    engine: Annotated[
        str, one_of(*ENGINES), described("Rates of flows: aimd (section 5.5) or maxmin (ideal shares).")
    ] = "aimd"
    tick_s: Annotated[float, Meta(gt=0), described("Length of a tick, s.")] = 0.001
    detect_s: Annotated[
        float,
        Meta(ge=0),
        described(
            "Global First Fit re-routes upon detection (section 4.5), looking this often; 0: with the period, s."
        ),
    ] = 0.0

    _simulates: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.detect_s == 0 or self.tick_s <= self.detect_s <= self.interval_s):
            raise ValueError(
                f"large flows are looked for once a tick at most and once a period at least, "
                f"not every {self.detect_s:g} s"
            )
        if not self.seconds / self.tick_s <= MAX_TICKS:
            raise ValueError(f"{self.seconds:g} s in ticks of {self.tick_s:g} s are more than {MAX_TICKS:,} ticks")
        if self.ticks < 6:
            raise ValueError(f"{self.seconds:g} s are too short: a run needs 6 ticks of {self.tick_s:g} s at least")
        if self.interval_s < self.tick_s:
            raise ValueError(
                f"the scheduling period of {self.interval_s:g} s is shorter than a tick of {self.tick_s:g} s"
            )

        if self.chosen.sprays and (self.fail or not self.plain) and self.engine == "aimd":
            raise ValueError("spraying with failed links, or links of several rates, needs --engine maxmin")

    @property
    def first_mbps(self) -> float:
        """A flow's first rate, and its growth per tick in congestion avoidance."""
        return INCREASE * self.link_mbps

    def flows(self) -> tuple[Flows, FlowGraph | None]:
        """The flows of this simulation, and the graph of the first of them, if there is one.

        ValueError, one sentence, when they make no sense, or are far too many.
        """
        work = bounded(self.workload())
        return joined(list(work.blocks()) or [NOTHING]), work.graph

    @property
    def ticks(self) -> int:
        return round(self.seconds / self.tick_s)

    @property
    def window_ticks(self) -> tuple[int, int]:
        """The ticks over which the result is averaged: `window_s` as a half-open range of them."""
        begin, end = middle(self.ticks)
        return round(begin), round(end)
