"""Checks of the contract of every scheduler (docs/own-scheduler.md) on small histories; hypothesis shrinks failing
ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from classroom.histories import History, histories, smallest, walk
from classroom.process import Misbehaved
from classroom.submission import Placed, Submission
from classroom.verdict import Check
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from topos.fattree import FatTree
from topos.links import canonical_cores
from traffic.patterns import draw

Ints = NDArray[np.int32]

CONTRACT = "docs/own-scheduler.md"
ANSWER = "answers with one core of the tree for each flow, as whole numbers"
RAISES = "answers at all"
INPUTS = "leaves its inputs as they are"
MOVES = "moves flows off their hashed paths"
FAILED = "puts no flow on a failed link where another path works"
SAME = "gives the same answers for the same seed"
FREE = (RAISES, ANSWER, INPUTS, FAILED, SAME)
"""The rules that even a scheduler keeps which leaves every flow on its hashed path."""
TIMES = "answers within the scheduling period at k = 16 and 32"
PERIOD_S = 5.0
"""The paper's scheduling period, section 5.4."""
PATIENCE_S = 30.0
"""How long to wait for a round at k = 32, seconds."""


class Broken(Exception):
    """An answer that breaks the contract; ``which``: the broken rule."""

    def __init__(self, which: str, words: str) -> None:
        super().__init__(words)
        self.which = which


def valid(flows: LargeFlows, links: LinkState, answer: Placed) -> Ints:
    """The cores of an answer. Raises Broken if it is not valid, or inputs were written to."""
    core, flow_count, cores = answer.core, flows.key.size, links.tree.num_cores
    if core is None:
        raise Broken(ANSWER, f"place answers with {answer.odd}, not with an array of whole numbers")
    if core.shape != (flow_count,):
        raise Broken(ANSWER, f"place answers with shape {core.shape} where there are {flow_count} flows")
    if core.dtype.kind not in "iu" and core.size:
        raise Broken(ANSWER, f"place answers with {core.dtype}, not with whole numbers")
    if core.size and not 0 <= core.min() <= core.max() < cores:
        raise Broken(ANSWER, f"place answers with cores {core.min()} to {core.max()}; there are 0 to {cores - 1}")
    if answer.touched:
        raise Broken(
            INPUTS,
            f"place writes to {', '.join(answer.touched)}, which belong to the caller: copy them first",
        )
    return core.astype(np.int32)


def strict(flows: LargeFlows, links: LinkState, answer: Placed) -> Ints:
    """As `valid`; raises Broken also for a flow on a broken path that has another."""
    core = valid(flows, links, answer)
    wrong = np.flatnonzero(
        ~links.usable(flows.src, flows.dst, core) & links.usable_cores(flows.src, flows.dst).any(axis=1)
    )
    if wrong.size:
        n = int(wrong[0])
        raise Broken(
            FAILED,
            f"place puts flow {flows.key[n]} on core {core[n]}, whose path has a failed link; ask links.usable(src, "
            "dst, core). The loop will move it to a hashed path, which is not your placement",
        )
    return core


@dataclass
class _Trial:
    """Histories tried on one submission, until it hangs or dies: that is reported once, and not tried again."""

    submission: Submission
    moved: bool = False
    gone: Misbehaved | None = None
    at: History | None = None

    def broken(self, history: History) -> Broken | None:
        """The rule of the contract that a history shows to be broken, if any."""
        if self.gone is not None:
            return None

        def place(flows: LargeFlows, links: LinkState) -> Ints:
            core = strict(flows, links, self.submission.place(flows, links))
            self.moved |= bool((core != flows.hashed).any())
            return core

        try:
            self.submission.fresh(history.k)
            walk(history, place)
        except Broken as broken:
            return broken
        except Misbehaved as error:
            if error.kind != "raised":
                self.gone, self.at = error, history
                return None
            return Broken(RAISES, str(error))
        return None


def check_contract(
    submission: Submission, again: Callable[[], Submission], seed: int, examples: int = 80
) -> list[Check]:
    """Check every rule of the contract except the one on time. ``again`` starts another process with the same
    code."""
    trial = _Trial(submission)
    found: dict[str, Check] = {}

    seen: dict[History, Broken] = {}

    def new(history: History) -> bool:
        broken = trial.broken(history)
        if broken is None or broken.which in found:
            return False
        seen[history] = broken
        return True

    while (history := smallest(histories(), new, seed, examples)) is not None:
        broken = seen[history]
        found[broken.which] = Check(broken.which, CONTRACT, str(broken), str(history), weakness=broken.which == FAILED)
        if broken.which == RAISES and not history.flows:
            break  # it hides everything else
    if trial.gone is not None:
        found[RAISES] = Check(RAISES, CONTRACT, str(trial.gone), str(trial.at))
    checks = [found.get(which, Check(which, CONTRACT)) for which in (RAISES, ANSWER, INPUTS, FAILED)]
    still = "" if trial.moved else "every flow stays where its hash put it: this is ECMP"
    checks.append(Check(MOVES, CONTRACT, still, weakness=True))
    if trial.gone is None and found.get(RAISES) is None:
        checks.append(_determinism(submission, again, seed, examples // 4))
    return checks


def _determinism(submission: Submission, again: Callable[[], Submission], seed: int, examples: int) -> Check:
    with again() as other:

        def answers(of: Submission, history: History) -> list[list[int]]:
            of.fresh(history.k, seed=3)
            return [core.tolist() for _, _, core in walk(history, partial(_any_answer, of))]

        def differ(history: History) -> bool:
            try:
                return answers(submission, history) != answers(other, history)
            except (Misbehaved, Broken):
                return False  # reported elsewhere

        history = smallest(histories(failures=False), differ, seed, examples)
    if history is None:
        return Check(SAME, CONTRACT)
    words = (
        "two processes with the same seed answer differently: draw from the rng that the class is given "
        "and from nothing "
        "else, and go through sets in a sorted order"
    )
    return Check(SAME, CONTRACT, words, str(history))


def _any_answer(submission: Submission, flows: LargeFlows, links: LinkState) -> Ints:
    return valid(flows, links, submission.place(flows, links))


@dataclass(frozen=True)
class RoundTime:
    """How long one round took: processor time, seconds; None if it was given up after PATIENCE_S."""

    k: int
    flows: int
    processor_s: float | None


def permutation(k: int, seed: int) -> LargeFlows:
    """A random bijection of full-rate flows on a fat-tree of this k, on hashed paths."""
    tree, rng = FatTree(k), np.random.default_rng(seed)
    matrix = draw("randbij", tree, seed)
    hashed = rng.integers(0, tree.num_cores, len(matrix)).astype(np.int32)
    hashed = canonical_cores(tree, matrix.src, matrix.dst, hashed)
    ones = np.ones(len(matrix))
    return LargeFlows(np.arange(len(matrix)), matrix.src, matrix.dst, ones, hashed, hashed)


def check_times(submission: Submission, seed: int, sizes: tuple[int, ...] = (16, 32)) -> tuple[Check, list[RoundTime]]:
    """The processor time of a scheduler's first round, on a random bijection.

    Processor time, because real time would include other work of the machine.
    """
    times: list[RoundTime] = []
    words = ""
    for k in sizes:
        flows, links = permutation(k, seed), LinkState(FatTree(k))
        try:
            submission.fresh(4)
            submission.place(permutation(4, seed), LinkState(FatTree(4)))  # so that any compiling is done
            submission.fresh(k)
            before = submission.processor_s()
            valid(flows, links, submission.place(flows, links, PATIENCE_S))
            spent = submission.processor_s() - before
        except Misbehaved as error:
            times.append(RoundTime(k, flows.key.size, None))
            words = words or f"at k = {k}, {flows.key.size:,} flows: {error}"
            break  # a larger one takes longer
        except Broken as error:
            return Check(TIMES, CONTRACT, f"at k = {k}: {error}"), times
        times.append(RoundTime(k, flows.key.size, spent))
        if spent > PERIOD_S:
            words = (
                words
                or f"a round of {flows.key.size:,} flows at k = {k} takes {spent:.1f} s; a period has {PERIOD_S:g}"
            )
    return Check(TIMES, "section 5.4", words, weakness=True), times
