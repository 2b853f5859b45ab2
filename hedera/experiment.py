"""What one experiment is, whichever backend carries it out: emulation, simulation, or packets.

Each backend's own description of a run extends `Experiment` by what only that backend has, and may narrow what it
accepts. Field names are results' words, and carry their units; docstrings and messages are said here once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from typing import ClassVar

from hedera.large_flows import RULES
from hedera.parameter import check, parameter
from hedera.schemes import Options, Scheme, scheme
from topos.fattree import FatTree
from topos.faults import Fault, parse_all
from topos.network import Network
from topos.nonblocking import NonBlocking
from traffic.collectives import PLACEMENTS
from traffic.matrix import Matrix
from traffic.workload import Workload, size_scale, workload


@dataclass(frozen=True)
class Experiment:
    """One traffic pattern under one scheme. Defaults are the paper's, where it gives any.

    The middle two thirds of ``seconds`` are measured (sections 5.5, 6.2). ``link_mbps`` is in 10^6 bit/s.
    ``large_flows`` names a rule of `hedera.large_flows`; ``fail`` is in the words of `topos.faults`.

    Raises ValueError, one sentence, for a value that makes no sense.
    """

    scheme: str = parameter(
        MISSING, "How paths are chosen: ecmp, hedera-gff, nonblocking, FILE.py:CLASS ...", controller=True
    )
    traffic: str = parameter(MISSING, "Who sends to whom: stride:4, published:randbij0, file:m.csv ...")
    k: int = parameter(4, "Ports per switch: k^3/4 hosts.", option="-k", controller=True)
    seconds: float = parameter(
        60.0, "How long the traffic lasts; its middle two thirds count", unit="s", above=0
    )
    seed: int = parameter(
        1, "Fixes every draw: matrices, source ports, hashes.", least=0, most=2**63 - 1, controller=True
    )
    interval_s: float = parameter(5.0, "Hedera's scheduling period", unit="s", above=0, controller=True)
    link_mbps: float = parameter(
        1000.0, "Rate of every link", unit="Mb/s", above=0, option="--bw", controller=True
    )
    threshold: float = parameter(
        0.1, "Share of a link above which a flow is large (section 3.1).", least=0, below=1, controller=True
    )
    large_flows: str = parameter(
        "measured-or-estimated",
        "Which flows are large: by measured rate, or by estimated demand too.",
        choices=tuple(RULES),
        controller=True,
    )
    iterations: int = parameter(1000, "Of Simulated Annealing, in every round.", least=1, controller=True)
    flows_per_host: int = parameter(1, "Draws of the pattern laid over each other.", least=1)
    keep: float = parameter(1.0, "Fraction of the flows kept, at random.", above=0, most=1)
    scale_sizes: bool = parameter(
        True,
        "Scale the sizes of poisson traffic, which are meant for 1 Gb/s, with --bw: times stay the same.",
    )
    placement: str = parameter(
        "compact", "Which hosts a collective's ranks are: in their order, or drawn.", choices=PLACEMENTS
    )
    compute_s: float = parameter(
        0.0, "What hosts compute before each collective; in every stage of a pipeline", unit="s", least=0
    )
    repeats: int = parameter(1, "How often the collective is done.", least=1)
    fail: tuple[str, ...] = parameter(
        (),
        "Break link:A-B@SECONDS or switch:NAME@SECONDS, until :UNTIL. Can be given again.",
        metavar="WHAT@SECONDS",
    )

    _simulates: ClassVar[bool] = False
    """Whether this backend has the schemes that are for the simulator alone."""

    def __post_init__(self) -> None:
        _ = self.chosen, self.tree  # raise for a scheme or a k that does not exist
        if not (self.chosen.emulated or self._simulates):
            raise ValueError(f"scheme {self.scheme!r} is for the simulator alone (hedera simulate)")
        check(self)
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
            placement=self.placement,
            compute_s=self.compute_s,
            repeats=self.repeats,
            subflows=self.chosen.subflows,
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
        return middle(self.seconds)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What fails in the fat-tree; the control has none of its links, and is spared."""
        return parse_all(self.fail, self.tree, self.seconds)


def middle(length: float) -> tuple[float, float]:
    """The middle two thirds of a run of this length, which are measured (sections 5.5, 6.2): begin and end, in its
    unit."""
    return length / 6, length * 5 / 6


def phases(times: Sequence[float], window: tuple[float, float], seconds: float) -> list[tuple[float, float]]:
    """A run's measuring window, cut at ``times``: what is before, during and after a failure. All in seconds.

    Where a time is outside the window, that is widened half way to the beginning or the end of the run.
    """
    begin, end = window
    if times:
        begin = begin if begin < times[0] else times[0] / 2
        end = end if end > times[-1] else (times[-1] + seconds) / 2
    return list(itertools.pairwise([begin, *times, end]))
