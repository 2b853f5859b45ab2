"""The checks of milestones and of the contract. Students' own checks and grading are these same ones.

What is asked, and what is right, is in cases (`classroom.cases`), which are plain JSON: no solution is needed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classroom.answering import History, walk
from classroom.submission import Answer, Misbehaved, Question, Replies, Submission
from hedera.linkstate import LinkState
from hedera.maxmin import compute_max_min_rates
from hedera.placement import LargeFlows, exceeded_capacity
from record.errors import make_printable, to_one_line
from topos.arrays import Float64, Int32, Int64
from topos.fattree import FatTree
from topos.links import climb, num_links, path_links

Case = dict[str, Any]
Judge = Callable[[LargeFlows, LinkState, Int32, Answer], None]
"""Looks at a period: its flows, links, valid cores, and the answer that these are of."""

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
_SHOWN = 20
"""Flows in an example."""
_LONGEST = 1000
"""Characters of a check's text; four times that of its example."""


@dataclass(frozen=True)
class Check:
    """One finding.

    ``name``: what should hold. ``section``: the section of the paper, or the contract, that requires it. ``words``:
    what is wrong, empty if nothing is; ``example``: a small input that shows it. ``weakness``: it is acceptable.
    ``worth``: its points. ``measured``: what came out where nothing is wrong. Part of the text comes from the
    submission: ``words`` are one line, and both are safe for a terminal.
    """

    name: str
    section: str
    words: str = ""
    example: str = ""
    weakness: bool = False
    worth: float = 1.0
    measured: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", to_one_line(self.words, most=_LONGEST))
        object.__setattr__(self, "example", make_printable(self.example[: 4 * _LONGEST]))

    @property
    def passed(self) -> bool:
        return not self.words

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}

    def __str__(self) -> str:
        if self.passed:
            measured = f"\n       {self.measured}" if self.measured else ""
            return f"ok   {self.name} ({self.section}){measured}"
        example = "".join(f"\n         {line}" for line in self.example.splitlines())
        return f"{'weak' if self.weakness else 'NO  '} {self.name} ({self.section})\n       {self.words}{example}"


def with_first(checks: Sequence[Check]) -> list[tuple[Check, Check, int]]:
    """Each check with the first one that fails by the same words, and how many more fail so; a check that passes, and
    the first itself, stand beside themselves."""
    number = Counter(check.words for check in checks if not check.passed)
    first: dict[str, Check] = {}
    firsts = [check if check.passed else first.setdefault(check.words, check) for check in checks]
    return [
        (check, before, 0 if check.passed else number[check.words] - 1)
        for check, before in zip(checks, firsts, strict=True)
    ]


def list_findings(checks: Sequence[Check]) -> str:
    """The findings as text: what is wrong with several checks is said once, with their number."""
    texts = []
    for check, before, more in with_first(checks):
        if before is check:
            texts.append(f"{check}\n       {_count_others(more)}" if more else str(check))
        else:
            label = "weak" if check.weakness else "NO  "
            texts.append(f"{label} {check.name} ({check.section})\n       as for: {before.name}")
    return "\n".join(texts)


def _count_others(more: int) -> str:
    return f"({more} more check{'s fail' if more > 1 else ' fails'} so)"


class Wrong(Exception):
    """A mistake, and the example that shows it; ``rule``: the rule of the contract that it breaks."""

    def __init__(self, words: str, example: str = "", rule: str = "") -> None:
        super().__init__(words)
        self.example, self.rule = example, rule


def run_checks(submission: Submission, checks: Sequence[Case]) -> list[Check]:
    """The findings of checks. One that hangs or dies does not affect the others."""
    results = []
    # All questions are asked at once, before the first answer is judged: to start Python and load a file takes longer
    # than most answers.
    questions = [[question for case in check["cases"] for question in case["questions"]] for check in checks]
    for check, replies in zip(checks, submission.ask(questions), strict=True):
        contract = check["kind"] == "contract"
        results += _check_contract(submission, replies, check) if contract else [_check(replies, check)]
    return results


def compute_earned(checks: Sequence[Check], free: Collection[str] = (), beside: Collection[str] = ()) -> list[float]:
    """The points of each check; those in ``free``, which doing nothing passes, count only if one of ``beside`` does."""
    counts = any(check.name in beside and check.passed for check in checks)
    return [check.worth if check.passed and (counts or check.name not in free) else 0.0 for check in checks]


def is_measurable(checks: Sequence[Check]) -> bool:
    """Whether a scheduler answers, so that its bandwidth can be measured."""
    return all(check.passed for check in checks if check.name in (RAISES, ANSWER, INPUTS))


def _check(replies: Replies, check: Case) -> Check:
    for case in check["cases"]:
        try:
            _JUDGES[check["kind"]](replies, case, check["words"])
        except (Wrong, Misbehaved) as error:
            example = getattr(error, "example", "") or case["setting"]
            return Check(check["name"], check["section"], str(error), example, worth=check["worth"])
    return Check(check["name"], check["section"], worth=check["worth"])


# --- demands ------------------------------------------------------------------------------------------------


def _to_array(answer: Answer, name: str, count: int) -> NDArray[Any]:
    """What was answered, with a number for each flow; raises Wrong if it was not, or inputs were written to."""
    values = answer.values.get(name)
    if values is None:
        raise Wrong(f"it answers with {answer.odd}, not with an array of numbers", rule=ANSWER)
    if values.shape != (count,):
        raise Wrong(f"it answers with shape {values.shape} where there are {count} flows", rule=ANSWER)
    if answer.changed_inputs:
        written = ", ".join(answer.changed_inputs)
        raise Wrong(f"it writes to {written}, which belong to the caller: copy them first", rule=INPUTS)
    return values


def _read_demands(replies: Replies, count: int) -> Float64:
    replies.begin()
    demand = _to_array(replies.next(), "demand", count)
    if not np.isfinite(demand).all():
        raise Wrong("some of the demands are no finite numbers")
    return demand.astype(np.float64)


def _judge_demands(replies: Replies, case: Case, words: str) -> None:
    """A wrong estimate is shown flow by flow."""
    src, dst = case["questions"][0]["src"], case["questions"][0]["dst"]
    demands, right = _read_demands(replies, len(src)), np.array(case["demand"])
    if np.allclose(demands, right, atol=CLOSE):
        return
    if not demands.any():
        words = "all demands are 0: is it still the template, or is a share computed with whole numbers? 1 // 3 is 0"
    for ends, verb in ((src, "sends"), (dst, "receives")):
        total = np.bincount(np.array(ends, dtype=int), weights=demands)
        for host in np.flatnonzero(total > 1 + CLOSE)[:1].tolist():
            words = f"host {host} {verb} {total[host]:.3f} of its link: demands are what NICs allow"
    rows = [
        f"flow {n}: H{s} to H{d}: {answer:.4f}, by Figure 7 {paper:.4f}{'' if abs(answer - paper) < CLOSE else '   <-'}"
        for n, (s, d, answer, paper) in enumerate(zip(src, dst, demands, right, strict=True))
    ]
    raise Wrong(words, "\n".join(rows[:_SHOWN]))


def _judge_order(replies: Replies, case: Case, words: str) -> None:
    in_order, permuted = (_read_demands(replies, len(question["src"])) for question in case["questions"])
    if not in_order.any():
        raise Wrong("all demands are 0, in whatever order")
    if not np.allclose(in_order[case["permutation"]], permuted, atol=CLOSE):
        raise Wrong(words)


# --- schedulers ---------------------------------------------------------------------------------------------


def validate_cores(flows: LargeFlows, links: LinkState, answer: Answer) -> Int32:
    """The cores of an answer. Raises Wrong if they are no cores for these flows, or inputs were written to."""
    core, cores = _to_array(answer, "core", flows.key.size), links.tree.num_cores
    if core.dtype.kind not in "iu" and core.size:
        raise Wrong(f"it answers with {core.dtype}, not with whole numbers", rule=ANSWER)
    if core.size and not 0 <= core.min() <= core.max() < cores:
        raise Wrong(f"it answers with cores {core.min()} to {core.max()}; there are 0 to {cores - 1}", rule=ANSWER)
    return core.astype(np.int32)


def _walk(replies: Replies, question: Question, judge: Judge | None = None) -> list[dict[int, int]]:
    """The cores of flows by key, period by period."""
    replies.begin()

    def place(flows: LargeFlows, links: LinkState) -> Int32:
        answer = replies.next()
        core = validate_cores(flows, links, answer)
        if judge is not None:
            judge(flows, links, core, answer)
        return core

    return walk(History.read(question["history"]), place)


def _check_contract(submission: Submission, replies: Replies, check: Case) -> list[Check]:
    """Every rule of the contract except the one on time, on histories, small ones first; the last case is of those that
    another process must answer alike."""
    broken, moved, answered = dict[str, Check](), False, False
    *cases, again = check["cases"]

    def note(rule: str, words: str, example: str = "", weakness: bool = False) -> None:
        broken.setdefault(rule, Check(rule, check["section"], words, example, weakness, RULES[rule]))

    def judge(flows: LargeFlows, links: LinkState, core: Int32, _: Answer) -> None:
        nonlocal moved, answered
        answered |= bool(flows.key.size)
        moved |= bool((core != flows.hashed).any())
        others = links.usable_cores(flows.src, flows.dst).any(axis=1)
        for n in np.flatnonzero(~links.usable(flows.src, flows.dst, core) & others)[:1].tolist():
            where = f"place puts flow {flows.key[n]} on core {core[n]}, whose path has a failed link: ask links.usable"
            loop = "The loop will move it to a hashed path, which is not your placement"
            raise Wrong(f"{where}(src, dst, core). {loop}", rule=FAILED)

    for case in cases:
        try:
            _walk(replies, case["questions"][0], judge)
        except (Wrong, Misbehaved) as error:
            rule = getattr(error, "rule", RAISES)
            note(rule, str(error), case["setting"], weakness=rule == FAILED)
            if isinstance(error, Misbehaved) and error.kind != "raised":
                break  # it hangs or dies, which is told once
    if not answered:
        reason = next(
            iter(broken)
        )  # which says what is wrong; to say it for every rule would hide that it is one thing
        for rule in RULES:
            note(rule, f"not tried, because it fails at {reason!r}")
    if not moved:
        note(MOVES, "every flow stays where its hash put it: this is ECMP", weakness=True)
    if RAISES in broken:
        note(SAME, "not tried, because it does not always answer")
    elif example := _find_unlike(again["questions"], replies, *submission.another().ask([again["questions"]])):
        draw = "draw from the rng that the class is given and from nothing else, and go through sets in a sorted order"
        note(SAME, f"two processes with the same seed answer differently: {draw}", example)
    return [broken.get(rule) or Check(rule, check["section"], worth=worth) for rule, worth in RULES.items()]


def _find_unlike(questions: Sequence[Question], *processes: Replies) -> str:
    """The first history that two processes answer differently."""
    for question in questions:
        walked = []
        for replies in processes:
            with suppress(Misbehaved, Wrong):  # reported elsewhere
                walked.append(_walk(replies, question))
        if len(walked) == 2 and walked[0] != walked[1]:
            return str(History.read(question["history"]))
    return ""


def _judge_history(replies: Replies, case: Case, words: str) -> None:
    """Which flows are on which cores, period by period, and which share a core in the last one."""
    placed = _walk(replies, case["questions"][0])
    for period, right in enumerate(case["cores"]):
        for flow, core in right:
            if (mine := placed[period][flow]) != core:
                since = "was there in the last period" if period and flow in placed[period - 1] else "is new"
                raise Wrong(f"in period {period + 1}, flow {flow}, which {since}, is put on core {mine}: {words}")
    if len({placed[-1][flow] for flow in case["together"]}) > 1:
        raise Wrong(f"flows {case['together']} do not share a core in the last period: {words}")


# --- annealing ----------------------------------------------------------------------------------------------


class _State(NamedTuple):
    """A search's report after a period: the cores of hosts, the energies that it says, and that of the state."""

    core_of: Int64
    energy: float
    initial: float
    true: float


def _read_state(flows: LargeFlows, core: Int32, answer: Answer) -> _State:
    """One period; raises Wrong if its report cannot be read, or its answer does not match its state."""
    core_of = answer.values.get("core_of", np.zeros(0))
    whole = core_of.shape == (TREE.num_hosts,) and core_of.dtype.kind in "iu"
    if not whole or not 0 <= core_of.min() <= core_of.max() < TREE.num_cores:
        hosts = f"a core for each of the {TREE.num_hosts} hosts"
        raise Wrong(f"after place, core_of must be an array of whole numbers, {hosts}")
    energy, initial = (answer.numbers.get(name, np.nan) for name in ("energy", "initial_energy"))
    if not np.isfinite([energy, initial]).all():
        raise Wrong("after place, energy and initial_energy must be numbers")
    beyond = climb(flows.src, flows.dst, TREE.half) == 2
    for n in np.flatnonzero(beyond & (core != core_of[flows.dst]))[:1].tolist():
        to = flows.dst[n]
        goes = f"flow {flows.key[n]} to host {to} goes by core {core[n]}, the state has {core_of[to]} for that host"
        raise Wrong(f"{goes}: the state is a core for each destination, and place answers with the best state seen")
    return _State(core_of.astype(np.int64), energy, initial, _compute_energy(flows, core_of))


def _compute_energy(flows: LargeFlows, core_of: NDArray[Any]) -> float:
    core = core_of[flows.dst].astype(np.int64)
    return exceeded_capacity(TREE, flows.src, flows.dst, flows.demand, core, LinkState(TREE))


def _judge_searches(replies: Replies, case: Case, words: str) -> None:
    """Searches must proceed as in Figure 6. Energies are computed from their states, and what they say is compared; the
    first period of each only shows the state that it begins with."""
    moved, ends, rule, states = False, [], case["rule"], list[_State]()

    def judge(flows: LargeFlows, links: LinkState, core: Int32, answer: Answer) -> None:
        states.append(_read_state(flows, core, answer))
        if len(states) > 1 and (wrong := _find_breach(rule, flows, *states[-2:])):
            raise Wrong(f"{wrong}: {words}", "seed {}, {} iterations, k = 4".format(*question["search"]))

    for question in case["questions"]:
        states.clear()
        _walk(replies, question, judge)
        moved |= any((state.core_of != states[0].core_of).any() for state in states)
        ends.append(states[-1].true)
    if rule == "finds" and np.mean(ends) > case["enough"]:
        left = f"{np.mean(ends):.2f} links' worth of demand is exceeded, the mean of {len(ends)} searches"
        raise Wrong(f"{left}; a good one leaves at most {case['enough']:.2f}. {words}")
    if rule != "finds" and not moved:
        # Without moves no other rule can be broken.
        raise Wrong("no search ended in another state than it began with, although links carried too much")


def _find_breach(rule: str, flows: LargeFlows, before: _State, state: _State) -> str:
    """What is wrong with a period by a rule of Figure 6, after the state of the one before it."""
    began, ended = _compute_energy(flows, before.core_of), state.true
    if rule == "one to one":
        for pod, cores in enumerate(state.core_of.reshape(TREE.k, -1).tolist()):
            if len(set(cores)) < len(cores):
                return f"the hosts of pod {pod} receive by cores {cores}"
    if rule == "not worse" and ended > began + CLOSE:
        return f"the search began at energy {began:.3f} and ends at {ended:.3f}"
    if rule == "goes on" and abs(state.initial - began) > CLOSE:
        return f"the last period ended in a state of energy {began:.3f}, and the next begins at {state.initial:.3f}"
    if rule == "energies":
        for name, stated, right in (("initial_energy", state.initial, began), ("energy", state.energy, ended)):
            if abs(stated - right) > CLOSE:
                return f"{name} is {stated:.6f}, and computed afresh from the state it is {right:.6f} links"
    return ""


_JUDGES = {"demands": _judge_demands, "order": _judge_order, "history": _judge_history, "searches": _judge_searches}


# --- bandwidth ----------------------------------------------------------------------------------------------
# Flows last, every flow gets its max-min fair share, and a period follows another. What other schedulers reach, and
# what no paths can exceed, comes with the cases: other traffic in grading than in a student's own check.

BASELINE = "hedera-gff"
AS_GOOD = 0.5
"""Of the points for quality, the share for reaching the baseline's mean; the rest is for certainly exceeding it."""
_T = 2.069  # Student's, for 95 % of 24 simulations


def measure_reached(replies: Replies, case: Case) -> float:
    """The share of the bound that is reached under a case's traffic, a mean over its periods."""
    carried = []

    def judge(flows: LargeFlows, links: LinkState, core: Int32, _: Answer) -> None:
        paths = path_links(links.tree, flows.src, flows.dst, core)
        carried.append(compute_max_min_rates(paths, np.ones(num_links(links.tree)), calls=1).sum())

    _walk(replies, case["questions"][0], judge)
    return float(mean(carried) / case["bound"])


def measure_quality(submission: Submission, cases: Sequence[Case]) -> tuple[float | None, float | None, Check]:
    """The part of the points for quality, the mean share of the bound in percent, and what is to be said of them."""
    name, shares = f"scheduler.py: more bandwidth than {BASELINE}", list[float]()
    (replies,) = submission.ask([[question for case in cases for question in case["questions"]]])
    for case in cases:
        try:
            shares.append(measure_reached(replies, case))
        except (Misbehaved, Wrong) as error:
            return None, None, Check(name, "section 5.5", str(error), case["setting"])
    of_ecmp, of_baseline = (mean(case[scheme] for case in cases) for scheme in ("ecmp", BASELINE))
    base = min(1.0, max(0.0, (mean(shares) - of_ecmp) / max(of_baseline - of_ecmp, 1e-9)))
    more = [round(share - case[BASELINE], 9) + 0.0 for share, case in zip(shares, cases, strict=True)]
    gain, half = mean(more), _T * stdev(more) / len(more) ** 0.5
    # The second half of the points is for what is certainly above the baseline, so that luck on some patterns earns
    # none: all of it from an interval that excludes zero, and less by how far it reaches below.
    above = 0.0 if gain < 1e-9 or base < 1.0 else min(1.0, gain / max(half, 1e-9))
    words = (
        f"it reaches {100 * mean(shares):.1f} % of what no paths can exceed, ECMP {100 * of_ecmp:.1f} %, {BASELINE} "
        f"{100 * of_baseline:.1f} %: {100 * gain:+.1f} points beside it, 95 % interval {100 * (gain - half):+.1f} to "
        f"{100 * (gain + half):+.1f}"
    )
    part = AS_GOOD * base + (1 - AS_GOOD) * above
    full = part >= 1
    lacking = "" if full else f"{words}. All points need an interval above zero"
    check = Check(name, "section 5.5", lacking, measured=words if full else "")
    return part, 100 * mean(shares), check
