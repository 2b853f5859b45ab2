"""How good a scheduler is in the simulator: beside the project's own schemes, and against an upper bound for any
scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from classroom.checks import Wrong, valid
from classroom.process import Misbehaved
from classroom.submission import Submission
from hedera.linkstate import LinkState
from hedera.maxmin import most_possible
from hedera.placement import LargeFlows
from results.output import plain_table
from simulator.config import Config
from topos.arrays import Int32
from topos.links import num_links
from topos.nonblocking import NonBlocking

if TYPE_CHECKING:
    from rich.table import Table

BESIDE = ("ecmp", "hedera-gff", "hedera-sa", "hedera-clos", "nonblocking")
"""The schemes to compare with; the last is the control."""
YOURS = "yours"
CALL_S = 15.0
DRAWS = 1
"""The seed of a scheduler's own draws. It must not get the seed of the traffic, which would reveal future flows."""


@dataclass(frozen=True)
class Score:
    """One pattern under one scheme, simulated with ideal shares.

    ``bisection_mbps``: None if the scheduler gave no usable answer (``words`` says what happened). ``bound_mbps``: an
    upper bound for any choice of paths. ``slowest_round_s``: of the scheduler alone.
    """

    k: int
    traffic: str
    scheme: str
    bisection_mbps: float | None
    bound_mbps: float
    slowest_round_s: float
    words: str = ""

    @property
    def share(self) -> float | None:
        return None if self.bisection_mbps is None else self.bisection_mbps / self.bound_mbps


@dataclass(frozen=True)
class Remote:
    """A placement (`hedera.placement.Placement`) by a submission's process; raises Misbehaved and Wrong."""

    submission: Submission

    def place(self, flows: LargeFlows, links: LinkState) -> Int32:
        return valid(flows, links, self.submission.place(flows, links, CALL_S))


def patterns(k: int) -> tuple[str, ...]:
    return f"stride:{k * k // 4}", "randbij", "staggered:0.2,0.3", "random"


def configs(sizes: Sequence[int], seed: int, traffic: Callable[[int], Sequence[str]] = patterns) -> Iterator[Config]:
    """The simulations, for any scheme: with ideal shares of every flow, over five scheduling periods."""
    for k in sizes:
        for pattern in traffic(k):
            yield Config("ecmp", pattern, k=k, seconds=3.0, tick_s=0.1, interval_s=0.5, seed=seed, engine="maxmin")


def score(config: Config, scheme: str | Submission) -> Score:
    """How good one of the project's schemes is, or a submission in the place of Global First Fit."""
    from simulator.driver import Simulation

    name = YOURS if isinstance(scheme, Submission) else scheme
    simulation = Simulation(replace(config, scheme="hedera-gff" if name == YOURS else name))
    try:
        if isinstance(scheme, Submission) and simulation.scheduler:
            scheme.fresh(config.k, DRAWS, config.iterations)
            simulation.scheduler.placement = Remote(scheme)
        result = simulation.run()
    except (Misbehaved, Wrong) as error:
        return Score(config.k, config.traffic, name, None, 0.0, 0.0, str(error))
    slowest = max((one.compute_s for one in result.rounds), default=0.0)
    # A fat-tree is a folded Clos network: with flows split over all paths it carries everything that its hosts can
    # send and receive. So only hosts' links limit the sum, as on one switch.
    matrix, switch = config.matrix(), NonBlocking(config.tree.num_hosts)
    most = most_possible(switch, matrix.src, matrix.dst, np.ones(num_links(switch))) or 0.0
    return Score(config.k, config.traffic, name, result.bisection_mbps, round(most) * config.link_mbps, slowest)


def table(scores: Sequence[Score]) -> Table:
    """Shares of the bound in percent: a line for each k and pattern, a column for each scheme."""
    headings = [*("control" if name == "nonblocking" else name for name in BESIDE), YOURS]
    title = "Bisection bandwidth, % of the upper bound for any paths"
    made = plain_table(title, "k", "pattern", *headings, "slowest round", left=2)
    for (k, traffic), row in groupby(scores, key=lambda one: (one.k, one.traffic)):
        alike = list(row)
        cells = ["-" if one.share is None else f"{100 * one.share:.1f}" for one in alike]
        made.add_row(str(k), traffic, *cells, f"{1000 * alike[-1].slowest_round_s:.1f} ms")
    return made
