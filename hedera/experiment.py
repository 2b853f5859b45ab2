"""What one experiment is, whichever backend carries it out: emulation, simulation, or packets.

Each backend's own description of a run extends `Experiment` by what only that backend has, and may narrow what it
accepts. Field names are results' words, and carry their units; docstrings and messages are said here once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hedera.large_flows import RULES
from hedera.schemes import Options, Scheme, scheme
from topos.fattree import FatTree
from topos.faults import Fault, parse_all
from topos.network import Network
from topos.nonblocking import NonBlocking
from traffic.matrix import Matrix
from traffic.workload import Workload, size_scale, workload


@dataclass(frozen=True)
class Experiment:
    """One traffic pattern under one scheme. The defaults are the paper's, where it gives any.

    ``scheme``, ``traffic``: spelled as in `hedera.schemes` and `traffic.workload`. ``k``: ports per switch, so k^3/4
    hosts. ``seconds``: how long the traffic lasts; its middle two thirds are measured (sections 5.5, 6.2).
    ``seed``: fixes every draw. ``interval_s``: the scheduling period (5 s in section 5.4). ``link_mbps``: rate of
    every link, 10^6 bit/s. ``threshold``, ``large_flows``: above which share of a link a flow is large, and by which
    rule of `hedera.large_flows`. ``iterations``: of annealing, in every round. ``flows_per_host``, ``keep``: as in
    `traffic.patterns.draw`. ``scale_sizes``: whether sizes of ``poisson`` traffic scale with the links' rate.
    ``fail``: what breaks and when, in the words of `topos.faults`.

    Raises ValueError, one sentence, for a value that makes no sense.
    """

    scheme: str
    traffic: str
    k: int = 4
    seconds: float = 60.0
    seed: int = 1
    interval_s: float = 5.0
    link_mbps: float = 1000.0
    threshold: float = 0.1
    large_flows: str = "measured-or-estimated"
    iterations: int = 1000
    flows_per_host: int = 1
    keep: float = 1.0
    scale_sizes: bool = True
    fail: tuple[str, ...] = ()

    LARGE_FLOWS: ClassVar[tuple[str, ...]] = tuple(RULES)
    """What ``large_flows`` may be."""

    def __post_init__(self) -> None:
        _ = self.chosen, self.tree  # raise for a scheme or a k that does not exist
        above_0("the length of the run", self.seconds, "s")
        above_0("the scheduling period", self.interval_s, "s")
        above_0("the links' rate", self.link_mbps, "Mb/s")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"--seed: a seed is 0 or more and below 2^63, not {self.seed}")
        if not 0 <= self.threshold < 1:
            raise ValueError(f"the threshold is a share of a link, from 0 to below 1, not {self.threshold:g}")
        if self.large_flows not in self.LARGE_FLOWS:
            raise ValueError(
                f"large flows are told by one of {', '.join(self.LARGE_FLOWS)}, not {self.large_flows!r}"
            )
        if self.iterations < 1:
            raise ValueError(f"the iterations of a round must be 1 or more, not {self.iterations}")
        if self.flows_per_host < 1:
            raise ValueError(f"flows per host must be 1 or more, not {self.flows_per_host}")
        if not 0 < self.keep <= 1:
            raise ValueError(f"the fraction of flows to keep must be above 0 and at most 1, not {self.keep}")
        try:
            _ = self.faults
        except ValueError as error:
            raise ValueError(f"--fail: {error}") from None

    @property
    def chosen(self) -> Scheme:
        """The scheme by name."""
        return scheme(self.scheme)

    @property
    def options(self) -> Options:
        """What the scheme's placement is told."""
        return Options(self.iterations)

    @property
    def tree(self) -> FatTree:
        """The fat-tree of this k, whose hosts the network has, whatever the scheme."""
        return FatTree(self.k)

    def network(self) -> Network:
        """The network of the scheme: that fat-tree, or for the control one switch."""
        return NonBlocking(self.tree.num_hosts) if self.chosen.nonblocking else self.tree

    def workload(self) -> Workload:
        """Who sends what to whom, and when; ValueError, one sentence, when that makes no sense on this network."""
        return workload(
            self.traffic,
            self.tree,
            self.seed,
            seconds=self.seconds,
            link_mbps=self.link_mbps,
            scale_sizes=self.scale_sizes,
            flows_per_host=self.flows_per_host,
            keep=self.keep,
        )

    @property
    def size_scale(self) -> float:
        """What the sizes of Poisson traffic are multiplied by."""
        return size_scale(self.link_mbps, self.scale_sizes)

    def matrix(self) -> Matrix:
        """The flows of traffic that lasts or takes turns; ValueError, one sentence, where `workload` is another."""
        matrix = self.workload().matrix
        if matrix is None:
            raise ValueError(f"traffic {self.traffic!r} comes and goes, and here it has to last")
        return matrix

    @property
    def capacity_mbps(self) -> float:
        """What all hosts together could receive, Mb/s."""
        return self.tree.num_hosts * self.link_mbps

    @property
    def window_s(self) -> tuple[float, float]:
        """The measured part: the middle two thirds, seconds."""
        return self.seconds / 6, self.seconds * 5 / 6

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What fails in the fat-tree; the control has none of its links, and is spared."""
        return parse_all(self.fail, self.tree, self.seconds)


def above_0(what: str, value: float, unit: str) -> None:
    """ValueError unless a value is above 0, and a number."""
    if not 0 < value < math.inf:
        raise ValueError(f"{what} must be above 0 {unit}, not {value:g}")


def phases(times: Sequence[float], window: tuple[float, float], seconds: float) -> list[tuple[float, float]]:
    """A run's measuring window, cut at ``times``: what is before, during and after a failure. All in seconds.

    Where a time is outside the window, that is widened half way to the beginning or the end of the run.
    """
    begin, end = window
    if times:
        begin = begin if begin < times[0] else times[0] / 2
        end = end if end > times[-1] else (times[-1] + seconds) / 2
    return list(itertools.pairwise([begin, *times, end]))
