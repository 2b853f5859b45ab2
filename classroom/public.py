"""The examples of `classroom.checker`, on which students check their files, with recorded answers.

They come from the milestones' own checks, with a public seed that is not used for grading. The code that computes the
answers is not handed out.
"""

from __future__ import annotations

from dataclasses import asdict
from random import Random
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from classroom import contract
from classroom.checker import NOTHING, shares
from classroom.histories import History, smallest, walk
from classroom.milestones import annealing, demand, first_fit, loop
from classroom.submission import Placed, Turned
from classroom.template import MILESTONES
from hedera.figure_7 import estimate_demands
from hedera.global_first_fit import GlobalFirstFit
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity
from hedera.simulated_annealing import SimulatedAnnealing
from topos.fattree import FatTree
from topos.links import link_ends

SEED = 2010
KNOWN = f"{SEED} is the seed of the students' own checks: grade with another one"
SMALL = 12
"""Up to this number of flows, the results of known mistakes are recorded, too."""
RANDOM = 60
"""Random histories for first fit, the smallest of what was drawn."""
TREE = FatTree(4)
_DEMAND = {
    name: words
    for (name, _, _), words in zip(
        demand.LOOKS,
        (
            "Work through Figure 4 on paper, pass by pass.",
            "Without flows there are no demands: an array of length 0.",
            "Follow Figure 7 through this example, line by line.",
            "The same flows in another order get other demands; each answer belongs to its flow.",
            "It takes more passes, or more time, than in small examples.",
        ),
        strict=True,
    )
}
_LOOP = (
    "The placement is asked once in each period, with the large flows alone, also when there are none.",
    "Large is what was measured above a tenth of a link, 10 of 100 Mb/s, and a Mb/s is 10^6 bits in a second.",
    "A rate is what was counted since the last poll over the time since, not the average over the entry's life.",
    "An entry that was lost and made again counts from 0; what it counted belongs to the time since it was made.",
    "Flows run at 50 Mb/s on links of 100, each acknowledged at 1.5 Mb/s: acknowledgements are no large flows.",
    "Demands are estimated among the large flows alone.",
    "An entry is sent for a flow whose path changes, and for no other.",
)
_ANNEALING = {
    "one to one": "A pod has as many cores as hosts, and each core is used by one of them: a move swaps two.",
    "energies": "Kept move by move, it must cover all links of both hosts' flows between switches, up and down, and "
    "be undone when a move is refused.",
    "not worse": "Figure 6 returns the best state seen, s_B, and not the last one.",
    "goes on": "A period begins with the best state of the last one.",
    "finds": "Are all three kinds of move tried, worse states accepted while it is hot, and few when it is cold?",
}


def public_checks() -> dict[str, list[dict[str, Any]]]:
    """All checks by file, in the order of the milestones; what is in them is plain JSON."""
    made = {
        "demand": _demands(),
        "first-fit": _histories(),
        "annealing": _searches(),
        "loop": _turns(),
    }
    files = {task.file: (task.name, made[name]) for name, task in MILESTONES.items()}
    files["scheduler.py"] = "Scheduler", _contract()
    return {file: [{"attribute": name, **check} for check in checks] for file, (name, checks) in files.items()}


def _rng(name: str) -> Random:
    return Random(f"{SEED} {name}")


# --- demands ------------------------------------------------------------------------------------------------


class _Estimates:
    """Answers by Figure 7, and records its inputs."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def estimate(self, src: list[int], dst: list[int], num_hosts: int) -> Placed:
        right = estimate_demands(src, dst, num_hosts)
        self.asked.append({"src": src, "dst": dst, "hosts": num_hosts, "demand": [round(x, 9) for x in right]})
        return Placed(np.array(right), "", (), {}, {})


def _demands() -> list[dict[str, Any]]:
    checks = []
    for name, section, look in demand.LOOKS:
        fake: Any = _Estimates()
        look(fake, _rng(name))
        cases = sorted({str(case): case for case in fake.asked}.values(), key=lambda case: len(case["src"]))
        for case in cases:
            case["mistakes"] = _mistakes(case) if len(case["src"]) <= SMALL else []
        kind = "demands"
        if name == demand.ORDER:
            kind, (first, second) = "order", fake.asked
            pairs = list(zip(first["src"], first["dst"], strict=True))
            turned, left = [], list(range(len(pairs)))
            for pair in zip(second["src"], second["dst"], strict=True):
                turned.append(next(n for n in left if pairs[n] == pair))
                left.remove(turned[-1])
            cases = [{**first, "turned": turned}]
        checks.append({"name": name, "section": section, "kind": kind, "words": _DEMAND[name], "cases": cases})
    return checks


def _mistakes(case: dict[str, Any]) -> list[tuple[str, list[float]]]:
    """The results of known mistakes, where they are wrong."""
    pairs = list(zip(case["src"], case["dst"], strict=True))
    found = demand.mistaken(pairs, case["hosts"]) if pairs else []
    return [
        (words, np.round(like, 9).tolist())
        for words, like in found
        if not np.allclose(like, case["demand"], atol=demand.CLOSE)
    ]


# --- first fit ----------------------------------------------------------------------------------------------


def _story(history: History, **right: Any) -> dict[str, Any]:
    flows = [asdict(flow) for flow in history.flows]
    return {"periods": history.periods, "flows": flows, "told": str(history), **right}


def _histories() -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = [
        {
            "name": one.name,
            "section": one.section,
            "kind": "histories",
            "words": one.words,
            "cases": [_story(one.history, on=one.on, together=one.together)],
        }
        for one in first_fit.SCENES
    ]
    name, section, _ = first_fit.LOOKS[-1]
    found: dict[str, History] = {}

    def keep(history: History) -> bool:
        if history.k == TREE.k and history.flows:
            found[str(history)] = history
        return False

    smallest(first_fit.RANDOM, keep, _rng(name).randrange(1 << 30), 150)
    cases = []
    for history in sorted(found.values(), key=lambda one: len(one.flows))[:RANDOM]:
        seen = walk(history, GlobalFirstFit(TREE).place)
        cores = [dict(zip(flows.key.tolist(), core.tolist(), strict=True)) for flows, _, core in seen]
        cases.append(_story(history, cores=cores))
    words = (
        "Is that the first path, in the order of tree.path_cores, on which every link has room beside what the flows "
        "before it hold? Or, if no path has, its hashed one?"
    )
    return [
        *checks,
        {"name": name, "section": section, "kind": "histories", "words": words, "cases": cases},
    ]


# --- annealing ----------------------------------------------------------------------------------------------


def _flows(flows: LargeFlows) -> dict[str, list[Any]]:
    return {name: getattr(flows, name).tolist() for name in ("src", "dst", "demand", "hashed")}


def _searches() -> list[dict[str, Any]]:
    checks = []
    for kind, (name, section, _) in zip(_ANNEALING, annealing.LOOKS, strict=True):
        rng, good = _rng(name), []
        finds = kind == "finds"
        drawn = [
            annealing.hashed_flows(rng, "randbij", 1) if finds else annealing.hashed_flows(rng)
            for _ in range(annealing.SEARCHES if finds else annealing.TRIALS)
        ]
        for seed, flows in enumerate(drawn if finds else ()):
            search = SimulatedAnnealing(TREE, np.random.default_rng(seed))
            search.place(flows, LinkState(TREE))
            good.append(search.energy)
        checks.append(
            {
                "name": name,
                "section": section,
                "kind": kind,
                "words": _ANNEALING[kind],
                "iterations": 1000 if finds else annealing.HOT if kind == "not worse" else annealing.SHORT,
                "enough": float(np.mean(good)) + annealing.ENOUGH if finds else None,
                "cases": [_flows(flows) for flows in drawn],
            }
        )
    return checks


# --- the loop -----------------------------------------------------------------------------------------------


class _Turns:
    """Answers as a loop should, with the checker's estimates, and records its inputs."""

    def __init__(self) -> None:
        self.turns: list[dict[str, Any]] = []
        self.types: dict[str, str] = {}
        self.mbps = 0.0
        self.last: dict[int, tuple[int, float]] = {}

    def fresh(self, k: int, loop_mbps: float) -> None:
        self.mbps, self.last = loop_mbps, {}

    def turn(self, columns: dict[str, NDArray[Any]], cores: dict[int, int]) -> Turned:
        now = {name: column.tolist() for name, column in columns.items()}
        large = []
        for n, key in enumerate(now["key"]):
            count, age = now["bytes"][n], now["duration_s"][n]
            before, then = self.last.get(key, (0, 0.0))
            if count < before or age < then:
                before, then = 0, 0.0
            if age > then and 8e-6 * (count - before) / (age - then) > self.mbps / 10:
                large.append(n)
            self.last[key] = count, age
        demands = shares(columns["src"][large], columns["dst"][large], TREE.num_hosts).tolist()
        placed = {now["key"][n]: wanted for n, wanted in zip(large, demands, strict=True)}
        changes = {key: core for key, core in cores.items() if key in placed}
        changes = {key: core for key, core in changes.items() if now["core"][now["key"].index(key)] != core}
        self.types = {name: str(column.dtype) for name, column in columns.items()}
        self.turns.append({"counters": now, "wants": cores, "placed": placed, "changes": changes})
        return Turned(changes, placed, 1)


def _turns() -> list[dict[str, Any]]:
    checks = []
    for words, (name, section, look) in zip(_LOOP, loop.LOOKS, strict=True):
        fake: Any = _Turns()
        look(fake, _rng(name))
        told = f"links of {fake.mbps:g} Mb/s; poll by poll in cases.json"
        case = {"mbps": fake.mbps, "types": fake.types, "turns": fake.turns, "told": told}
        checks.append({"name": name, "section": section, "kind": "turns", "words": words, "cases": [case]})
    return checks


# --- a scheduler of one's own -------------------------------------------------------------------------------


def _drawn(pattern: str, flows_per_host: int = 1) -> LargeFlows:
    return annealing.hashed_flows(_rng(pattern), pattern, flows_per_host)


def _contract() -> list[dict[str, Any]]:
    patterns = ("stride:4", "stride:8", "randbij", "staggered:0.2,0.3")
    drawn = [_drawn(pattern) for pattern in patterns]
    plain = [{**_flows(flows), "down": [], "told": p} for flows, p in zip(drawn, patterns, strict=True)]
    links = LinkState(TREE)

    def exceeded(flows: LargeFlows, core: ArrayLike) -> float:
        return exceeded_capacity(TREE, flows.src, flows.dst, flows.demand, core, links)

    broken = LinkState(TREE)
    down = list(range(TREE.num_hosts, TREE.num_hosts + 2))
    broken.fail(down)
    flows = drawn[0]
    hashed = broken.detour(flows.src, flows.dst, flows.hashed).tolist()
    told = "stride:4; down: " + ", ".join(" to ".join(link_ends(TREE, link)) for link in down)
    failed = {**_flows(flows), "hashed": hashed, "down": down, "told": told}
    none = {**_flows(NOTHING), "down": [], "told": "no flows"}
    form = "answers in the right form, leaves its inputs alone, and says the same for the same seed"
    section = "docs/own-scheduler.md"
    return [
        {"name": form, "section": section, "kind": "contract", "words": "", "cases": [none, *plain]},
        {"name": contract.FAILED, "section": section, "kind": "contract", "words": "", "cases": [failed]},
        {
            "name": contract.MOVES,
            "section": section,
            "kind": "moves",
            "words": "Every flow stays where its hash put it: this is ECMP.",
            "ecmp": sum(exceeded(flows, flows.hashed) for flows in drawn),
            "baseline": sum(exceeded(flows, GlobalFirstFit(TREE).place(flows, links)) for flows in drawn),
            "cases": plain,
        },
    ]
