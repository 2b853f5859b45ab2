"""What one simulation is: every choice in one frozen object, whose fields are the options of the command."""

from __future__ import annotations

from dataclasses import dataclass

from hedera.experiment import Experiment, above_0
from hedera.schemes import Options

ENGINES = ("aimd", "maxmin")
INCREASE = 0.12
"""Of the link's rate: a flow's first rate, and its growth per tick, 15 MB/s at 1 Gb/s (section 5.5)."""
MOST_TICKS = 100_000_000
"""Whose rates fit into a gigabyte."""


@dataclass(frozen=True)
class Config(Experiment):
    """One run of the simulator. The defaults are the paper's, or where it gives none docs/simulator.md's.

    ``engine``: ``aimd`` (section 5.5) or ``maxmin`` (ideal shares). ``tick_s``: length of a tick.
    ``increase_mbps``: a flow's first rate, and its growth per tick in congestion avoidance (15 MB/s).
    ``arrivals_per_s``: flows that every sending host starts per second (Poisson); 0 for flows that start
    at once and outlast the run. ``mean_mbytes``: their mean size (exponential), 10^6 bytes. ``by_rate``: placements
    take a flow's measured rate for its demand; ``shuffled``: Global First Fit takes flows and paths in a random order
    (both to try what the paper's own simulator may have done, see `hedera explain-gff`). ``detect_s``: how often
    Global First Fit looks for large flows, which it re-routes immediately upon detection (section 4.5), while others
    wait for the next period; 0 for the period too.

    Raises ValueError, one sentence, for a value that makes no sense.
    """

    engine: str = "aimd"
    tick_s: float = 0.001
    increase_mbps: float = 120.0
    arrivals_per_s: float = 0.0
    mean_mbytes: float = 125.0
    by_rate: bool = False
    shuffled: bool = False
    detect_s: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.engine not in ENGINES:
            raise ValueError(f"there is no engine {self.engine!r}; the engines are {' and '.join(ENGINES)}")
        above_0("the length of a tick", self.tick_s, "s")
        above_0("the mean size of a flow", self.mean_mbytes, "MB")
        if not 0 <= self.arrivals_per_s < float("inf"):
            raise ValueError(f"the arrivals per second must be 0 or more, not {self.arrivals_per_s:g}")
        if not (self.detect_s == 0 or self.tick_s <= self.detect_s <= self.interval_s):
            raise ValueError(
                f"large flows are looked for once a tick at most and once a period at least, "
                f"not every {self.detect_s:g} s"
            )
        if not self.seconds / self.tick_s <= MOST_TICKS:
            raise ValueError(
                f"{self.seconds:g} s in ticks of {self.tick_s:g} s are more than {MOST_TICKS:,} ticks"
            )
        if self.ticks < 6:
            raise ValueError(
                f"{self.seconds:g} s are too short: a run needs 6 ticks of {self.tick_s:g} s at least"
            )
        if self.interval_s < self.tick_s:
            raise ValueError(
                f"the scheduling period of {self.interval_s:g} s is shorter than a tick of {self.tick_s:g} s"
            )

    @property
    def options(self) -> Options:
        """What the scheme's placement is told."""
        return Options(self.iterations, self.shuffled)

    @property
    def ticks(self) -> int:
        """The length of the run in ticks."""
        return round(self.seconds / self.tick_s)

    @property
    def window_ticks(self) -> tuple[int, int]:
        """The ticks over which the result is averaged: `window_s` as a half-open range of them."""
        return round(self.ticks / 6), round(self.ticks * 5 / 6)
