"""Figure 6, as a student might write it: the energy is kept move by move."""

import numpy as np

from topos.links import NO_LINK, find_canonical_cores, num_links, path_links


class Annealing:
    def __init__(self, tree, rng, options):
        self.tree, self.rng, self.iterations = tree, rng, options.iterations
        self.core_of = np.arange(tree.num_hosts) % tree.num_cores
        self.energy = self.initial_energy = 0.0

    def place(self, flows, links):
        self.flows, self.capacity = flows, links.up.astype(float)
        self.paths = path_links(
            self.tree,
            np.repeat(flows.src, self.tree.num_cores),
            np.repeat(flows.dst, self.tree.num_cores),
            np.tile(np.arange(self.tree.num_cores), flows.src.size),
        ).reshape(-1, self.tree.num_cores, 6)[:, :, 1:5]
        self.to = [np.flatnonzero(flows.dst == host) for host in range(self.tree.num_hosts)]
        self.load = np.zeros(num_links(self.tree))
        for n, host in enumerate(flows.dst):
            self.put(n, self.core_of[host], flows.demand[n])
        state = self.core_of.copy()
        energy = self.initial_energy = np.maximum(self.load - self.capacity, 0)[self.inner()].sum()
        best, least = state.copy(), energy
        for temperature in range(self.iterations, -1, -1):
            if least <= 1e-12:
                break
            a, b = self.neighbour(state)
            change = self.swap(state, a, b)
            if change >= 0 and not self.accept(change, temperature):
                self.swap(state, a, b)
                continue
            energy += change
            if energy < least - 1e-12:
                best, least = state.copy(), energy
        self.core_of, self.energy = best, least
        return find_canonical_cores(self.tree, flows.src, flows.dst, best[flows.dst])

    def inner(self):
        hosts = self.tree.num_hosts
        return slice(hosts, 5 * hosts)

    def put(self, n, core, amount):
        path = self.paths[n, core]
        path = path[path != NO_LINK]
        before = np.maximum(self.load[path] - self.capacity[path], 0).sum()
        self.load[path] += amount
        return np.maximum(self.load[path] - self.capacity[path], 0).sum() - before

    def swap(self, state, a, b):
        change = 0.0
        for host, core in ((a, state[b]), (b, state[a])):
            for n in self.to[host]:
                change += self.put(n, state[host], -self.flows.demand[n])
                change += self.put(n, core, self.flows.demand[n])
        state[a], state[b] = state[b], state[a]
        return change

    def neighbour(self, state):
        kind, half, cores = self.rng.integers(3), self.tree.k // 2, self.tree.num_cores
        pod = self.rng.integers(self.tree.k) * cores
        if kind == 0:
            hosts = pod + np.arange(cores)
        elif kind == 1:
            hosts = pod + self.rng.integers(half) * half + np.arange(half)
        else:
            hosts = pod + np.flatnonzero(state[pod : pod + cores] // half == self.rng.integers(half))
        return self.rng.choice(hosts, 2, replace=False)

    def accept(self, change, temperature):
        constant = 0.5 * self.iterations
        return temperature > 0 and self.rng.random() < np.exp(-constant * change / temperature)
