"""What one run is: its fields are the command line's options, checked once, here."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from controllers.settings import MIN_INTERVAL_S
from harness.errors import UserMistake
from harness.run import disturbance
from harness.run.disturbance import Disturbance
from hedera.schemes import scheme as find_scheme
from topos.fattree import FatTree
from topos.faults import Fault, parse_all
from topos.nonblocking import NonBlocking
from traffic.matrix import Matrix
from traffic.patterns import draw

PLATFORMS = ("auto", "os-ken", "pox")
FASTEST_MBPS = 10_000.0
"""What an interface is taken to have at most: Linux counts a veth pair as 10 Gb/s."""
DATAPATHS = ("auto", "kernel", "user")


@dataclass(frozen=True)
class RunSpec:
    """One pattern, one scheme, one trial. Raises UserMistake, one sentence, when a field makes no sense.

    ``bw`` is in Mb/s (10^6 bit/s), ``interval`` and ``seconds`` in seconds, ``queue`` in full-size packets;
    ``fail`` is in the words of `topos.faults`, ``disturb`` in those of `harness.run.disturbance`.
    """

    scheme: str
    traffic: str
    seconds: float = 60.0
    bw: float = 10.0
    k: int = 4
    seed: int = 1
    trial: int = 1
    platform: str = "auto"
    datapath: str = "auto"
    interval: float = 2.0
    congestion_control: str = "cubic"
    queue: int = 50
    flows_per_host: int = 1
    keep: float = 1.0
    fail: tuple[str, ...] = ()
    disturb: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            find_scheme(self.scheme)
            FatTree(self.k)
        except ValueError as error:
            raise UserMistake(str(error)) from None
        _check(3 <= self.seconds <= 86_400, f"--seconds must be from 3 to 86400, not {self.seconds:g}")
        _check(
            0.1 <= self.bw <= FASTEST_MBPS,
            f"--bw must be from 0.1 to {FASTEST_MBPS:g} Mb/s, not {self.bw:g}",
        )
        _check(
            MIN_INTERVAL_S <= self.interval <= 3600,
            f"--interval must be from {MIN_INTERVAL_S:g} to 3600 s (switches count anew every half second), "
            f"not {self.interval:g}",
        )
        _check(2 <= self.queue <= 100_000, f"--queue must be from 2 to 100000 packets, not {self.queue}")
        _check(self.seed >= 0, f"--seed must not be negative, not {self.seed}")
        _check(
            self.platform in PLATFORMS, f"--platform is one of {', '.join(PLATFORMS)}, not {self.platform}"
        )
        _check(
            self.datapath in DATAPATHS, f"--datapath is one of {', '.join(DATAPATHS)}, not {self.datapath}"
        )
        _check(
            re.fullmatch("[a-z0-9_]+", self.congestion_control) is not None,
            f"--congestion-control names a TCP algorithm, not {self.congestion_control!r}",
        )
        try:
            _ = self.faults
        except ValueError as error:
            raise UserMistake(f"--fail: {error}") from None
        try:
            _ = self.disturbances
        except ValueError as error:
            raise UserMistake(f"--disturb: {error}") from None

    @property
    def nonblocking(self) -> bool:
        """Whether this is the control run."""
        return find_scheme(self.scheme).nonblocking

    @property
    def hosts(self) -> int:
        """k^3/4."""
        return FatTree(self.k).num_hosts

    @property
    def capacity_mbps(self) -> float:
        """What all hosts together could receive, Mb/s."""
        return self.hosts * self.bw

    @property
    def window(self) -> tuple[float, float]:
        """The measured part of the run, in seconds: its middle two thirds (section 6.2)."""
        return self.seconds / 6, self.seconds * 5 / 6

    def topology(self) -> FatTree | NonBlocking:
        """The network of this run."""
        return NonBlocking(self.hosts) if self.nonblocking else FatTree(self.k)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """What fails in the fat-tree. The control has none of its cables, and is spared."""
        return parse_all(self.fail, FatTree(self.k), self.seconds)

    @cached_property
    def disturbances(self) -> tuple[Disturbance, ...]:
        """What happens to the controller."""
        return disturbance.parse_all(self.disturb, self.seconds)

    def matrix(self) -> Matrix:
        """The flows of this run; UserMistake when the traffic makes no sense."""
        try:
            return draw(self.traffic, FatTree(self.k), self.seed, self.flows_per_host, self.keep)
        except (ValueError, OSError) as error:
            raise UserMistake(str(error)) from None

    def as_json(self) -> dict[str, Any]:
        """Plain data, for the result file. What few runs have is left out of those that do not have it."""
        return {name: value for name, value in asdict(self).items() if value != ()}


def _check(holds: bool, sentence: str) -> None:
    if not holds:
        raise UserMistake(sentence)
