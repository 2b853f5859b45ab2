"""Checks of the contract of every scheduler (docs/own-scheduler.md) on small histories."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classroom.histories import History, walk
from classroom.process import Answer, Misbehaved
from classroom.submission import Submission
from classroom.verdict import Check
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows

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
TWICE = 15
"""Histories that are tried in another process, too, the largest ones."""
SHRINK_S = 15.0
"""Seconds for making an example smaller."""


class Broken(Exception):
    """An answer that breaks the contract; ``which``: the broken rule."""

    def __init__(self, which: str, words: str) -> None:
        super().__init__(words)
        self.which = which


def valid(flows: LargeFlows, links: LinkState, answer: Answer) -> Ints:
    """The cores of an answer. Raises Broken if it is not valid, or inputs were written to."""
    core, flow_count, cores = answer.values.get("core"), flows.key.size, links.tree.num_cores
    if core is None:
        raise Broken(ANSWER, f"place answers with {answer.odd}, not with an array of whole numbers")
    if core.shape != (flow_count,):
        raise Broken(ANSWER, f"place answers with shape {core.shape} where there are {flow_count} flows")
    if core.dtype.kind not in "iu" and core.size:
        raise Broken(ANSWER, f"place answers with {core.dtype}, not with whole numbers")
    if core.size and not 0 <= core.min() <= core.max() < cores:
        raise Broken(ANSWER, f"place answers with cores {core.min()} to {core.max()}; there are 0 to {cores - 1}")
    if answer.touched:
        written = ", ".join(answer.touched)
        raise Broken(INPUTS, f"place writes to {written}, which belong to the caller: copy them first")
    return core.astype(np.int32)


def _strict(flows: LargeFlows, links: LinkState, answer: Answer) -> Ints:
    """As `valid`; raises Broken also for a flow on a broken path that has another."""
    core = valid(flows, links, answer)
    others = links.usable_cores(flows.src, flows.dst).any(axis=1)
    for n in np.flatnonzero(~links.usable(flows.src, flows.dst, core) & others)[:1].tolist():
        where = f"place puts flow {flows.key[n]} on core {core[n]}, whose path has a failed link"
        ask = "ask links.usable(src, dst, core). The loop will move it to a hashed path, which is not your placement"
        raise Broken(FAILED, f"{where}; {ask}")
    return core


@dataclass
class _Trial:
    """Histories tried on one submission, until it hangs or dies: that is reported once, and not tried again."""

    submission: Submission
    moved: bool = False
    gone: Check | None = None

    def broken(self, history: History) -> Broken | None:
        """The rule of the contract that a history shows to be broken, if any."""
        if self.gone is not None:
            return None

        def place(flows: LargeFlows, links: LinkState) -> Ints:
            core = _strict(flows, links, self.submission.place(flows, links))
            self.moved |= bool((core != flows.hashed).any())
            return core

        try:
            self.submission.fresh(history.k)
            walk(history, place)
        except Broken as broken:
            return broken
        except Misbehaved as error:
            if error.kind == "raised":
                return Broken(RAISES, str(error))
            self.gone = Check(RAISES, CONTRACT, str(error), str(history))
        return None

    def breaks(self, which: str, history: History) -> bool:
        return (broken := self.broken(history)) is not None and broken.which == which


def check_contract(submission: Submission, told: Sequence[dict[str, Any]]) -> list[Check]:
    """Check every rule of the contract except the one on time, on histories, small ones first."""
    histories = [History.read(one) for one in told]
    trial, found = _Trial(submission), dict[str, Check]()
    for history in histories:
        broken = trial.broken(history)
        if broken is None or (which := broken.which) in found:
            continue
        small = _smaller(history, partial(trial.breaks, which))
        words = str(trial.broken(small) or broken)
        found[which] = Check(which, CONTRACT, words, str(small), weakness=which == FAILED)
        if which == RAISES and not small.flows:
            break  # it hides everything else
    if trial.gone is not None:
        found[RAISES] = trial.gone
    checks = [found.get(which, Check(which, CONTRACT)) for which in (RAISES, ANSWER, INPUTS, FAILED)]
    still = "" if trial.moved else "every flow stays where its hash put it: this is ECMP"
    checks.append(Check(MOVES, CONTRACT, still, weakness=True))
    if RAISES not in found:
        checks.append(_determinism(submission, [one for one in histories if not one.cables][-TWICE:]))
    return checks


def _smaller(history: History, fails: Callable[[History], bool]) -> History:
    """The history without what it takes no notice of, as far as SHRINK_S lasts."""
    limit, found = time.monotonic() + SHRINK_S, True
    while found:
        found = False
        for one in _without(history):
            if time.monotonic() < limit and fails(one):
                history, found = one, True
                break
    return history


def _without(history: History) -> Iterator[History]:
    if history.periods > 1:
        yield replace(history, periods=history.periods - 1)
    for n in range(len(history.flows)):
        yield replace(history, flows=history.flows[:n] + history.flows[n + 1 :])
    for n in range(len(history.cables)):
        yield replace(history, cables=history.cables[:n] + history.cables[n + 1 :])


def _determinism(submission: Submission, histories: Sequence[History]) -> Check:
    def answers(of: Submission, history: History) -> object:
        of.fresh(history.k, seed=3)
        return walk(history, lambda flows, links: valid(flows, links, of.place(flows, links)))

    with submission.another() as other:
        for history in histories:
            try:
                if answers(submission, history) != answers(other, history):
                    return Check(
                        SAME,
                        CONTRACT,
                        "two processes with the same seed answer differently: draw from the rng that the class is "
                        "given and from nothing else, and go through sets in a sorted order",
                        str(history),
                    )
            except (Misbehaved, Broken):
                continue  # reported elsewhere
    return Check(SAME, CONTRACT)
