"""Simulated Annealing with a core per destination host (Hedera section 4.4, Figure 6).

State: a core for each host, which all flows to it use; inside a pod no two hosts share a core, and swaps
keep it so. Energy: the capacity exceeded, summed over all links. Each move swaps the cores of two hosts: any
two of a pod, two of an edge switch, or two that use one edge or aggregation switch.

Where the paper leaves a choice open, ours is this. The first state gives the i-th host of every edge switch a core
above aggregation switch i, a different one in each edge switch, so that no downward link can be exceeded. A
failed link has no capacity: all load on it is excess. At temperature 0 the acceptance formula is taken at its
limit: no worse state is accepted. The search ends early when the energy is 0, since no later state could be
better.

`FlowAnnealing` has a core per flow: the baseline that section 4.4 compares its own method with. State: a core for each
flow, at first the path the flow is on. A move gives a random flow a random core. The energy is updated incrementally
here too, so that an iteration takes no longer with more flows, as the paper says of its baseline (`hedera explain-sa`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedera.compiled import (
    NO_LINK,
    Between,
    Layout,
    compiled,
    compute_excess,
    draw_below,
    draw_bits,
    draw_fraction,
    draw_two_below,
    find_choice_links,
)
from hedera.linkstate import UNIT, LinkState
from hedera.placement import LargeFlows, in_units
from topos.arrays import Int32, Int64
from topos.fattree import FatTree
from topos.links import Cores, compute_tier_links, find_canonical_cores
from topos.network import Network

_SMALL_NETWORK = 16  # hosts; what the paper calls a 16 host cluster
# The load table is indexed by link. Hosts' links never limit a placement, so the first of them stands in for the core
# link that a flow inside a pod does not use (and the next ones for "c further"): they have unlimited room.
_NOWHERE = 0
_BOUNDLESS = np.int64(1 << 62)


def choose_acceptance_constant(num_hosts: int) -> float:
    """c / T0 of the acceptance probability exp(c (E - En) / T): 0.5 for 16 hosts, 1000 for more."""
    return 0.5 if num_hosts <= _SMALL_NETWORK else 1000.0


class SimulatedAnnealing:
    """The placement, with the best state of the last period, from which the next one starts.

    ``iterations`` is the initial temperature T0, so temperatures run from it to 0 and T0 + 1 moves are tried.
    """

    def __init__(self, tree: FatTree, rng: np.random.Generator, iterations: int = 1000) -> None:
        self.tree = tree
        self.iterations = iterations
        self.initial_energy = 0.0
        """The exceeded capacity, in link capacities, that the last period started with."""
        self.energy = 0.0
        """The exceeded capacity that the last period ended with."""
        self._rng = rng
        self._tables = make_link_tables(tree)
        self.core_of = assign_first_cores(tree)
        """int32 (hosts,): the core by which each host receives, in the best state of the last period."""

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        """The core for each flow, int32 (flows,): see `hedera.placement.Placement`."""
        tree, tables = self.tree, self._tables
        size = in_units(flows.demand)
        arrivals = group(flows.src, flows.dst, size, tables)
        excess = compute_excess(tree, flows.src, flows.dst, size, self.core_of[flows.dst], links)
        excess[: tree.num_hosts] = -_BOUNDLESS
        before, after = _anneal(
            arrivals,
            self.core_of,
            excess,
            tables,
            self.iterations,
            choose_acceptance_constant(tree.num_hosts),
            self._rng.integers(2**64, dtype=np.uint64),
        )
        self.initial_energy, self.energy = before / UNIT, after / UNIT
        return find_canonical_cores(tree, flows.src, flows.dst, self.core_of[flows.dst])


def assign_first_cores(tree: FatTree) -> Cores:
    """The first state, int32 (hosts,): one core for each host, one-to-one inside every pod."""
    host = np.arange(tree.num_hosts)
    edge, position = host // tree.half % tree.half, host % tree.half
    return (position * tree.half + edge).astype(np.int32)


# --- flows grouped by destination ------------------------------------------------------------------------------


class LinkTables(NamedTuple):
    """The fat-tree as lookup tables: dividing host numbers by k/2 each time would take longer than everything else.

    ``edge_up``, ``core_up``, ``core_down``, ``edge_down``, int32 (hosts,): the numbers (`topos.links`) of the links
    that flows take by way of core 0, upwards from a host or downwards to one. By way of core c, add ``up[c]`` to an
    edge link and c to a core link; ``up`` int32 (cores,) is the core's aggregation index. Hosts below the same edge
    switch have the same ``edge_up``, hosts of a pod the same ``core_up``. ``pod`` int32 (hosts,) is the first host of
    the pod.
    """

    edge_up: Int32
    core_up: Int32
    core_down: Int32
    edge_down: Int32
    up: Int32
    pod: Int32


def make_link_tables(tree: FatTree) -> LinkTables:
    host, core = np.arange(tree.num_hosts, dtype=np.int32), np.arange(tree.num_cores, dtype=np.int32)
    tiers = compute_tier_links(host, host, np.zeros_like(host), tree.half)
    edge_up, core_up, core_down, edge_down = (tier.astype(np.int32) for tier in tiers[1:5])
    return LinkTables(edge_up, core_up, core_down, edge_down, core // tree.half, host - host % tree.num_cores)


class Arrivals(NamedTuple):
    """The flows that leave their edge switch, grouped by destination: those to h are first[h]..first[h+1]-1.

    ``edge_up`` and ``core_up``, int32 (flows,), are those of the source, in `LinkTables`' words. ``demand`` is int64
    (flows,), in units. ``into_edge`` and ``into_pod`` are int64 (hosts,): the demand to each host from outside its
    edge switch and its pod.
    """

    first: Int32
    edge_up: Int32
    core_up: Int32
    demand: Int64
    into_edge: Int64
    into_pod: Int64


@compiled
def group(src: Int32, dst: Int32, demand: Int64, tables: LinkTables) -> Arrivals:
    """Sort flows, arrays of shape (flows,) with ``demand`` in units, by destination."""
    edge, pod = tables.edge_up, tables.core_up
    hosts = edge.size
    first = np.zeros(hosts + 1, dtype=np.int32)
    for flow in range(src.size):
        s, d = np.uint64(src[flow]), np.uint64(dst[flow])  # unsigned: see `_anneal`
        first[d] += edge[s] != edge[d]
    end = 0
    for host in range(hosts + 1):
        end += first[host]
        first[host] = end
    edge_up = np.empty(end, dtype=np.int32)
    core_up = np.empty(end, dtype=np.int32)
    amount = np.empty(end, dtype=np.int64)
    into_edge = np.zeros(hosts, dtype=np.int64)
    into_pod = np.zeros(hosts, dtype=np.int64)
    for flow in range(src.size - 1, -1, -1):
        s, d, wanted = np.uint64(src[flow]), np.uint64(dst[flow]), demand[flow]
        if edge[s] != edge[d]:
            first[d] -= 1
            at = np.uint64(first[d])
            amount[at] = wanted
            edge_up[at] = edge[s]
            into_edge[d] += wanted
            if pod[s] != pod[d]:
                core_up[at] = pod[s]
                into_pod[d] += wanted
            else:
                core_up[at] = _NOWHERE
    return Arrivals(first, edge_up, core_up, amount, into_edge, into_pod)


# --- the search ----------------------------------------------------------------------------------------------

# Compiled loops take the arrays out of these tuples first: each access to a tuple costs two atomic updates
# of a reference count, which made the annealing three times slower. Indices that are data are made unsigned: for a
# signed one Numba checks each time whether it counts from the end.


@compiled
def _anneal(
    arrivals: Arrivals,
    core_of: Cores,
    excess: Int64,
    tables: LinkTables,
    iterations: int,
    acceptance: float,
    seed: np.uint64,
) -> tuple[int, int]:
    """Figure 6. Leaves the best state in ``core_of``; returns the first energy and the best, in units."""
    core_down, edge_down, up, pod = tables.core_down, tables.edge_down, tables.up, tables.pod
    first, demand = arrivals.first, arrivals.demand
    edge_up, core_up = arrivals.edge_up, arrivals.core_up
    into_edge, into_pod = arrivals.into_edge, arrivals.into_pod
    hosts, half = core_of.size, up[-1] + 1

    host_at = np.empty_like(core_of)  # the host that uses a core, by the pod's first host + core
    for host in range(hosts):
        host_at[pod[host] + core_of[host]] = host
    most = np.diff(first).max()
    link = np.empty(8 * (most + 1), dtype=np.int32)  # what a move changed in the load table, step by step,
    was = np.empty(8 * (most + 1), dtype=np.int64)  # and what was there
    swaps = np.empty((iterations + 1, 2), dtype=np.int32)  # made since the best state was left
    since_best = 0
    energy = np.int64(0)
    for value in excess:
        energy += max(value, 0)
    initial = best = energy
    constant = acceptance * iterations / UNIT

    for temperature in range(iterations, -1, -1):
        if best == 0:
            break
        number = np.uint64(8 * temperature)
        host_a, host_b = _draw_neighbour(host_at, half, seed, number)
        a, b = core_of[host_a], core_of[host_b]
        change = np.int64(0)
        steps = 0
        for host, old, new in ((host_a, a, b), (host_b, b, a)):  # only the flows to these two
            to, off, on = np.uint64(host), np.uint64(old), np.uint64(new)
            begin, end = np.uint64(first[to]), np.uint64(first[to + np.uint64(1)])
            if begin == end:
                continue
            row, amount = core_down[to], into_pod[to]
            change += _shift(excess, row + old, -amount, link, was, steps)
            change += _shift(excess, row + new, amount, link, was, steps + 1)
            steps += 2
            for i in range(begin, end):
                change += _shift(excess, core_up[i] + old, -demand[i], link, was, steps)
                change += _shift(excess, core_up[i] + new, demand[i], link, was, steps + 1)
                steps += 2
            left, right = up[off], up[on]
            if left == right:
                continue
            row, amount = edge_down[to], into_edge[to]
            change += _shift(excess, row + left, -amount, link, was, steps)
            change += _shift(excess, row + right, amount, link, was, steps + 1)
            steps += 2
            for i in range(begin, end):
                change += _shift(excess, edge_up[i] + left, -demand[i], link, was, steps)
                change += _shift(excess, edge_up[i] + right, demand[i], link, was, steps + 1)
                steps += 2
        if change > 0 and not _is_accepted(constant * change, temperature, seed, number):
            for step in range(steps - 1, -1, -1):
                excess[np.uint64(link[step])] = was[step]
            continue
        core_of[host_a], core_of[host_b] = b, a
        host_at[pod[host_a] + b], host_at[pod[host_a] + a] = host_a, host_b
        energy += change
        if energy < best:
            best = energy
            since_best = 0
        else:
            swaps[since_best, 0], swaps[since_best, 1] = host_a, host_b
            since_best += 1
    for i in range(since_best - 1, -1, -1):
        host_a, host_b = swaps[i, 0], swaps[i, 1]
        core_of[host_a], core_of[host_b] = core_of[host_b], core_of[host_a]
    return initial, best


@compiled
def _draw_neighbour(host_at: Int32, half: int, seed: np.uint64, number: np.uint64) -> tuple[int, int]:
    """The two hosts whose cores to swap: one of the paper's three kinds of move, each as likely."""
    kind = draw_below(3, draw_bits(seed, number))
    a, b = draw_bits(seed, number + np.uint64(1)), draw_bits(seed, number + np.uint64(2))
    place_bits = draw_bits(seed, number + np.uint64(3))
    cores = half * half
    if kind == 0:  # two hosts of a pod
        row = draw_below(2 * half, place_bits) * cores
        i, j = draw_two_below(cores, a, b)
        return row + i, row + j
    row = draw_below(2 * cores, place_bits) * half  # of an edge switch's hosts, or of an aggregation switch's cores
    i, j = draw_two_below(half, a, b)
    if kind == 1 or draw_bits(seed, number + np.uint64(4)) & np.uint64(1):
        return row + i, row + j  # two hosts of an edge switch, which are also the hosts that use it
    return np.int64(host_at[row + i]), np.int64(host_at[row + j])  # two that use an aggregation switch


@compiled
def _shift(excess: Int64, at: int, amount: int, link: Int32, was: Int64, step: int) -> int:
    """Change a link's load and note what it was; returns by how much that changes the energy."""
    here, note = np.uint64(at), np.uint64(step)
    before = excess[here]
    after = before + amount
    excess[here] = after
    link[note], was[note] = at, before
    return max(after, 0) - max(before, 0)


@compiled
def _is_accepted(loss: float, temperature: int, seed: np.uint64, number: np.uint64) -> bool:
    """Whether to move to a state that is worse: with probability exp(-loss / T), and never at T = 0."""
    if temperature == 0:
        return False
    return np.exp(-loss / temperature) > draw_fraction(draw_bits(seed, number + np.uint64(5)))


class FlowAnnealing:
    """The placement. Its state needs no memory of its own: a flow's core comes back in the next table.

    ``iterations`` as in `SimulatedAnnealing`.
    """

    def __init__(self, tree: Network, rng: np.random.Generator, iterations: int = 1000) -> None:
        self.tree = tree
        self.iterations = iterations
        self.energy = 0.0
        """The exceeded capacity, in link capacities, that the last period ended with."""
        self._rng = rng

    def place(self, flows: LargeFlows, links: LinkState) -> Cores:
        """The core for each flow, int32 (flows,): see `hedera.placement.Placement`."""
        tree = self.tree
        core = flows.core.copy()
        demand = in_units(flows.demand)
        excess = compute_excess(tree, flows.src, flows.dst, demand, core, links)
        energy = _anneal_flows(
            flows.src,
            flows.dst,
            core,
            demand,
            excess,
            tree.layout,
            tree.num_cores,
            self.iterations,
            choose_acceptance_constant(tree.num_hosts),
            self._rng.integers(2**64, dtype=np.uint64),
        )
        self.energy = energy / UNIT
        return find_canonical_cores(tree, flows.src, flows.dst, core)


@compiled
def _anneal_flows(
    src: Int32,
    dst: Int32,
    core: Cores,
    demand: Int64,
    excess: Int64,
    layout: Layout,
    cores: int,
    iterations: int,
    acceptance: float,
    seed: np.uint64,
) -> int:
    """Figure 6 over single flows. Leaves the best state in ``core``; returns its energy."""
    best_core = core.copy()
    moved = np.empty(iterations + 1, dtype=np.int32)  # the flows moved since the best state was left
    since_best = 0
    energy = np.int64(0)
    for link in range(excess.size):
        energy += max(excess[link], 0)
    best = energy
    constant = acceptance * iterations / UNIT
    for temperature in range(iterations, -1, -1):
        if best == 0 or core.size == 0:
            break
        number = np.uint64(4 * temperature)
        flow = draw_below(core.size, draw_bits(seed, number))
        old, new = core[flow], np.int32(draw_below(cores, draw_bits(seed, number + np.uint64(1))))
        before = find_choice_links(src[flow], dst[flow], old, layout)
        after = find_choice_links(src[flow], dst[flow], new, layout)
        change = _reroute(excess, demand[flow], before, after)
        if change > 0 and (
            temperature == 0
            or np.exp(-constant * change / temperature) <= draw_fraction(draw_bits(seed, number + np.uint64(2)))
        ):
            _reroute(excess, demand[flow], after, before)
            continue
        core[flow] = new
        energy += change
        moved[since_best] = flow
        since_best += 1
        if energy < best:
            best = energy
            for i in range(since_best):
                best_core[moved[i]] = core[moved[i]]
            since_best = 0
    core[:] = best_core
    return best


@compiled
def _reroute(excess: Int64, demand: int, before: Between, after: Between) -> int:
    """Move one flow from the links ``before`` to those ``after``; returns the change of energy."""
    change = np.int64(0)
    for tier in range(len(before)):
        if before[tier] != NO_LINK:
            change += _add_to(excess, before[tier], -demand)
        if after[tier] != NO_LINK:
            change += _add_to(excess, after[tier], demand)
    return change


@compiled
def _add_to(excess: Int64, link: int, amount: int) -> int:
    before = excess[link]
    excess[link] = before + amount
    return max(before + amount, 0) - max(before, 0)
