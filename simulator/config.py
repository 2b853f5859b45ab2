"""What one simulation is: every choice in one frozen object, whose fields are the options of the command."""

from __future__ import annotations

from dataclasses import dataclass

from topos.fattree import FatTree
from topos.faults import Fault, parse_all

ENGINES = ("aimd", "maxmin")
MOST_TICKS = 100_000_000
"""Whose rates fit into a gigabyte."""


@dataclass(frozen=True)
class Config:
    """One run of the simulator. The defaults are the paper's, or where it gives none docs/simulator.md's.

    ``scheme``, ``traffic``: spelled as in hedera.schemes and traffic.patterns. ``k``: ports per switch.
    ``seconds``: simulated time; the bisection bandwidth is averaged over its middle two thirds (section 5.5).
    ``seed``: fixes every draw. ``engine``: ``aimd`` (section 5.5) or ``maxmin`` (ideal shares).
    ``tick_s``: length of a tick. ``interval_s``: scheduling period (5 s in section 5.4).
    ``link_mbps``: rate of every link. ``increase_mbps``: a flow's first rate, and its growth per tick in
    congestion avoidance (15 MB/s). ``threshold``: above this share of a link a flow is large.
    ``iterations``: of Simulated Annealing in every round.
    ``flows_per_host``, ``keep``: as in traffic.patterns.draw.
    ``arrivals_per_s``: flows that every sending host starts per second (Poisson); 0 for flows that start
    at once and outlast the run. ``mean_mbytes``: their mean size (exponential), 10^6 bytes.
    ``fail``: what breaks and when, in the words of topos.faults.

    Raises ValueError, one sentence, for a value that makes no sense.
    """

    scheme: str
    traffic: str
    k: int = 4
    seconds: float = 60.0
    seed: int = 1
    engine: str = "aimd"
    tick_s: float = 0.001
    interval_s: float = 5.0
    link_mbps: float = 1000.0
    increase_mbps: float = 120.0
    threshold: float = 0.1
    iterations: int = 1000
    flows_per_host: int = 1
    keep: float = 1.0
    arrivals_per_s: float = 0.0
    mean_mbytes: float = 125.0
    fail: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"there is no engine {self.engine!r}; the engines are {' and '.join(ENGINES)}")
        for name, what in (
            ("seconds", "the simulated time"),
            ("tick_s", "the length of a tick"),
            ("interval_s", "the scheduling period"),
            ("link_mbps", "the links' rate"),
            ("mean_mbytes", "the mean size of a flow"),
        ):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ValueError(f"{what} must be above 0, not {value:g}")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"a seed is 0 or more and below 2^63, not {self.seed}")
        if not 0 <= self.threshold < 1:
            raise ValueError(f"the threshold is a share of a link, from 0 to below 1, not {self.threshold:g}")
        if not 0 <= self.arrivals_per_s < float("inf"):
            raise ValueError(f"the arrivals per second must be 0 or more, not {self.arrivals_per_s:g}")
        if self.iterations < 1:
            raise ValueError(f"the iterations of a round must be 1 or more, not {self.iterations}")
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
        _ = self.faults  # raises for what cannot break

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What fails in the fat-tree; the non-blocking network has none of its links, and is spared."""
        return parse_all(self.fail, FatTree(self.k), self.seconds) if self.fail else ()

    @property
    def ticks(self) -> int:
        """The length of the run in ticks."""
        return round(self.seconds / self.tick_s)

    @property
    def window(self) -> tuple[int, int]:
        """The ticks over which the result is averaged: the middle two thirds, as a half-open range."""
        return round(self.ticks / 6), round(self.ticks * 5 / 6)
