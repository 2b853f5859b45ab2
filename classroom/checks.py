"""The checks of the milestones, and how they judge answers. Students' own checks and grading are these same ones.

What is asked, and what is right, is in cases (`classroom.cases`), which are plain JSON: no solution is needed here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classroom.contract import Broken, valid
from classroom.histories import History, walk
from classroom.process import Misbehaved
from classroom.submission import Submission
from classroom.verdict import Check
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity
from topos.fattree import FatTree
from topos.links import climb

Case = dict[str, Any]

CLOSE = 1e-6
TREE = FatTree(4)
"""Of the checks of annealing and of the loop."""
_SHOWN = 20
"""Flows in an example."""


class Wrong(Exception):
    """A mistake, and the example that shows it."""

    def __init__(self, words: str, example: str = "") -> None:
        super().__init__(words)
        self.example = example


def run_checks(submission: Submission, checks: Sequence[Case]) -> list[Check]:
    """The findings of checks, one after another. One that hangs or dies does not affect the others."""
    return [_checked(submission, check) for check in checks]


def _checked(submission: Submission, check: Case) -> Check:
    for case in check["cases"]:
        try:
            _JUDGES[check["kind"]](submission, case, check["words"])
        except Wrong as wrong:
            return Check(check["name"], check["section"], str(wrong), wrong.example or case["told"])
        except (Misbehaved, Broken) as error:
            return Check(check["name"], check["section"], str(error), case["told"])
    return Check(check["name"], check["section"])


# --- demands ------------------------------------------------------------------------------------------------


def _demands_of(submission: Submission, src: Sequence[int], dst: Sequence[int], hosts: int) -> NDArray[np.float64]:
    answer = submission.estimate(src, dst, hosts)
    demand = answer.values.get("demand")
    if demand is None:
        raise Wrong(f"the answer is {answer.odd}, not an array of numbers")
    if demand.shape != (len(src),):
        raise Wrong(f"the answer has shape {demand.shape} where there are {len(src)} flows")
    if answer.touched:
        raise Wrong(f"{' and '.join(answer.touched)} belong to the caller and have been written to")
    if not np.isfinite(demand).all():
        raise Wrong("some of the demands are no finite numbers")
    return demand.astype(np.float64)


def _demands(submission: Submission, case: Case, words: str) -> None:
    """A wrong estimate is shown flow by flow; the result of a known mistake is recognised."""
    src, dst, right = case["src"], case["dst"], np.array(case["demand"])
    given = _demands_of(submission, src, dst, case["hosts"])
    if np.allclose(given, right, atol=CLOSE):
        return
    rows = [
        f"flow {n}: H{s} to H{d}: {mine:.4f}, by Figure 7 {its:.4f}{'' if abs(mine - its) < CLOSE else '   <-'}"
        for n, (s, d, mine, its) in enumerate(zip(src, dst, given, right, strict=True))
    ]
    known = [told for told, like in case["mistakes"] if np.allclose(given, like, atol=CLOSE)]
    for ends, verb in ((src, "sends"), (dst, "receives")):
        total = np.bincount(np.array(ends, dtype=int), weights=given)
        above = np.flatnonzero(total > 1 + CLOSE).tolist()
        known += [f"host {host} {verb} {total[host]:.3f} of its link: demands are what NICs allow" for host in above]
    raise Wrong([*known, words][0], "\n".join(rows[:_SHOWN]))


def _order(submission: Submission, case: Case, words: str) -> None:
    src, dst, turned = (np.array(case[name]) for name in ("src", "dst", "turned"))
    given = _demands_of(submission, src.tolist(), dst.tolist(), case["hosts"])
    again = _demands_of(submission, src[turned].tolist(), dst[turned].tolist(), case["hosts"])
    if not given.any():
        raise Wrong("all demands are 0, in whatever order")
    if not np.allclose(given[turned], again, atol=CLOSE):
        raise Wrong(words)


# --- first fit ----------------------------------------------------------------------------------------------


def _history(submission: Submission, case: Case, words: str) -> None:
    """The cores of some flows in the last period, flows that share a core then, or all cores in every period."""
    history = History.read(case)
    submission.fresh(history.k)
    found = walk(history, lambda flows, links: valid(flows, links, submission.place(flows, links)))
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


@dataclass(frozen=True, eq=False)
class _State:
    """A search's report after a period: the cores of hosts, the energy of that state, and of the initial state."""

    core_of: NDArray[np.int64]
    energy: float
    initial: float


def _flows(told: Case) -> LargeFlows:
    src, dst, hashed = (np.array(told[name], dtype=np.int32) for name in ("src", "dst", "hashed"))
    return LargeFlows(np.arange(src.size), src, dst, np.array(told["demand"], dtype=float), hashed.copy(), hashed)


def _period(submission: Submission, flows: LargeFlows) -> _State:
    """One period; raises Wrong or Broken if its report cannot be read, or its answer does not match its state."""
    links = LinkState(TREE)
    answer = submission.place(flows, links)
    core, core_of = valid(flows, links, answer), answer.values.get("core_of", np.zeros(0))
    whole = core_of.shape == (TREE.num_hosts,) and core_of.dtype.kind in "iu"
    if not whole or not 0 <= core_of.min() <= core_of.max() < TREE.num_cores:
        hosts = f"a core for each of the {TREE.num_hosts} hosts"
        raise Wrong(f"after place, core_of must be an array of whole numbers, {hosts}")
    for name in ("energy", "initial_energy"):
        if not np.isfinite(answer.numbers.get(name, np.nan)):
            raise Wrong(f"after place, {name} must be a number")
    beyond = climb(flows.src, flows.dst, TREE.half) == 2
    for n in np.flatnonzero(beyond & (core != core_of[flows.dst]))[:1].tolist():
        goes = f"flow {n} to host {flows.dst[n]} goes by core {core[n]}, the state has {core_of[flows.dst[n]]}"
        rule = "the state is a core for each destination, and place answers with the best state seen"
        raise Wrong(f"{goes} for that host: {rule}")
    return _State(core_of.astype(np.int64), answer.numbers["energy"], answer.numbers["initial_energy"])


def _energy(flows: LargeFlows, core_of: NDArray[np.int64]) -> float:
    return exceeded_capacity(TREE, flows.src, flows.dst, flows.demand, core_of[flows.dst], LinkState(TREE))


def _searches(submission: Submission, case: Case, words: str) -> None:
    """What searches report of their states must be true, and they must proceed as in Figure 6."""
    moved, ends = False, []
    for search in case["searches"]:
        submission.fresh(TREE.k, search["seed"], search["iterations"])
        before: _State | None = None
        for recorded in search["periods"]:
            flows = _flows(recorded)
            state = _period(submission, flows)
            if wrong := _against(case["rule"], flows, state, before):
                raise Wrong(f"{wrong}: {words}", f"seed {search['seed']}, {search['iterations']} iterations, k = 4")
            moved |= state.energy < state.initial - CLOSE
            moved |= before is not None and bool((state.core_of != before.core_of).any())
            before = state
        ends.append(_energy(flows, state.core_of))
    if case["rule"] == "finds":
        if np.mean(ends) > case["enough"]:
            left = f"{np.mean(ends):.2f} links' worth of demand is exceeded, the mean of {len(ends)} searches"
            raise Wrong(f"{left}; a good one leaves at most {case['enough']:.2f}. {words}")
    elif case["rule"] != "energies" and not moved:
        # Without moves no other rule can be broken.
        raise Wrong("no search ended in another state than it began with, although links carried too much")


def _against(rule: str, flows: LargeFlows, state: _State, before: _State | None) -> str:
    """What is wrong with a period by a rule of Figure 6."""
    if rule == "one to one":
        for pod, cores in enumerate(state.core_of.reshape(TREE.k, -1).tolist()):
            if len(set(cores)) < len(cores):
                return f"the hosts of pod {pod} receive by cores {cores}"
    if rule == "energies" and before is not None:
        for name, said, core_of in (
            ("initial_energy", state.initial, before.core_of),
            ("energy", state.energy, state.core_of),
        ):
            if abs(said - (right := _energy(flows, core_of))) > CLOSE:
                return f"{name} is {said:.6f}, and computed afresh from the state it is {right:.6f} links"
    if rule == "not worse" and state.energy > state.initial + CLOSE:
        return f"the search began at energy {state.initial:.3f} and ends at {state.energy:.3f}"
    if rule == "goes on" and before is not None and abs(state.initial - before.energy) > CLOSE:
        return f"the last period ended at energy {before.energy:.3f}, and the next begins at {state.initial:.3f}"
    return ""


# --- the loop -----------------------------------------------------------------------------------------------


def _turns(submission: Submission, case: Case, words: str) -> None:
    """A loop's answers to polls of the edge switches: each poll says which of them is judged."""
    submission.fresh(TREE.k, loop_mbps=case["mbps"])
    for number, turn in enumerate(case["turns"], 1):
        answer = submission.turn(turn["counters"], dict(turn["wants"]))
        if answer.odd:
            raise Wrong(f"round answers with {answer.odd}, not with a dictionary of cores by key")
        changes = dict(zip(*(answer.values[name].tolist() for name in ("changed", "to")), strict=True))
        if strange := [core for core in changes.values() if not 0 <= core < TREE.num_cores]:
            raise Wrong(f"round moves a flow to core {strange[0]}; there are 0 to {TREE.num_cores - 1}")
        placed = dict(zip(*(answer.values[name].tolist() for name in ("placed", "demand")), strict=True))
        found = {"asked": answer.numbers.get("asked"), "placed": sorted(placed), "changes": sorted(changes.items())}
        for what, said in (
            ("asked", "the placement is asked so many times"),
            ("placed", "flows are placed"),
            ("changes", "flows are moved, each to a core"),
        ):
            right = [tuple(pair) for pair in turn[what]] if what == "changes" and what in turn else turn.get(what)
            if right is not None and found[what] != right:
                raise Wrong(f"{words} In period {number} these {said}: {found[what]}, and it should be {right}")
        for key, demand in turn.get("demand", ()):
            if abs(placed.get(key, -1.0) - demand) > CLOSE:
                given = f"with demand {placed[key]:.4f}" if key in placed else "not at all"
                raise Wrong(f"{words} Flow {key} is handed on {given}, and its demand is {demand:.4f}")


_JUDGES: dict[str, Callable[[Submission, Case, str], None]] = {
    "demands": _demands,
    "order": _order,
    "history": _history,
    "searches": _searches,
    "turns": _turns,
}


def share_passed(checks: Sequence[Check], free: Collection[str] = ()) -> float:
    """The fraction of checks passed; 0 if only those in ``free`` did, which an empty solution passes, too."""
    passed = [check.name for check in checks if check.passed]
    return len(passed) / len(checks) if set(passed) - set(free) else 0.0
