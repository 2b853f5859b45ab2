"""The checks of milestones and of the contract. Students' own checks and grading are these same ones.

What is asked, and what is right, is in cases (`classroom.cases`), which are plain JSON: no solution is needed here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classroom.histories import History, walk
from classroom.submission import Answer, Misbehaved, Submission
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity
from hedera.text import one_line, printable
from topos.arrays import Float64, Int32, Int64
from topos.fattree import FatTree
from topos.links import climb

Case = dict[str, Any]

CLOSE = 1e-6
TREE = FatTree(4)
"""Of the checks of annealing."""
CONTRACT = "docs/own-scheduler.md"
RAISES = "answers at all"
ANSWER = "answers with one core of the tree for each flow, as whole numbers"
INPUTS = "leaves its inputs as they are"
FAILED = "puts no flow on a failed link where another path works"
MOVES = "moves flows off their hashed paths"
SAME = "gives the same answers for the same seed"
RULES = {RAISES: 2, ANSWER: 2, INPUTS: 1, FAILED: 2, MOVES: 1, SAME: 2}
"""The points of each. A scheduler that leaves every flow on its hashed path keeps all but MOVES."""
TWICE = 15
"""Histories that are tried in another process, too, the largest ones."""
_SHOWN = 20
"""Flows in an example."""
_LONGEST = 1000
"""Characters of a check's text; four times that of its example."""


@dataclass(frozen=True)
class Check:
    """One finding.

    ``name``: what should hold. ``section``: the section of the paper, or the contract, that requires it. ``words``:
    what is wrong, empty if nothing is; ``example``: a small input that shows it. ``weakness``: it is acceptable.
    ``worth``: its points. Part of the text comes from the submission: ``words`` are one line, and both are safe for a
    terminal.
    """

    name: str
    section: str
    words: str = ""
    example: str = ""
    weakness: bool = False
    worth: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", one_line(self.words, most=_LONGEST))
        object.__setattr__(self, "example", printable(self.example[: 4 * _LONGEST]))

    @property
    def passed(self) -> bool:
        return not self.words

    def __str__(self) -> str:
        if self.passed:
            return f"ok   {self.name} ({self.section})"
        example = "".join(f"\n         {line}" for line in self.example.splitlines())
        return f"{'weak' if self.weakness else 'NO  '} {self.name} ({self.section})\n       {self.words}{example}"


class Wrong(Exception):
    """A mistake, and the example that shows it; ``rule``: the rule of the contract that it breaks."""

    def __init__(self, words: str, example: str = "", rule: str = "") -> None:
        super().__init__(words)
        self.example, self.rule = example, rule


def run_checks(submission: Submission, checks: Sequence[Case]) -> list[Check]:
    """The findings of checks, one after another. One that hangs or dies does not affect the others."""
    found = []
    for check in checks:
        found += _contract(submission, check) if check["kind"] == "contract" else [_checked(submission, check)]
    return found


def earned(checks: Sequence[Check], free: Collection[str] = (), beside: str = "") -> list[float]:
    """The points of each check; those in ``free``, which doing nothing passes, count only if ``beside`` is passed."""
    counts = any(one.name == beside and one.passed for one in checks)
    return [one.worth if one.passed and (counts or one.name not in free) else 0.0 for one in checks]


def _checked(submission: Submission, check: Case) -> Check:
    for case in check["cases"]:
        try:
            _JUDGES[check["kind"]](submission, case, check["words"])
        except (Wrong, Misbehaved) as error:
            example = getattr(error, "example", "") or case["told"]
            return Check(check["name"], check["section"], str(error), example, worth=check["worth"])
    return Check(check["name"], check["section"], worth=check["worth"])


# --- demands ------------------------------------------------------------------------------------------------


def _array(answer: Answer, name: str, count: int) -> NDArray[Any]:
    """What was answered, with a number for each flow; raises Wrong if it was not, or inputs were written to."""
    values = answer.values.get(name)
    if values is None:
        raise Wrong(f"it answers with {answer.odd}, not with an array of numbers", rule=ANSWER)
    if values.shape != (count,):
        raise Wrong(f"it answers with shape {values.shape} where there are {count} flows", rule=ANSWER)
    if answer.touched:
        written = ", ".join(answer.touched)
        raise Wrong(f"it writes to {written}, which belong to the caller: copy them first", rule=INPUTS)
    return values


def _demands_of(submission: Submission, src: Sequence[int], dst: Sequence[int], hosts: int) -> Float64:
    demand = _array(submission.estimate(src, dst, hosts), "demand", len(src))
    if not np.isfinite(demand).all():
        raise Wrong("some of the demands are no finite numbers")
    return demand.astype(np.float64)


def _demands(submission: Submission, case: Case, words: str) -> None:
    """A wrong estimate is shown flow by flow."""
    src, dst, right = case["src"], case["dst"], np.array(case["demand"])
    given = _demands_of(submission, src, dst, case["hosts"])
    if np.allclose(given, right, atol=CLOSE):
        return
    if not given.any():
        words = "all demands are 0: is a share computed with whole numbers? 1 // 3 is 0"
    for ends, verb in ((src, "sends"), (dst, "receives")):
        total = np.bincount(np.array(ends, dtype=int), weights=given)
        for host in np.flatnonzero(total > 1 + CLOSE)[:1].tolist():
            words = f"host {host} {verb} {total[host]:.3f} of its link: demands are what NICs allow"
    rows = [
        f"flow {n}: H{s} to H{d}: {mine:.4f}, by Figure 7 {its:.4f}{'' if abs(mine - its) < CLOSE else '   <-'}"
        for n, (s, d, mine, its) in enumerate(zip(src, dst, given, right, strict=True))
    ]
    raise Wrong(words, "\n".join(rows[:_SHOWN]))


def _order(submission: Submission, case: Case, words: str) -> None:
    src, dst, turned = (np.array(case[name]) for name in ("src", "dst", "turned"))
    given = _demands_of(submission, src.tolist(), dst.tolist(), case["hosts"])
    again = _demands_of(submission, src[turned].tolist(), dst[turned].tolist(), case["hosts"])
    if not given.any():
        raise Wrong("all demands are 0, in whatever order")
    if not np.allclose(given[turned], again, atol=CLOSE):
        raise Wrong(words)


# --- schedulers ---------------------------------------------------------------------------------------------


def valid(flows: LargeFlows, links: LinkState, answer: Answer) -> Int32:
    """The cores of an answer. Raises Wrong if they are no cores for these flows, or inputs were written to."""
    core, cores = _array(answer, "core", flows.key.size), links.tree.num_cores
    if core.dtype.kind not in "iu" and core.size:
        raise Wrong(f"it answers with {core.dtype}, not with whole numbers", rule=ANSWER)
    if core.size and not 0 <= core.min() <= core.max() < cores:
        raise Wrong(f"it answers with cores {core.min()} to {core.max()}; there are 0 to {cores - 1}", rule=ANSWER)
    return core.astype(np.int32)


def _contract(submission: Submission, check: Case) -> list[Check]:
    """Every rule of the contract except the one on time, on histories, small ones first."""
    histories = [History.read(one) for one in check["cases"]]
    found, moved, answered = dict[str, Check](), False, False

    def place(flows: LargeFlows, links: LinkState) -> Int32:
        nonlocal moved, answered
        core = valid(flows, links, submission.place(flows, links))
        answered |= bool(flows.key.size)
        moved |= bool((core != flows.hashed).any())
        others = links.usable_cores(flows.src, flows.dst).any(axis=1)
        for n in np.flatnonzero(~links.usable(flows.src, flows.dst, core) & others)[:1].tolist():
            where = f"place puts flow {flows.key[n]} on core {core[n]}, whose path has a failed link: ask links.usable"
            loop = "The loop will move it to a hashed path, which is not your placement"
            raise Wrong(f"{where}(src, dst, core). {loop}", rule=FAILED)
        return core

    for history in histories:
        try:
            submission.fresh(history.k)
            walk(history, place)
        except (Wrong, Misbehaved) as error:
            rule = getattr(error, "rule", RAISES)
            found.setdefault(rule, Check(rule, check["section"], str(error), str(history), weakness=rule == FAILED))
            if isinstance(error, Misbehaved) and error.kind != "raised":
                break  # it hangs or dies, which is told once
    if not moved:
        found[MOVES] = Check(
            MOVES, check["section"], "every flow stays where its hash put it: this is ECMP", weakness=True
        )
    if RAISES not in found:
        intact = [history for history in histories if not history.cables]
        found[SAME] = _determinism(submission, intact[-TWICE:], check["section"])
    else:
        found[SAME] = Check(SAME, check["section"], "not tried, because it does not always answer")
    if not answered:
        untried = f"not tried: {next(iter(found.values())).words}"
        found |= {rule: Check(rule, check["section"], untried) for rule in RULES if rule == MOVES or rule not in found}
    return [replace(found.get(rule, Check(rule, check["section"])), worth=worth) for rule, worth in RULES.items()]


def _walked(submission: Submission, history: History, seed: int = 1) -> list[dict[int, int]]:
    submission.fresh(history.k, seed)
    return walk(history, lambda flows, links: valid(flows, links, submission.place(flows, links)))


def _determinism(submission: Submission, histories: Sequence[History], section: str) -> Check:
    words = (
        "two processes with the same seed answer differently: draw from the rng that the class is given and from "
        "nothing else, and go through sets in a sorted order"
    )
    with submission.another() as other:
        for history in histories:
            try:
                if _walked(submission, history, 3) != _walked(other, history, 3):
                    return Check(SAME, section, words, str(history))
            except (Misbehaved, Wrong):
                continue  # reported elsewhere
    return Check(SAME, section)


def _history(submission: Submission, case: Case, words: str) -> None:
    """The cores of some flows in the last period, flows that share a core then, or all cores in every period."""
    history = History.read(case)
    found = _walked(submission, history)
    on, together = dict(case.get("on", ())), case.get("together", [])
    if any(found[-1][flow] != core for flow, core in on.items()) or len({found[-1][f] for f in together}) > 1:
        where = ", ".join(f"flow {flow} on core {found[-1][flow]}" for flow in (*on, *together))
        raise Wrong(f"{words} Found in the last period: {where}", str(history))
    for period, right in enumerate(case.get("cores", ())):
        for flow, core in right:
            if (mine := found[period][flow]) != core:
                since = "was there in the last period" if period and flow in found[period - 1] else "is new"
                wrong = f"in period {period + 1}, flow {flow}, which {since}, is put on core {mine}: {words}"
                raise Wrong(wrong, str(history))


# --- annealing ----------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """A search's report after a period: the cores of hosts, the energy of that state, and of the initial state."""

    core_of: Int64
    energy: float
    initial: float


def _period(submission: Submission, flows: LargeFlows) -> _State:
    """One period; raises Wrong if its report cannot be read, or its answer does not match its state."""
    links = LinkState(TREE)
    answer = submission.place(flows, links)
    core, core_of = valid(flows, links, answer), answer.values.get("core_of", np.zeros(0))
    whole = core_of.shape == (TREE.num_hosts,) and core_of.dtype.kind in "iu"
    if not whole or not 0 <= core_of.min() <= core_of.max() < TREE.num_cores:
        hosts = f"a core for each of the {TREE.num_hosts} hosts"
        raise Wrong(f"after place, core_of must be an array of whole numbers, {hosts}")
    energy, initial = (answer.numbers.get(name, np.nan) for name in ("energy", "initial_energy"))
    if not np.isfinite([energy, initial]).all():
        raise Wrong("after place, energy and initial_energy must be numbers")
    beyond = climb(flows.src, flows.dst, TREE.half) == 2
    for n in np.flatnonzero(beyond & (core != core_of[flows.dst]))[:1].tolist():
        goes = f"flow {n} to host {flows.dst[n]} goes by core {core[n]}, the state has {core_of[flows.dst[n]]}"
        rule = "the state is a core for each destination, and place answers with the best state seen"
        raise Wrong(f"{goes} for that host: {rule}")
    return _State(core_of.astype(np.int64), energy, initial)


def flows_of(told: Case) -> LargeFlows:
    """Of a case: each is on its hashed path."""
    src, dst, hashed = (np.array(told[name], dtype=np.int32) for name in ("src", "dst", "hashed"))
    demand = np.array(told["demand"], dtype=float)
    return LargeFlows(np.arange(src.size), src, dst, demand, hashed.copy(), hashed)


def _energy(flows: LargeFlows, core_of: Int64) -> float:
    return exceeded_capacity(TREE, flows.src, flows.dst, flows.demand, core_of[flows.dst], LinkState(TREE))


def _searches(submission: Submission, case: Case, words: str) -> None:
    """What searches report of their states must be true, and they must proceed as in Figure 6."""
    moved, ends, rule = False, [], case["rule"]
    for search in case["searches"]:
        submission.fresh(TREE.k, search["seed"], search["iterations"])
        before: _State | None = None
        for told in search["periods"]:
            flows = flows_of(told)
            state = _period(submission, flows)
            if wrong := _against(rule, flows, state, before):
                raise Wrong(f"{wrong}: {words}", f"seed {search['seed']}, {search['iterations']} iterations, k = 4")
            moved |= state.energy < state.initial - CLOSE
            moved |= before is not None and bool((state.core_of != before.core_of).any())
            before = state
        ends.append(_energy(flows, state.core_of))
    if rule == "finds" and np.mean(ends) > case["enough"]:
        left = f"{np.mean(ends):.2f} links' worth of demand is exceeded, the mean of {len(ends)} searches"
        raise Wrong(f"{left}; a good one leaves at most {case['enough']:.2f}. {words}")
    if rule not in ("finds", "energies") and not moved:
        # Without moves no other rule can be broken.
        raise Wrong("no search ended in another state than it began with, although links carried too much")


def _against(rule: str, flows: LargeFlows, state: _State, before: _State | None) -> str:
    """What is wrong with a period by a rule of Figure 6."""
    if rule == "one to one":
        for pod, cores in enumerate(state.core_of.reshape(TREE.k, -1).tolist()):
            if len(set(cores)) < len(cores):
                return f"the hosts of pod {pod} receive by cores {cores}"
    if rule == "not worse" and state.energy > state.initial + CLOSE:
        return f"the search began at energy {state.initial:.3f} and ends at {state.energy:.3f}"
    if rule == "goes on" and before and abs(state.initial - before.energy) > CLOSE:
        return f"the last period ended at energy {before.energy:.3f}, and the next begins at {state.initial:.3f}"
    if rule == "energies" and before:
        told = ("initial_energy", state.initial, before.core_of), ("energy", state.energy, state.core_of)
        for name, said, core_of in told:
            if abs(said - (right := _energy(flows, core_of))) > CLOSE:
                return f"{name} is {said:.6f}, and computed afresh from the state it is {right:.6f} links"
    return ""


_JUDGES = {"demands": _demands, "order": _order, "history": _history, "searches": _searches}
