"""How good a scheduler is in the simulator: beside the project's own schemes, and against an upper bound for any
scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from classroom.contract import Broken, valid
from classroom.process import Misbehaved
from classroom.submission import Submission
from classroom.verdict import Check
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.schemes import Options, Scheme, scheme
from results.output import plain_table
from simulator.config import Config
from topos.fattree import FatTree
from topos.links import canonical_cores
from traffic.matrix import Matrix
from traffic.patterns import draw as draw_pattern

if TYPE_CHECKING:
    from rich.table import Table

BESIDE = ("ecmp", "hedera-gff", "hedera-sa", "hedera-clos", "nonblocking")
"""The schemes to compare with; the last is the control."""
YOURS = "yours"
CALL_S = 15.0
TIMES = "answers within the scheduling period at k = 16 and 32"
PERIOD_S = 5.0
"""The paper's scheduling period, section 5.4."""
PATIENCE_S = 30.0
"""How long to wait for a round at k = 32, seconds."""
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
        """Of the bound."""
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
        """A scheme of ECMP, with the submission for large flows."""
        if (submission := self.submission) is None:
            return super().chosen
        ecmp = scheme("ecmp")
        place = lambda tree, _, options: Remote(submission, tree, options)  # noqa: E731
        return replace(ecmp, name=YOURS, scheduler=place, absolute=YOURS)


def patterns(k: int) -> tuple[str, ...]:
    """Traffic patterns on which schedulers differ, at this k."""
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
    """One of the project's own schemes."""
    return _score(replace(config, scheme=name), name)


def submitted(config: Config, submission: Submission) -> Score:
    """The submission's score; a misbehaviour is reported in it."""
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


def draw(scores: Sequence[Score], path: Path) -> Path:
    """Bars grouped by k and pattern."""
    from plots.style import colour, house_style, save

    found = {(score.k, score.traffic, score.scheme): score.share or 0.0 for score in scores}
    groups = list(dict.fromkeys((score.k, score.traffic) for score in scores))
    schemes = [name for name in (*BESIDE, YOURS) if any(score.scheme == name for score in scores)]
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4.2), layout="constrained")
        axes = figure.subplots()
        width = 0.84 / len(schemes)
        for place, name in enumerate(schemes):
            at = np.arange(len(groups)) - 0.42 + (place + 0.5) * width
            heights = [100 * found.get((*group, name), 0.0) for group in groups]
            label = "control" if name == "nonblocking" else name
            axes.bar(at, heights, width * 0.94, label=label, color="#000000" if name == YOURS else colour(name))
        axes.set_xticks(np.arange(len(groups)), [f"{traffic}\nk = {k}" for k, traffic in groups], fontsize=7.5)
        axes.set_ylabel("% of the upper bound for any paths")
        axes.set_ylim(0, 105)
        axes.grid(axis="y")
        axes.legend(ncols=len(schemes), loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
        return save(figure, path)[0]


def check_times(submission: Submission, seed: int, sizes: Sequence[int] = (16, 32)) -> tuple[Check, str]:
    """The processor time of a scheduler's first round, on a random bijection, and a sentence on it.

    Processor time, because real time would include other work of the machine.
    """
    told, words = [], ""
    for k in sizes:
        flows, links = permutation(k, seed), LinkState(FatTree(k))
        try:
            submission.fresh(4)
            submission.place(permutation(4, seed), LinkState(FatTree(4)))  # so that any compiling is done
            submission.fresh(k)
            before = submission.processor_s()
            valid(flows, links, submission.place(flows, links, PATIENCE_S))
            spent = submission.processor_s() - before
        except (Misbehaved, Broken) as error:
            told.append(f"k = {k}: given up")
            words = words or f"at k = {k}, {flows.key.size:,} flows: {error}"
            break  # a larger one takes longer
        told.append(f"k = {k}: {spent:.2f} s")
        if spent > PERIOD_S and not words:
            took = f"a round of {flows.key.size:,} flows at k = {k} takes {spent:.1f} s"
            words = f"{took}; a period has {PERIOD_S:g}"
    return Check(TIMES, "section 5.4", words, weakness=True), "; ".join(told)


def permutation(k: int, seed: int) -> LargeFlows:
    """A random bijection of full-rate flows on a fat-tree of this k, on hashed paths."""
    tree, rng = FatTree(k), np.random.default_rng(seed)
    matrix = draw_pattern("randbij", tree, seed)
    hashed = rng.integers(0, tree.num_cores, len(matrix)).astype(np.int32)
    hashed = canonical_cores(tree, matrix.src, matrix.dst, hashed)
    return LargeFlows(np.arange(len(matrix)), matrix.src, matrix.dst, np.ones(len(matrix)), hashed, hashed)
