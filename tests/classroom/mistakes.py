"""Mistakes of earlier replications, each seeded into a copy of a solution that is right; and what finds it.

They are those that a scheduler can make (docs/assignment/instructor.md lists them all).
"""

from dataclasses import dataclass
from pathlib import Path

SOLUTIONS = Path(__file__).with_name("solutions")


@dataclass(frozen=True)
class Mistake:
    """``right`` is replaced by ``wrong`` in the milestone's solution; ``found_by`` is the name of a check."""

    name: str
    milestone: str
    right: str
    wrong: str
    found_by: str
    words: str


MISTAKES = [
    Mistake(
        "demand estimation stops after one pass",
        "demand",
        "if np.abs(demand - before).max(initial=0) < 1e-12:",
        "if True:",
        "the example of Figure 4",
        "one pass of EST-SRC and EST-DST",
    ),
    Mistake(
        "EST-DST's inner loop runs once",
        "demand",
        "        limited &= ~small\n        share = (1.0 - demand[mine & ~limited].sum()) / limited.sum()\n",
        "        limited &= ~small\n        share = (1.0 - demand[mine & ~limited].sum()) / "
        "limited.sum()\n        break\n",
        "random flows, as Figure 7 has it",
        "lines 9 to 18",
    ),
    Mistake(
        "integer division makes demands 0",
        "demand",
        "demand[mine & converged].sum()) / free.sum()",
        "demand[mine & converged].sum()) // free.sum()",
        "the example of Figure 4",
        "1 // 3 is 0",
    ),
    Mistake(
        "reservations are never released",
        "first-fit",
        "        used = np.zeros(num_links(self.tree))\n",
        "        used = self.used = getattr(self, 'used', np.zeros(num_links(self.tree)))\n",
        "reservations are cleared when flows expire",
        "must be what it reserved",
    ),
    Mistake(
        "Figure 5's < taken at its word",
        "first-fit",
        "used[path] + flows.demand[n] <= 1.0",
        "used[path] + flows.demand[n] < 1.0",
        "a demand of 1.0 fits an empty link",
        "room for exactly that",
    ),
    Mistake(
        "nothing is reserved at all",
        "first-fit",
        "                    used[path] += flows.demand[n]\n",
        "",
        "reserved capacity is not given away twice",
        "the first holds core 0",
    ),
    Mistake(
        "an assigned flow is placed anew in each period",
        "first-fit",
        "        self.path_of = {key: self.path_of[key] for key in flows.key.tolist() if key in self.path_of}\n",
        "        self.path_of = {}\n",
        "an assigned flow keeps its path",
        "the other stays",
    ),
    Mistake(
        "what fits nowhere reserves its hashed path",
        "first-fit",
        "                    break\n",
        "                    break\n            else:\n                used[self.between_switches(flows, "
        "n, core[n])] += flows.demand[n]\n",
        "a flow that fits nowhere goes by its hash and holds nothing",
        "must not suffer",
    ),
    Mistake(
        "a refused move leaves its energy behind",
        "annealing",
        "                self.swap(state, a, b)\n                continue\n",
        "                energy += change + self.swap(state, a, b) + 1e-3\n                continue\n",
        "energies are those of their states",
        "computed afresh",
    ),
    Mistake(
        "links down from the core are left out of the energy",
        "annealing",
        "[:, :, 1:5]",
        "[:, :, 1:3]",
        "energies are those of their states",
        "computed afresh",
    ),
    Mistake(
        "the last state instead of the best, from a search that stays hot",
        "annealing",
        "        self.core_of, self.energy = best, least\n",
        "        while energy <= self.initial_energy:\n            energy += self.swap(state, "
        "*self.neighbour(state))\n"
        "        self.core_of, self.energy, best = state, energy, state\n",
        "never worse than its start",
        "and not the last one",
    ),
    Mistake(
        "any core for any host",
        "annealing",
        "np.arange(tree.num_hosts) % tree.num_cores",
        "rng.integers(0, tree.num_cores, tree.num_hosts)",
        "the hosts of a pod share no core",
        "as many cores as a pod has hosts",
    ),
    Mistake(
        "each period begins with the first state again",
        "annealing",
        "        self.flows, self.capacity",
        "        self.core_of = np.arange(self.tree.num_hosts) % self.tree.num_cores\n        "
        "self.flows, self.capacity",
        "a period begins with the best state of the last",
        "begins with the best state",
    ),
    Mistake(
        "the reverse ACK stream counted as a large flow",
        "loop",
        "rate > 0.1",
        "rate > 0.0",
        "acknowledgements are no large flows",
        "acknowledgements",
    ),
    Mistake(
        "acknowledgements take a share of the demands",
        "loop",
        "self.estimate_demands(counters.src[large], counters.dst[large], self.tree.num_hosts)",
        "self.estimate_demands(counters.src, counters.dst, self.tree.num_hosts)[large]",
        "acknowledgements are no large flows",
        "demands [0.5]",
    ),
    Mistake(
        "a rate is the average over the entry's life",
        "loop",
        "count_then, age_then = self.last.get(key, (0, 0.0))",
        "count_then, age_then = 0, 0.0",
        "rates are differences of counters",
        "since the last poll",
    ),
    Mistake(
        "Mibit taken for Mb/s",
        "loop",
        "self.link_mbps * 1e6",
        "self.link_mbps * 2**20",
        "a flow is large above a tenth of a link",
        "10^6 bits",
    ),
    Mistake(
        "every entry is sent again in each period",
        "loop",
        "moved = np.flatnonzero(core != flows.core)",
        "moved = range(core.size)",
        "only what changed is installed",
        "for no other flow",
    ),
    Mistake(
        "the placement is not told that all is quiet",
        "loop",
        "        demand = self.estimate",
        "        if not large.size:\n            return {}\n        demand = self.estimate",
        "the placement is asked once in each period, also when all is quiet",
        "would stay for ever",
    ),
]


def seeded(mistake: Mistake) -> str:
    """The solution with the mistake in it."""
    file = {"first-fit": "first_fit"}.get(mistake.milestone, mistake.milestone)
    text = (SOLUTIONS / f"{file}.py").read_text()
    assert text.count(mistake.right) == 1, (
        f"{mistake.name}: what is replaced is there {text.count(mistake.right)} times"
    )
    return text.replace(mistake.right, mistake.wrong)
