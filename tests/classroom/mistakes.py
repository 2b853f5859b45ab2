"""Mistakes of earlier replications, each seeded into a copy of a solution that is right; and what finds it.

They are those that a scheduler can make (docs/notes/class.md lists them all).
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


MISTAKES = [
    Mistake(
        "demand estimation stops after one pass",
        "demand",
        "if np.abs(demand - before).max(initial=0) < 1e-12:",
        "if True:",
        "the example of Figure 4",
    ),
    Mistake(
        "EST-DST's inner loop runs once",
        "demand",
        "        limited &= ~small\n        share = (1.0 - demand[mine & ~limited].sum()) / limited.sum()\n",
        "        limited &= ~small\n        share = (1.0 - demand[mine & ~limited].sum()) / "
        "limited.sum()\n        break\n",
        "random flows, as Figure 7 has it",
    ),
    Mistake(
        "integer division makes demands 0",
        "demand",
        "demand[mine & converged].sum()) / free.sum()",
        "demand[mine & converged].sum()) // free.sum()",
        "the example of Figure 4",
    ),
    Mistake(
        "reservations are never released",
        "first-fit",
        "        used = np.zeros(num_links(self.tree))\n",
        "        used = self.used = getattr(self, 'used', np.zeros(num_links(self.tree)))\n",
        "reservations are cleared when flows expire",
    ),
    Mistake(
        "Figure 5's < taken at its word",
        "first-fit",
        "used[path] + flows.demand[n] <= 1.0",
        "used[path] + flows.demand[n] < 1.0",
        "a demand of 1.0 fits an empty link",
    ),
    Mistake(
        "nothing is reserved at all",
        "first-fit",
        "                    used[path] += flows.demand[n]\n",
        "",
        "reserved capacity is not given away twice",
    ),
    Mistake(
        "an assigned flow is placed anew in each period",
        "first-fit",
        "        self.path_of = {key: self.path_of[key] for key in flows.key.tolist() if key in self.path_of}\n",
        "        self.path_of = {}\n",
        "an assigned flow keeps its path",
    ),
    Mistake(
        "what fits nowhere reserves its hashed path",
        "first-fit",
        "                    break\n",
        "                    break\n            else:\n                used[self.between_switches(flows, "
        "n, core[n])] += flows.demand[n]\n",
        "a flow that fits nowhere goes by its hash and holds nothing",
    ),
    Mistake(
        "a refused move leaves its energy behind",
        "annealing",
        "                self.swap(state, a, b)\n                continue\n",
        "                energy += change + self.swap(state, a, b) + 1e-3\n                continue\n",
        "energies are those of their states",
    ),
    Mistake(
        "links down from the core are left out of the energy",
        "annealing",
        "[:, :, 1:5]",
        "[:, :, 1:3]",
        "energies are those of their states",
    ),
    Mistake(
        "a search that climbs, and forgets where it was better",
        "annealing",
        "        self.core_of, self.energy = best, least\n",
        "        for _ in range(200):\n            if energy > self.initial_energy:\n                break\n"
        "            energy += self.swap(state, *self.neighbour(state))\n"
        "        self.core_of, self.energy, best = state, energy, state\n",
        "never worse than its start",
    ),
    Mistake(
        "any core for any host",
        "annealing",
        "np.arange(tree.num_hosts) % tree.num_cores",
        "rng.integers(0, tree.num_cores, tree.num_hosts)",
        "the hosts of a pod share no core",
    ),
    Mistake(
        "each period begins with the first state again",
        "annealing",
        "        self.flows, self.capacity",
        "        self.core_of = np.arange(self.tree.num_hosts) % self.tree.num_cores\n        "
        "self.flows, self.capacity",
        "a period begins with the best state of the last",
    ),
    Mistake(
        "the reverse ACK stream counted as a large flow",
        "loop",
        "rate > 0.1",
        "rate > 0.0",
        "acknowledgements are no large flows",
    ),
    Mistake(
        "acknowledgements take a share of the demands",
        "loop",
        "self.estimate_demands(counters.src[large], counters.dst[large], self.tree.num_hosts)",
        "self.estimate_demands(counters.src, counters.dst, self.tree.num_hosts)[large]",
        "acknowledgements are no large flows",
    ),
    Mistake(
        "a rate is the average over the entry's life",
        "loop",
        "count_then, age_then = self.last.get(key, (0, 0.0))",
        "count_then, age_then = 0, 0.0",
        "rates are differences of counters",
    ),
    Mistake(
        "Mibit taken for Mb/s",
        "loop",
        "self.link_mbps * 1e6",
        "self.link_mbps * 2**20",
        "a flow is large above a tenth of a link",
    ),
    Mistake(
        "every entry is sent again in each period",
        "loop",
        "moved = np.flatnonzero(core != flows.core)",
        "moved = range(core.size)",
        "only what changed is installed",
    ),
    Mistake(
        "the placement is not told that all is quiet",
        "loop",
        "        demand = self.estimate",
        "        if not large.size:\n            return {}\n        demand = self.estimate",
        "the placement is asked once in each period, also when all is quiet",
    ),
    Mistake(
        "a sender's flows share its link anew, those with a demand already too",
        "demand",
        "free = mine & ~converged",
        "free = mine",
        "random flows, as Figure 7 has it",
    ),
    Mistake(
        "a flow that its receiver limits never counts as converged",
        "demand",
        "    converged[limited] = True\n",
        "    converged[limited] = demand[limited] < 0\n",
        "the example of Figure 4",
    ),
    Mistake(
        "a receiver limits all of its flows alike",
        "demand",
        "    demand[limited] = share\n    converged[limited] = True\n",
        "    demand[mine] = 1.0 / mine.sum()\n    converged[mine] = True\n",
        "random flows, as Figure 7 has it",
    ),
    Mistake("receivers do not limit", "demand", "demand[mine].sum() <= 1.0 + 1e-12", "True", "the example of Figure 4"),
    Mistake(
        "the two flows of a pair count as one",
        "demand",
        "    demand = np.zeros(len(src))\n",
        "    src, dst = np.unique(np.array([src, dst]), axis=1)\n    demand = np.zeros(len(src))\n",
        "the example of Figure 4",
    ),
    Mistake(
        "sorted flows, demands in the order of the sorted ones",
        "demand",
        "    demand = np.zeros(len(src))\n",
        "    order = np.lexsort((dst, src))\n    src, dst = src[order], dst[order]\n    demand = np.zeros(len(src))\n",
        "the order of the flows does not matter",
    ),
    Mistake(
        "a fixed number of passes that is enough for small examples",
        "demand",
        "    while True:\n        before = demand.copy()\n",
        "    for _ in range(4):\n        before = demand.copy()\n",
        "600 flows among 128 hosts",
    ),
    Mistake(
        "paths are searched from the last core",
        "first-fit",
        "in self.tree.path_cores(int(flows.src[n]), int(flows.dst[n])):",
        "in self.tree.path_cores(int(flows.src[n]), int(flows.dst[n]))[::-1]:",
        "a demand of 1.0 fits an empty link",
    ),
    Mistake(
        "the way up is looked at, and the way down is not",
        "first-fit",
        "[0, 1:5]",
        "[0, 1:3]",
        "random histories, as Figure 5 has it",
    ),
    Mistake(
        "any flow on a path takes all of it",
        "first-fit",
        "                    used[path] += flows.demand[n]\n",
        "                    used[path] += 1.0\n",
        "two flows of half a link share one",
    ),
    Mistake(
        "what a flow holds is booked again in each period",
        "first-fit",
        "        used = np.zeros(num_links(self.tree))\n",
        "        if not hasattr(self, 'used') or not self.path_of:\n            self.used = np.zeros("
        "num_links(self.tree))\n        used = self.used\n",
        "what a flow holds does not grow from period to period",
    ),
    Mistake(
        "the least loaded path instead of the first that fits",
        "first-fit",
        "in self.tree.path_cores(int(flows.src[n]), int(flows.dst[n])):",
        "in sorted(self.tree.path_cores(int(flows.src[n]), int(flows.dst[n])), "
        "key=lambda c: used[self.between_switches(flows, n, c)].max(initial=0)):",
        "two flows of half a link share one",
    ),
    Mistake(
        "only improvements are accepted",
        "annealing",
        "        return temperature > 0 and self.rng.random() < np.exp(-constant * change / temperature)",
        "        return False",
        "it finds good states",
    ),
    Mistake(
        "the last state instead of the best",
        "annealing",
        "            if energy < least - 1e-12:\n",
        "            if True:\n",
        "never worse than its start",
    ),
    Mistake(
        "only hosts of one edge switch swap",
        "annealing",
        "kind, half, cores = self.rng.integers(3)",
        "kind, half, cores = 1",
        "it finds good states",
    ),
    Mistake(
        "one of the two hosts of a swap keeps its core",
        "annealing",
        "        for host, core in ((a, state[b]), (b, state[a])):\n",
        "        for host, core in ((a, state[b]), (b, state[b])):\n",
        "energies are those of their states",
    ),
    Mistake(
        "the fullest link instead of the sum over all",
        "annealing",
        "0)[self.inner()].sum()",
        "0)[self.inner()].max()",
        "energies are those of their states",
    ),
    Mistake(
        "a tenth of a link is large, too, and so is a little less",
        "loop",
        "rate > 0.1",
        "rate > 0.09",
        "a flow is large above a tenth of a link",
    ),
    Mistake(
        "a counter that starts again gives a negative rate",
        "loop",
        "            if count < count_then or age < age_then:\n                count_then, age_then = 0, 0.0\n",
        "",
        "a counter that starts again is no negative rate",
    ),
    Mistake(
        "a measured rate stands for the demand",
        "loop",
        "np.asarray(demand, dtype=float)",
        "rate[large]",
        "demands are those among the large flows",
    ),
    Mistake(
        "the placement is asked for each flow by itself",
        "loop",
        "        core = self.placement.place(flows, links)\n",
        "        core = np.array([self.placement.place(LargeFlows(*(getattr(flows, c)[n:n + 1] for c in "
        "LargeFlows.__dataclass_fields__)), links)[0] for n in range(flows.key.size)], dtype=int)\n",
        "the placement is asked once in each period, also when all is quiet",
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
