"""What one simulation is: every choice in one frozen object, whose fields are the options of the command."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta

from record.spec import Experiment, described, find_middle, one_of
from traffic.flows import NOTHING, Flows, join_flows
from traffic.graph import FlowGraph
from traffic.workload import Workload

ENGINES = ("aimd", "maxmin")
INCREASE = 0.12
"""Of the link's rate: a flow's first rate, and what it gains per tick, 15 MB/s at 1 Gb/s (section 5.5)."""
WAITING = 0.1
"""Of the least time of a graph of flows: what its steps may wait for ticks (section 5.5's engine)."""
MAX_TICKS = 100_000_000
"""8 bytes a tick: their rates take 0.8 GB."""
MAX_FLOWS = 10_000_000
"""More are refused, and fewer where memory does not suffice."""
FLOW_BYTES = 800
"""What a simulation keeps of a flow, at its end (docs/workloads.md)."""
FEW_BYTES = 1_000_000
"""Every machine has these."""
_FREE = Path("/proc/meminfo")


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
        """A flow's first rate, and what it gains per tick in congestion avoidance."""
        return INCREASE * self.link_mbps

    def flows(self) -> tuple[Flows, FlowGraph | None]:
        """The flows of this simulation, and the graph of the first of them, if there is one.

        ValueError, one sentence, when they make no sense, or are far too many.
        """
        work = check_flows(self.workload())
        if work.graph is not None and self.engine == "aimd":
            self._refuse_long_ticks(work.graph)
        flows = work.standing if work.matrix else join_flows(list(work.blocks()) or [NOTHING])
        return flows, work.graph

    def _refuse_long_ticks(self, graph: FlowGraph) -> None:
        """Each flow may wait a tick for its turn: ValueError where that would be much of the time that is measured."""
        waits, least_s = int(graph.level.max()), graph.least_s(self.link_mbps)
        if waits * self.tick_s > WAITING * least_s:
            short = 10 ** math.floor(math.log10(WAITING * least_s / waits))
            raise ValueError(
                f"traffic {graph.name!r} may be done in {least_s:.3g} s, in which flows wait {waits:,} times for "
                f"others, up to a tick of {self.tick_s:g} s each: give --engine maxmin, which has no ticks, "
                f"or --tick {short:g}"
            )

    @property
    def ticks(self) -> int:
        return round(self.seconds / self.tick_s)

    @property
    def window_ticks(self) -> tuple[int, int]:
        """The ticks over which the result is averaged: `window_s` as a half-open range of them."""
        begin, end = find_middle(self.ticks)
        return round(begin), round(end)


def check_flows(work: Workload) -> Workload:
    """Itself; ValueError, one sentence, for more flows than `MAX_FLOWS`, or than fit the memory that is free."""
    work.bounded(MAX_FLOWS)
    needed = work.expected_flows * FLOW_BYTES
    if needed > FEW_BYTES and needed > (free := _measure_free_bytes()):
        raise ValueError(
            f"traffic {work.name!r} would be {work.expected_flows:.3g} flows in {work.seconds:g} s, which take some "
            f"{needed / 1e9:.1f} GB of memory; {free / 1e9:.1f} GB are free"
        )
    return work


def _measure_free_bytes() -> float:
    """What a process can still have without swapping; infinity where the system does not tell."""
    available = re.search(r"^MemAvailable:\s+(\d+) kB$", _FREE.read_text(), re.M) if _FREE.exists() else None
    return int(available[1]) * 1024 if available else math.inf
