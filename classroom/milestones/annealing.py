"""Milestone 3, Simulated Annealing (Hedera section 4.4, Figure 6).

The search is random, so no single state is right or wrong. But what it reports about its own states (``core_of``,
``energy``, ``initial_energy``) must be true, and the search must proceed as in Figure 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from classroom.contract import Broken, valid
from classroom.looks import Look
from classroom.submission import Submission
from hedera.demand import estimate_demands
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows, exceeded_capacity
from topos.fattree import FatTree
from topos.links import canonical_cores, climb
from traffic.patterns import draw

CLOSE = 1e-6
TREE = FatTree(4)
TRIALS = 5
SHORT = 150
"""Iterations for checks of the reported states only."""
HOT = 8
"""Iterations of a search that ends while still hot: its last state is often not its best."""
SEARCHES = 16
"""Bijections on which searches are compared: a pure descent leaves 1.9 links' worth of demand exceeded there."""
ENOUGH = 0.6
"""How much more than the project's own search may be left exceeded, in links, on average over these."""


class Wrong(Exception):
    """A reported state or energy is wrong."""


@dataclass(frozen=True, eq=False)
class State:
    """A search's report after a period: the cores of hosts, the energy of that state, and of the initial state."""

    core_of: NDArray[np.int64]
    energy: float
    initial_energy: float


def hashed_flows(rng: Random, pattern: str = "random", flows_per_host: int = 2) -> LargeFlows:
    """Random traffic on hashed paths; by default two flows from each host."""
    matrix = draw(pattern, TREE, rng.randrange(1 << 30), flows_per_host=flows_per_host)
    hashed = np.array([rng.randrange(4) for _ in matrix.src], dtype=np.int32)
    hashed = canonical_cores(TREE, matrix.src, matrix.dst, hashed)
    demand = estimate_demands(matrix.src, matrix.dst, TREE.num_hosts)
    return LargeFlows(np.arange(len(matrix)), matrix.src, matrix.dst, demand, hashed, hashed)


def _nothing() -> LargeFlows:
    none = np.zeros(0, dtype=np.int32)
    return LargeFlows(none.astype(np.int64), none, none, np.zeros(0), none, none)


def _period(submission: Submission, flows: LargeFlows) -> State:
    """One period; raises Wrong or Broken if its report cannot be read, or its answer does not match its state."""
    links = LinkState(TREE)
    told = submission.place(flows, links)
    core = valid(flows, links, told)
    core_of = told.arrays.get("core_of")
    if (
        core_of is None
        or core_of.shape != (TREE.num_hosts,)
        or not 0 <= core_of.min() <= core_of.max() < TREE.num_cores
    ):
        raise Wrong(
            f"after place, core_of must be an array of whole numbers, a core for each of the {TREE.num_hosts} hosts"
        )
    for name in ("energy", "initial_energy"):
        if not np.isfinite(told.numbers.get(name, np.nan)):
            raise Wrong(f"after place, {name} must be a number")
    beyond = climb(flows.src, flows.dst, TREE.half) == 2
    strays = np.flatnonzero(beyond & (core != core_of[flows.dst]))
    if strays.size:
        n = int(strays[0])
        raise Wrong(
            f"flow {n} to host {flows.dst[n]} goes by core {core[n]}, the state has "
            f"{core_of[flows.dst[n]]} for that host: the "
            "state is a core for each destination, and place answers with the best state seen"
        )
    return State(core_of.astype(np.int64), told.numbers["energy"], told.numbers["initial_energy"])


def _energy(flows: LargeFlows, core_of: NDArray[np.int64]) -> float:
    """The energy of a state, computed from scratch."""
    return exceeded_capacity(TREE, flows.src, flows.dst, flows.demand, core_of[flows.dst], LinkState(TREE))


def _one_to_one(core_of: NDArray[np.int64]) -> str:
    """A sentence on what is wrong with the cores of a pod's hosts, if anything."""
    for pod in range(TREE.k):
        cores = core_of[pod * TREE.num_cores : (pod + 1) * TREE.num_cores].tolist()
        if len(set(cores)) < len(cores):
            return (
                f"the hosts of pod {pod} receive by cores {cores}: as many cores as a pod has hosts, and "
                "each is to be used "
                "by one of them"
            )
    return ""


def _told(look: Look) -> Look:
    """The same check, which reports wrong answers as findings."""

    def safe(submission: Submission, rng: Random) -> tuple[str, str]:
        try:
            return look(submission, rng)
        except (Wrong, Broken) as error:
            return str(error), "k = 4, two flows from each host to random others"

    return safe


def _mapping(submission: Submission, rng: Random) -> tuple[str, str]:
    submission.fresh(4, iterations=SHORT)
    first = _period(submission, _nothing())
    if wrong := _one_to_one(first.core_of):
        return f"{wrong} (in the first state)", ""
    states = [_period(submission, hashed_flows(rng)).core_of for _ in range(3)]
    for core_of in states:
        if wrong := _one_to_one(core_of):
            return f"{wrong} (after a search: does every move swap two cores of one pod?)", ""
    return _searched(any((core_of != first.core_of).any() for core_of in states))


def _searched(moved: bool) -> tuple[str, str]:
    """A finding if no search ended in another state than it began with: without moves no other rule can be broken."""
    if moved:
        return "", ""
    return "no search ended in another state than it began with, although links carried too much", ""


def _true_energy(submission: Submission, rng: Random) -> tuple[str, str]:
    for seed in range(TRIALS):
        submission.fresh(4, seed, SHORT)
        first = _period(submission, _nothing())
        flows = hashed_flows(rng)
        state = _period(submission, flows)
        for which, said, core_of in (
            ("initial_energy", state.initial_energy, first.core_of),
            ("energy", state.energy, state.core_of),
        ):
            right = _energy(flows, core_of)
            if abs(said - right) > CLOSE:
                return (
                    f"{which} is {said:.6f}, and computed afresh from the state it is {right:.6f} links. "
                    "A difference that is "
                    "kept move by move must cover all links of both hosts' flows, up and down, and be "
                    "undone when a move "
                    "is refused; links between hosts and edge switches do not count",
                    f"seed {seed}, k = 4, two flows from each host to random others",
                )
    return "", ""


def _not_worse(submission: Submission, rng: Random) -> tuple[str, str]:
    moved = False
    for seed in range(2 * TRIALS):
        hot = seed >= TRIALS
        submission.fresh(4, seed, HOT if hot else SHORT)
        flows = hashed_flows(rng)
        for _ in range(8 if hot else 1):
            state = _period(submission, flows)
            if state.energy > state.initial_energy + CLOSE:
                return (
                    f"the search began at energy {state.initial_energy:.3f} and ends at {state.energy:.3f}: "
                    "Figure 6 returns the "
                    "best state seen, s_B, and not the last one",
                    f"seed {seed}, k = 4, {HOT if hot else SHORT} iterations a period",
                )
            moved |= state.energy < state.initial_energy - CLOSE
    return _searched(moved)


def _goes_on(submission: Submission, rng: Random) -> tuple[str, str]:
    moved = False
    for seed in range(TRIALS):
        submission.fresh(4, seed, SHORT)
        flows = hashed_flows(rng)
        before = _period(submission, flows)
        again = _period(submission, flows)
        if abs(again.initial_energy - before.energy) > CLOSE:
            return (
                f"the last period ended at energy {before.energy:.3f}, and the next, of the same flows, begins at "
                f"{again.initial_energy:.3f}: it begins with the best state of the last one",
                f"seed {seed}, k = 4",
            )
        moved |= before.energy < before.initial_energy - CLOSE
    return _searched(moved)


def _finds(submission: Submission, rng: Random) -> tuple[str, str]:
    from hedera.simulated_annealing import SimulatedAnnealing

    links, mine, ours = LinkState(TREE), [], []
    for seed in range(SEARCHES):
        flows = hashed_flows(rng, "randbij", 1)
        submission.fresh(4, seed)
        mine.append(_energy(flows, _period(submission, flows).core_of))
        reference = SimulatedAnnealing(TREE, np.random.default_rng(seed))
        reference.place(flows, links)
        ours.append(reference.energy)
    if np.mean(mine) <= np.mean(ours) + ENOUGH:
        return "", ""
    return (
        f"after 1000 iterations {np.mean(mine):.2f} links' worth of demand is exceeded, the mean of "
        f"{SEARCHES} searches; the project's own "
        f"leaves {np.mean(ours):.2f}. Are all three kinds of move tried, worse states accepted while it "
        "is hot, and few when it is cold?",
        "k = 4, random bijections: each host sends a flow and receives one",
    )


LOOKS: list[tuple[str, str, Look]] = [
    ("the hosts of a pod share no core", "section 4.4, State and Initial state", _told(_mapping)),
    ("energies are those of their states", "section 4.4, Energy", _told(_true_energy)),
    ("never worse than its start", "section 4.4, Figure 6", _told(_not_worse)),
    (
        "a period begins with the best state of the last",
        "section 4.4, Dynamically changing flows",
        _told(_goes_on),
    ),
    ("it finds good states", "section 4.4, Figure 6 and Neighbor generator", _told(_finds)),
]
