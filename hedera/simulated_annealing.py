"""Simulated Annealing with a core per destination host (Hedera section 4.4, Figure 6).

State: a core for each host, by which all flows to it go; inside a pod no two hosts share a core, and swaps
keep it so. Energy: the capacity exceeded, summed over all links. Each move swaps the cores of two hosts: any
two of a pod, two of an edge switch, or two that use one edge or aggregation switch.

What the paper leaves open is settled so. The first state gives the i-th host of every edge switch a core
above aggregation switch i, a different one in each edge switch, so that no downward link can be exceeded. A
failed link has no capacity: what goes over it is exceeded. At temperature 0 the formula for acceptance is
taken at its limit: nothing that is worse is accepted. The search ends early when the energy is 0, since no
later state could replace the best one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedera.compiled import compiled
from hedera.draws import below, bits, fraction, two_below
from hedera.linkstate import Cores, LinkState, canonical_cores
from hedera.placement import UNIT, LargeFlows, in_units
from topos.fattree import FatTree

_SMALL_NETWORK = 16  # hosts; what the paper calls a 16 host cluster


def acceptance_constant(num_hosts: int) -> float:
    """c / T0 of the acceptance probability exp(c (E - En) / T): 0.5 for 16 hosts, 1000 for more."""
    return 0.5 if num_hosts <= _SMALL_NETWORK else 1000.0


class SimulatedAnnealing:
    """The placement, with the best state of the last period, from which the next one starts.

    ``iterations`` is the initial temperature T0, so temperatures run from it to 0 and T0 + 1 moves are tried.
    Raises ValueError when it is negative.
    """

    def __init__(self, tree: FatTree, rng: np.random.Generator, iterations: int = 1000) -> None:
        if iterations < 0:
            raise ValueError(f"the number of iterations cannot be negative, as {iterations} is")
        self.tree = tree
        self.iterations = iterations
        self.initial_energy = 0.0
        """The exceeded capacity, in link capacities, that the last period started with."""
        self.energy = 0.0
        """The exceeded capacity that the last period ended with."""
        self._rng = rng
        self._core_of = first_cores(tree)

    @property
    def core_of(self) -> Cores:
        """int32 (hosts,): the core by which each host receives, in the best state of the last period."""
        return self._core_of.copy()

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        """The core for each flow, int32 (flows,): see `hedera.placement.Placement`."""
        tree = self.tree
        capacity = np.where(links.up, UNIT, 0)
        arrivals = _group(flows.src, flows.dst, in_units(flows.demand), tree.half, tree.num_hosts)
        excess = _load(arrivals, self._core_of, capacity, tree.half)
        before, after = _anneal(
            arrivals,
            self._core_of,
            excess,
            tree.half,
            self.iterations,
            acceptance_constant(tree.num_hosts),
            self._rng.integers(2**64, dtype=np.uint64),
        )
        self.initial_energy, self.energy = before / UNIT, after / UNIT
        return canonical_cores(tree, flows.src, flows.dst, self._core_of[flows.dst])


def first_cores(tree: FatTree) -> Cores:
    """The first state, int32 (hosts,): one core for each host, one-to-one inside every pod."""
    host = np.arange(tree.num_hosts)
    edge, position = host // tree.half % tree.half, host % tree.half
    return (position * tree.half + edge).astype(np.int32)


class Arrivals(NamedTuple):
    """The flows that leave their edge switch, grouped by destination: those to h are first[h]..first[h+1]-1.

    ``edge_up`` is the number of the source's edge switch times k/2, ``core_up`` the source's pod times
    (k/2)^2, or -1 if it is the destination's; both int32 (flows,). ``demand`` is int64 (flows,). ``into_edge``
    and ``into_pod`` are int64 (hosts,): the demand to each host from outside its edge switch and its pod.
    """

    first: NDArray[np.int32]
    edge_up: NDArray[np.int32]
    core_up: NDArray[np.int32]
    demand: NDArray[np.int64]
    into_edge: NDArray[np.int64]
    into_pod: NDArray[np.int64]


@compiled
def _group(
    src: NDArray[np.int32], dst: NDArray[np.int32], demand: NDArray[np.int64], half: int, hosts: int
) -> Arrivals:
    cores = half * half
    first = np.zeros(hosts + 1, dtype=np.int32)
    for flow in range(src.size):
        if src[flow] // half != dst[flow] // half:
            first[dst[flow] + 1] += 1
    for host in range(hosts):
        first[host + 1] += first[host]
    end = first[:-1].copy()
    edge_up = np.empty(first[-1], dtype=np.int32)
    core_up = np.empty(first[-1], dtype=np.int32)
    amount = np.empty(first[-1], dtype=np.int64)
    into_edge = np.zeros(hosts, dtype=np.int64)
    into_pod = np.zeros(hosts, dtype=np.int64)
    for flow in range(src.size):
        s, d = src[flow], dst[flow]
        if s // half != d // half:
            at = end[d]
            end[d] += 1
            edge_up[at] = s // half * half
            amount[at] = demand[flow]
            into_edge[d] += demand[flow]
            if s // cores != d // cores:
                core_up[at] = s // cores * cores
                into_pod[d] += demand[flow]
            else:
                core_up[at] = -1
    return Arrivals(first, edge_up, core_up, amount, into_edge, into_pod)


@compiled
def _load(arrivals: Arrivals, core_of: Cores, capacity: NDArray[np.int64], half: int) -> NDArray[np.int64]:
    """Load minus capacity of every link: int64 (links,), numbered as in `topos.links`."""
    hosts = core_of.size
    cores = half * half
    excess = -capacity
    for host in range(hosts):
        core = core_of[host]
        excess[3 * hosts + host // cores * cores + core] += arrivals.into_pod[host]
        excess[4 * hosts + host // half * half + core // half] += arrivals.into_edge[host]
        for i in range(arrivals.first[host], arrivals.first[host + 1]):
            excess[hosts + arrivals.edge_up[i] + core // half] += arrivals.demand[i]
            if arrivals.core_up[i] >= 0:
                excess[2 * hosts + arrivals.core_up[i] + core] += arrivals.demand[i]
    return excess


@compiled
def _shift(excess: NDArray[np.int64], link: int, amount: int) -> int:
    """Change a link's load; returns by how much that changes the energy."""
    before = excess[link]
    after = before + amount
    excess[link] = after
    return max(after, 0) - max(before, 0)


@compiled
def _move(arrivals: Arrivals, excess: NDArray[np.int64], host: int, old: int, new: int, half: int) -> int:
    """Let a host receive by another core; returns the change of energy. Touches only the flows to it."""
    hosts = arrivals.into_pod.size
    begin, end = arrivals.first[host], arrivals.first[host + 1]
    if begin == end:
        return 0
    cores = half * half
    old_up, new_up = old // half, new // half
    pod_row = 3 * hosts + host // cores * cores
    change = _shift(excess, pod_row + old, -arrivals.into_pod[host])
    change += _shift(excess, pod_row + new, arrivals.into_pod[host])
    if old_up != new_up:
        edge_row = 4 * hosts + host // half * half
        change += _shift(excess, edge_row + old_up, -arrivals.into_edge[host])
        change += _shift(excess, edge_row + new_up, arrivals.into_edge[host])
        for i in range(begin, end):
            row = hosts + arrivals.edge_up[i]
            change += _shift(excess, row + old_up, -arrivals.demand[i])
            change += _shift(excess, row + new_up, arrivals.demand[i])
    for i in range(begin, end):
        if arrivals.core_up[i] >= 0:
            row = 2 * hosts + arrivals.core_up[i]
            change += _shift(excess, row + old, -arrivals.demand[i])
            change += _shift(excess, row + new, arrivals.demand[i])
    return change


@compiled
def _swap(
    arrivals: Arrivals,
    core_of: Cores,
    host_at: NDArray[np.int32],
    excess: NDArray[np.int64],
    one: int,
    other: int,
    half: int,
) -> int:
    """Swap the cores of two hosts of a pod; returns the change of energy. Its own inverse."""
    a, b = core_of[one], core_of[other]
    change = _move(arrivals, excess, one, a, b, half) + _move(arrivals, excess, other, b, a, half)
    core_of[one], core_of[other] = b, a
    row = one // (half * half) * (half * half)
    host_at[row + b], host_at[row + a] = one, other
    return change


@compiled
def _neighbour(host_at: NDArray[np.int32], half: int, seed: np.uint64, number: np.uint64) -> tuple[int, int]:
    """The two hosts whose cores to swap: one of the paper's three kinds of move, each as likely."""
    kind = below(3, bits(seed, number))
    a, b = bits(seed, number + np.uint64(1)), bits(seed, number + np.uint64(2))
    where = bits(seed, number + np.uint64(3))
    cores = half * half
    if kind == 0:  # two hosts of a pod
        row = below(2 * half, where) * cores
        i, j = two_below(cores, a, b)
        return row + i, row + j
    row = below(2 * cores, where) * half  # of an edge switch's hosts, or of an aggregation switch's cores
    i, j = two_below(half, a, b)
    if kind == 1 or bits(seed, number + np.uint64(4)) & np.uint64(1):
        return row + i, row + j  # two hosts of an edge switch, which are also the hosts that use it
    return np.int64(host_at[row + i]), np.int64(host_at[row + j])  # two that use an aggregation switch


@compiled
def _anneal(
    arrivals: Arrivals,
    core_of: Cores,
    excess: NDArray[np.int64],
    half: int,
    iterations: int,
    acceptance: float,
    seed: np.uint64,
) -> tuple[int, int]:
    """Figure 6. Leaves the best state in ``core_of``; returns the first energy and the best."""
    cores = half * half
    host_at = np.empty_like(core_of)  # the host that uses a core, by pod * cores + core
    for host in range(core_of.size):
        host_at[host // cores * cores + core_of[host]] = host
    swaps = np.empty((iterations + 1, 2), dtype=np.int32)  # accepted since the best state was left
    since_best = 0
    first = np.int64(0)
    for link in range(excess.size):
        first += max(excess[link], 0)
    energy = best = first
    constant = acceptance * iterations / UNIT
    for temperature in range(iterations, -1, -1):
        if best == 0:
            break
        number = np.uint64(8 * temperature)
        one, other = _neighbour(host_at, half, seed, number)
        change = _swap(arrivals, core_of, host_at, excess, one, other, half)
        if change > 0 and (
            temperature == 0
            or np.exp(-constant * change / temperature) <= fraction(bits(seed, number + np.uint64(5)))
        ):
            _swap(arrivals, core_of, host_at, excess, one, other, half)
            continue
        energy += change
        if energy < best:
            best = energy
            since_best = 0
        else:
            swaps[since_best, 0], swaps[since_best, 1] = one, other
            since_best += 1
    for i in range(since_best - 1, -1, -1):
        one, other = swaps[i, 0], swaps[i, 1]
        core_of[one], core_of[other] = core_of[other], core_of[one]
    return first, best
