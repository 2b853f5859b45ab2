"""How good a scheduler is in the simulator: beside the project's own schemes, and against an upper bound for any
scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classroom.contract import Broken, valid
from classroom.process import Misbehaved
from classroom.submission import Submission
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.schemes import Options, Scheme, scheme
from results.output import plain_table
from simulator.config import Config
from topos.fattree import FatTree
from traffic.matrix import Matrix

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


class Remote:
    """A placement by a submission's process; raises Misbehaved and Broken."""

    def __init__(self, submission: Submission, tree: FatTree, options: Options) -> None:
        self._submission = submission
        submission.fresh(tree.k, DRAWS, options.iterations)

    def place(self, flows: LargeFlows, links: LinkState) -> NDArray[np.int32]:
        """As `hedera.placement.Placement`."""
        return valid(flows, links, self._submission.place(flows, links, CALL_S))


@dataclass(frozen=True)
class Submitted(Config):
    """A simulation whose scheduler is a submission's."""

    submission: Submission | None = field(default=None, repr=False, compare=False)

    @property
    def chosen(self) -> Scheme:
        if (submission := self.submission) is None:
            return super().chosen
        ecmp = scheme("ecmp")
        place = lambda tree, _, options: Remote(submission, tree, options)  # noqa: E731
        return replace(ecmp, name=YOURS, scheduler=place, absolute=YOURS)


def patterns(k: int) -> tuple[str, ...]:
    return f"stride:{k * k // 4}", "randbij", "staggered:0.2,0.3", "random"


def most_possible_mbps(matrix: Matrix, link_mbps: float) -> float:
    """The most that all flows together could receive, whatever their paths and shares, Mb/s.

    A fat-tree is a folded Clos network: with flows split over all paths it carries everything that its hosts can send
    and receive. So only hosts' links limit the sum, and its maximum is a largest matching of senders to receivers.
    """
    from scipy.sparse import csr_array  # type: ignore[import-untyped]
    from scipy.sparse.csgraph import maximum_bipartite_matching  # type: ignore[import-untyped]

    ones = np.ones(len(matrix), dtype=np.int8)
    pairs = csr_array((ones, (matrix.src, matrix.dst)), shape=(matrix.num_hosts, matrix.num_hosts))
    return float((maximum_bipartite_matching(pairs) >= 0).sum()) * link_mbps


def configs(sizes: Sequence[int], seed: int, traffic: Callable[[int], Sequence[str]] = patterns) -> Iterator[Config]:
    """The simulations, for any scheme: with ideal shares of every flow, over five scheduling periods."""
    for k in sizes:
        for pattern in traffic(k):
            yield Config("ecmp", pattern, k=k, seconds=3.0, tick_s=0.1, interval_s=0.5, seed=seed, engine="maxmin")


def simulated(config: Config, name: str) -> Score:
    return _score(replace(config, scheme=name), name)


def submitted(config: Config, submission: Submission) -> Score:
    told = {one.name: getattr(config, one.name) for one in fields(Config)}
    try:
        return _score(Submitted(**told, submission=submission), YOURS)
    except (Misbehaved, Broken) as error:
        return Score(config.k, config.traffic, YOURS, None, 0.0, 0.0, str(error))


def _score(config: Config, name: str) -> Score:
    from simulator.driver import simulate

    result = simulate(config)
    slowest = max((one.compute_s for one in result.rounds), default=0.0)
    bound = most_possible_mbps(config.matrix(), config.link_mbps)
    return Score(config.k, config.traffic, name, result.bisection_mbps, bound, slowest)


def table(scores: Sequence[Score]) -> Table:
    """Shares of the bound in percent: a line for each k and pattern, a column for each scheme."""
    found = {(score.k, score.traffic, score.scheme): score for score in scores}
    schemes = [*BESIDE, YOURS]
    numbers = ["control" if name == "nonblocking" else name for name in schemes]
    title = "Bisection bandwidth, % of the upper bound for any paths"
    made = plain_table(title, "k", "pattern", *numbers, "slowest round", left=2)
    for k, traffic in dict.fromkeys((score.k, score.traffic) for score in scores):
        shares = [found[k, traffic, name].share if (k, traffic, name) in found else None for name in schemes]
        cells = ["-" if share is None else f"{100 * share:.1f}" for share in shares]
        yours = found.get((k, traffic, YOURS))
        made.add_row(str(k), traffic, *cells, f"{1000 * yours.slowest_round_s:.1f} ms" if yours else "")
    return made
