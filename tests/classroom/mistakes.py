"""Mistakes of earlier replications, each seeded into a copy of a solution that is right; and what finds it.

They are those that a scheduler can make; docs/notes/class.md names those that it cannot.
"""

from dataclasses import dataclass
from pathlib import Path

SOLUTIONS = Path(__file__).with_name("solutions")


@dataclass(frozen=True)
class Mistake:
    """``right`` is replaced by ``wrong`` in the milestone's solution; ``found_by`` is the name of a check."""

    name: str
    milestone: str
    found_by: str
    right: str
    wrong: str

    @property
    def file(self) -> str:
        return f"{self.milestone.replace('-', '_')}.py"


MISTAKES = [
    Mistake("demand estimation stops after one pass", "demand", "the example of Figure 4",
        "if np.abs(demand - before).max(initial=0) < 1e-12:", "if True:"),
    Mistake("EST-DST's inner loop runs once", "demand", "random flows, as Figure 7 has it",
        "        limited &= ~small\n        share = (1.0 - demand[mine & ~limited].sum()) / limited.sum()\n",
        "        limited &= ~small\n        share = (1.0 - demand[mine & ~limited].sum()) / limited.sum()\n"
        "        break\n"),
    Mistake("integer division makes demands 0", "demand", "the example of Figure 4",
        "demand[mine & converged].sum()) / free.sum()", "demand[mine & converged].sum()) // free.sum()"),
    Mistake("a sender's flows share its link anew, those with a demand already too",
        "demand", "random flows, as Figure 7 has it",
        "free = mine & ~converged", "free = mine"),
    Mistake("a flow that its receiver limits never counts as converged", "demand", "the example of Figure 4",
        "    converged[limited] = True\n", "    converged[limited] = demand[limited] < 0\n"),
    Mistake("a receiver limits all of its flows alike", "demand", "random flows, as Figure 7 has it",
        "    demand[limited] = share\n    converged[limited] = True\n",
        "    demand[mine] = 1.0 / mine.sum()\n    converged[mine] = True\n"),
    Mistake("receivers do not limit", "demand", "flows that one pass decides",
        "demand[mine].sum() <= 1.0 + 1e-12", "True"),
    Mistake("the two flows of a pair count as one", "demand", "the example of Figure 4",
        "    demand = np.zeros(len(src))\n",
        "    src, dst = np.unique(np.array([src, dst]), axis=1)\n    demand = np.zeros(len(src))\n"),
    Mistake("sorted flows, demands in the order of the sorted ones", "demand", "the order of the flows does not matter",
        "    demand = np.zeros(len(src))\n",
        "    order = np.lexsort((dst, src))\n    src, dst = src[order], dst[order]\n    demand = np.zeros(len(src))\n"),
    Mistake("a fixed number of passes that is enough for small examples", "demand", "600 flows among 128 hosts",
        "    while True:\n        before = demand.copy()\n",
        "    for _ in range(4):\n        before = demand.copy()\n"),
    Mistake("reservations are never released", "first-fit", "reservations are cleared when flows expire",
        "        used = np.zeros(num_links(self.tree))\n",
        "        used = self.used = getattr(self, 'used', np.zeros(num_links(self.tree)))\n"),
    Mistake("Figure 5's < taken at its word", "first-fit", "a demand of 1.0 fits an empty link",
        "used[path] + flows.demand[n] <= 1.0", "used[path] + flows.demand[n] < 1.0"),
    Mistake("nothing is reserved at all", "first-fit", "reserved capacity is not given away twice",
        "                    used[path] += flows.demand[n]\n", ""),
    Mistake("an assigned flow is placed anew in each period", "first-fit", "an assigned flow keeps its path",
        "        self.path_of = {key: self.path_of[key] for key in flows.key.tolist() if key in self.path_of}\n",
        "        self.path_of = {}\n"),
    Mistake("what fits nowhere reserves its hashed path",
        "first-fit", "a flow that fits nowhere goes by its hash and holds nothing",
        "                    break\n",
        "                    break\n            else:\n"
        "                used[self.between_switches(flows, n, core[n])] += flows.demand[n]\n"),
    Mistake("paths are searched from the last core", "first-fit", "a demand of 1.0 fits an empty link",
        "in self.tree.path_cores(int(flows.src[n]), int(flows.dst[n])):",
        "in self.tree.path_cores(int(flows.src[n]), int(flows.dst[n]))[::-1]:"),
    Mistake("the way up is looked at, and the way down is not", "first-fit", "random histories, as Figure 5 has it",
        "[0, 1:5]", "[0, 1:3]"),
    Mistake("any flow on a path takes all of it", "first-fit", "two flows of half a link share one",
        "                    used[path] += flows.demand[n]\n", "                    used[path] += 1.0\n"),
    Mistake("what a flow holds is booked again in each period",
        "first-fit", "what a flow holds does not grow from period to period",
        "        used = np.zeros(num_links(self.tree))\n",
        "        if not hasattr(self, 'used') or not self.path_of:\n"
        "            self.used = np.zeros(num_links(self.tree))\n        used = self.used\n"),
    Mistake("the least loaded path instead of the first that fits", "first-fit", "two flows of half a link share one",
        "in self.tree.path_cores(int(flows.src[n]), int(flows.dst[n])):",
        "in sorted(self.tree.path_cores(int(flows.src[n]), int(flows.dst[n])), key=lambda c: "
        "used[self.between_switches(flows, n, c)].max(initial=0)):"),
    Mistake("a refused move leaves its energy behind", "annealing", "energies are those of their states",
        "                self.swap(state, a, b)\n                continue\n",
        "                energy += change + self.swap(state, a, b) + 1e-3\n                continue\n"),
    Mistake("links down from the core are left out of the energy", "annealing", "energies are those of their states",
        "[:, :, 1:5]", "[:, :, 1:3]"),
    Mistake("a search that climbs, and forgets where it was better", "annealing", "never worse than its start",
        "        self.core_of, self.energy = best, least\n",
        "        for _ in range(200):\n            if energy > self.initial_energy:\n                break\n"
        "            energy += self.swap(state, *self.neighbour(state))\n"
        "        self.core_of, self.energy, best = state, energy, state\n"),
    Mistake("any core for any host", "annealing", "the hosts of a pod share no core",
        "np.arange(tree.num_hosts) % tree.num_cores", "rng.integers(0, tree.num_cores, tree.num_hosts)"),
    Mistake("each period begins with the first state again", "annealing",
        "a period begins with the best state of the last",
        "        self.flows, self.capacity",
        "        self.core_of = np.arange(self.tree.num_hosts) % self.tree.num_cores\n"
        "        self.flows, self.capacity"),
    Mistake("only improvements are accepted", "annealing", "it finds good states",
        "        return temperature > 0 and self.rng.random() < np.exp(-constant * change / temperature)",
        "        return False"),
    Mistake("the last state instead of the best", "annealing", "never worse than its start",
        "            if energy < least - 1e-12:\n", "            if True:\n"),
    Mistake("only hosts of one edge switch swap", "annealing", "it finds good states",
        "kind, half, cores = self.rng.integers(3)", "kind, half, cores = 1"),
    Mistake("one of the two hosts of a swap keeps its core", "annealing", "energies are those of their states",
        "        for host, core in ((a, state[b]), (b, state[a])):\n",
        "        for host, core in ((a, state[b]), (b, state[b])):\n"),
    Mistake("the fullest link instead of the sum over all", "annealing", "energies are those of their states",
        "0)[self.inner()].sum()", "0)[self.inner()].max()"),
]  # fmt: skip


def seeded(mistake: Mistake) -> str:
    """The solution with the mistake in it."""
    text = (SOLUTIONS / mistake.file).read_text()
    assert text.count(mistake.right) == 1, (
        f"{mistake.name}: what is replaced is there {text.count(mistake.right)} times"
    )
    return text.replace(mistake.right, mistake.wrong)
