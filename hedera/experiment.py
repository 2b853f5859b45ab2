"""The description of one experiment, for every backend: emulation, simulation, or packets.

Each backend extends `Experiment` by fields that only it has, and may narrow the values it accepts. Results use the
same field names, which include their units.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hedera.parameter import check, parameter
from hedera.schemes import Options, Scheme, file_of, scheme
from topos.fattree import FatTree
from topos.links import link_rates
from topos.network import LeafSpine, NonBlocking, PlannedNetwork
from traffic.graph import PLACEMENTS

if TYPE_CHECKING:
    from topos.arrays import Int32
    from topos.links import Fault
    from topos.network import Network
    from traffic.flows import Matrix
    from traffic.workload import Workload

READ_S = 2.0


@dataclass(frozen=True)
class Experiment:
    """One traffic pattern under one scheme. Defaults are the paper's, where it gives any.

    The middle two thirds of ``seconds`` are measured (sections 5.5, 6.2). ``link_mbps`` is in 10^6 bit/s.
    ``fail`` is in the notation of `topos.links`.

    Raises ValueError, one sentence, for a value that makes no sense.
    """

    scheme: str = parameter(
        MISSING, "How paths are chosen: ecmp, hedera-gff, nonblocking, FILE.py:CLASS ...", controller=True
    )
    traffic: str = parameter(MISSING, "Who sends to whom: stride:4, published:randbij0, file:m.csv ...")
    k: int = parameter(4, "Ports per switch: k^3/4 hosts.", option="-k", controller=True)
    seconds: float = parameter(60.0, "How long the traffic lasts; its middle two thirds count", unit="s", above=0)
    seed: int = parameter(
        1, "Fixes every draw: matrices, source ports, hashes.", least=0, most=2**63 - 1, controller=True
    )
    interval_s: float = parameter(5.0, "Hedera's scheduling period", unit="s", above=0, controller=True)
    link_mbps: float = parameter(
        1000.0, "Rate of every link", unit="Mb/s", above=0, most=1e9, option="--bw", controller=True
    )
    threshold: float = parameter(
        0.1, "Share of a link above which a flow is large (section 3.1).", least=0, below=1, controller=True
    )
    large_flows: str = parameter(
        "measured-or-estimated",
        "Which flows are large: by measured rate, or by estimated demand too.",
        choices=("measured", "measured-or-estimated"),
        controller=True,
    )
    iterations: int = parameter(1000, "Iterations of Simulated Annealing per round.", least=1, controller=True)
    flows_per_host: int = parameter(1, "Number of draws of the pattern, added together.", least=1)
    keep: float = parameter(1.0, "Fraction of the flows to keep, at random.", above=0, most=1)
    scale_sizes: bool = parameter(
        True, "Scale the flow sizes of poisson traffic from 1 Gb/s to --bw, so that times stay the same."
    )
    placement: str = parameter(
        "compact", "Which hosts a collective's ranks are: in their order, or drawn.", choices=PLACEMENTS
    )
    compute_s: float = parameter(
        0.0, "What hosts compute before each collective; in every stage of a pipeline", unit="s", least=0
    )
    repeats: int = parameter(1, "How often the collective is done.", least=1)
    fail: tuple[str, ...] = parameter(
        (), "Break link:A-B@SECONDS or switch:NAME@SECONDS, until :UNTIL. Can be repeated.", metavar="WHAT@SECONDS"
    )
    topology: str | None = parameter(
        None,
        "Another network than the fat-tree of -k: leaf-spine:LEAVES,SPINES,HOSTS (of each leaf), FILE.py:CLASS.",
        controller=True,
    )
    oversubscribe: float | None = parameter(
        None,
        "What the hosts of a switch can send over what its links to other switches carry.",
        above=0,
        controller=True,
    )

    _simulates: ClassVar[bool] = False
    """Whether this backend has the schemes that only the simulator has."""

    def __post_init__(self) -> None:
        check(self)
        _ = self.chosen, self.topo  # raise for a scheme or a network that does not exist
        if self.chosen.plans and not self._simulates:
            raise ValueError(f"scheme {self.scheme!r} is for the simulator only (hedera simulate)")
        if self.chosen.gap_us and self._simulates:
            raise ValueError(f"scheme {self.scheme!r} is for emulation only (hedera run): a fluid has no gaps")
        if self.chosen.clos and not self.plain:
            raise ValueError(f"scheme {self.scheme!r} is for a fat-tree whose links all have one rate")
        if self.scheme == "spanning-tree" and self.topology is not None:
            raise ValueError(
                f"scheme {self.scheme!r} is for a fat-tree: paths by number make no tree of another network"
            )
        try:
            _ = self.faults
        except ValueError as error:
            raise ValueError(f"--fail: {error}") from None

    @property
    def chosen(self) -> Scheme:
        return scheme(self.scheme)

    @property
    def options(self) -> Options:
        return Options(self.iterations)

    @property
    def reading_s(self) -> float:
        """How often a controller reads what switches have counted: with every round, and without rounds, which an
        interval is for, always alike."""
        return self.interval_s if self.chosen.scheduler else READ_S

    @property
    def topo(self) -> Network:
        """The network that is asked for, whose hosts there are whatever the scheme; ValueError if there is none."""
        if self.topology is not None:
            return own(self.topology, self.oversubscribe)
        return FatTree(self.k) if self.oversubscribe is None else FatTree(self.k, 1 / self.oversubscribe)

    @property
    def tree(self) -> FatTree:
        """The fat-tree of this k, for what knows no other network; ValueError where another is asked for."""
        if not isinstance(self.topo, FatTree):
            raise ValueError(f"this is for fat-trees only, not for --topology {self.topology}")
        return self.topo

    @property
    def plain(self) -> bool:
        """Whether it is a fat-tree whose links all have one rate, as the paper's."""
        return self.topology is None and self.oversubscribe in (None, 1)

    def network(self) -> Network:
        """The network of the scheme: the one asked for, or one switch for the control."""
        return NonBlocking(self.topo.num_hosts) if self.chosen.nonblocking else self.topo

    def workload(self) -> Workload:
        """Who sends what to whom, and when; ValueError, one sentence, if that is impossible on this network, or under
        this scheme."""
        from traffic.workload import workload

        found = workload(
            self.traffic,
            self.topo,
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
        if found.graph is None and (self.chosen.plans or self.chosen.subflows > 1):
            raise ValueError(f"scheme {self.scheme!r} is for collectives, and traffic {self.traffic!r} is none")
        return found

    def user_files(self) -> dict[str, str]:
        """What a job takes along: the content of the files that scheme and traffic name (`traffic.textfile.given`).

        ValueError, one sentence, where one cannot be read.
        """
        from traffic.textfile import MAX_CODE_BYTES, read_text
        from traffic.workload import read_files

        found = read_files(self.traffic, self.topo, self.seed)
        if self.topology is not None and isinstance(self.topo, PlannedNetwork):
            found[self.topology] = self.topo.rows()
        path = file_of(self.scheme)
        return found if path is None else found | {str(path): read_text(path, MAX_CODE_BYTES)}

    @property
    def size_scale(self) -> float:
        from traffic.workload import size_scale

        return size_scale(self.link_mbps, self.scale_sizes)

    def matrix(self) -> Matrix:
        """The flows of long-lived or shuffle traffic; ValueError, one sentence, for any other `workload`."""
        matrix = self.workload().matrix
        if matrix is None:
            raise ValueError(f"traffic {self.traffic!r} has flows that end, and here flows must last")
        return matrix

    @property
    def capacity_mbps(self) -> float:
        """What all hosts together could receive, Mb/s."""
        return self.topo.num_hosts * self.link_mbps

    def bound_mbps(self, src: Int32, dst: Int32) -> float | None:
        """The most that these links could carry of flows that last (`hedera.maxmin.most_possible`), Mb/s; None for a
        fat-tree whose links all have one rate."""
        if self.plain:
            return None
        from hedera.maxmin import most_possible

        return most_possible(self.network(), src, dst, self.link_mbps * link_rates(self.network()))

    @property
    def window_s(self) -> tuple[float, float]:
        """The measured part: the middle two thirds, seconds."""
        return middle(self.seconds)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What fails in the network; nothing for the control, which has none of its links."""
        if not self.fail:
            return ()
        from topos.links import parse

        return tuple(parse(text, self.topo, self.seconds) for text in self.fail)


OPEN = "/proc/self/fd/"


def own(spelled: str, oversubscribe: float | None) -> PlannedNetwork:
    """The network of that name: ``leaf-spine:LEAVES,SPINES,HOSTS``, or FILE.py:CLASS, which the user's own process
    alone runs. Whoever was given its rows, and a controller, which has them in an open file, make it of these.
    ValueError, one sentence, for one that is none."""
    from traffic.textfile import MAX_CODE_BYTES, given, own_code, read_text, running_own_code

    if spelled in given or spelled.startswith(OPEN):
        rows = given[spelled] if spelled in given else read_text(Path(spelled), MAX_CODE_BYTES)
        return _made(spelled, rows, oversubscribe)
    if path := file_of(spelled):
        what, name = f"topology {spelled!r}", spelled.rpartition(":")[2]
        if not isinstance(plan := own_code(what, path, name), type):
            raise ValueError(f"{what}: there is no class {name} in {path}")
        with running_own_code(what):
            return _made(spelled, plan, oversubscribe)
    if found := re.fullmatch("leaf-spine:([1-9][0-9]{0,2}),([1-9][0-9]{0,2}),([1-9][0-9]{0,2})", spelled, re.ASCII):
        return _made(spelled, LeafSpine(*map(int, found.groups())), oversubscribe)
    raise ValueError(f"there is no topology {spelled!r}; there are leaf-spine:LEAVES,SPINES,HOSTS and FILE.py:CLASS")


_made = lru_cache(maxsize=8)(PlannedNetwork)
"""Each once: an experiment asks for its network again and again."""


def middle(length: float) -> tuple[float, float]:
    """The measured middle two thirds of a run of this length (sections 5.5, 6.2): begin and end, in the same unit."""
    return length / 6, length * 5 / 6


def phases(times: Sequence[float], window: tuple[float, float], seconds: float) -> list[tuple[float, float]]:
    """A run's measuring window, cut at ``times`` into before, during and after a failure. All in seconds.

    If a time is outside the window, the window is widened half way to the beginning or the end of the run. What fails
    at 0 has no before.
    """
    times = [time for time in times if time > 0]
    begin, end = window
    if times:
        begin = begin if begin < times[0] else times[0] / 2
        end = end if end > times[-1] else (times[-1] + seconds) / 2
    return list(itertools.pairwise([begin, *times, end]))
