import itertools

import numpy as np
import pytest

from hedera import simulated_annealing as module
from hedera.linkstate import LinkState
from hedera.placement import LargeFlows
from hedera.simulated_annealing import FlowAnnealing, SimulatedAnnealing, assign_first_cores, choose_acceptance_constant
from tests.hedera.reference import NO_FLOWS, excess, random_flows
from topos.fattree import FatTree
from topos.links import find_canonical_cores, find_links_between, list_links_of_switch


def assert_one_to_one(tree, core_of):
    pods = np.sort(core_of.reshape(tree.k, tree.num_cores), axis=1)
    assert (pods == np.arange(tree.num_cores)).all()


@pytest.mark.parametrize("k", [4, 8, 16])
def test_first_state_is_one_to_one_and_spreads_edge_switches(k):
    tree = FatTree(k)
    core_of = assign_first_cores(tree)
    assert_one_to_one(tree, core_of)
    ups = np.sort((core_of // tree.half).reshape(-1, tree.half), axis=1)
    assert (ups == np.arange(tree.half)).all()


@pytest.mark.parametrize("k", [4, 8, 16])
@pytest.mark.parametrize("broken", [False, True])
def test_incremental_energy_is_the_full_one_after_thousands_of_moves(k, broken):
    tree, links = FatTree(k), LinkState(FatTree(k))
    if broken:
        links.fail(
            [
                *find_links_between(tree, "0_0_1", f"0_{k // 2}_1"),
                *find_links_between(tree, f"1_{k // 2}_1", f"{k}_1_1"),
            ]
        )
    for flows_per_host in (1, 3):
        flows = random_flows(tree, flows_per_host * tree.num_hosts, k)
        annealing = SimulatedAnnealing(tree, np.random.default_rng(1), iterations=5000)
        core = annealing.place(flows, links)
        assert annealing.energy == excess(tree, flows, core, links)
        assert annealing.initial_energy == excess(tree, flows, assign_first_cores(tree)[flows.dst], links)
        assert annealing.energy < annealing.initial_energy
        assert_one_to_one(tree, annealing.core_of)
        assert (core == find_canonical_cores(tree, flows.src, flows.dst, annealing.core_of[flows.dst])).all()


def test_the_search_goes_down_to_temperature_0_where_one_move_more_is_tried():
    """Figure 6: T0 + 1 moves. With T0 = 0 that is one, which now and then finds a better state."""
    tree = FatTree(4)
    flows = random_flows(tree, 64, 1)
    better = 0
    for seed in range(20):
        annealing = SimulatedAnnealing(tree, np.random.default_rng(seed), iterations=0)
        before = annealing.core_of.copy()
        annealing.place(flows, LinkState(tree))
        better += annealing.energy < annealing.initial_energy
        assert (annealing.core_of != before).sum() in (0, 2)
    assert 0 < better < 20


def test_there_is_room_for_every_move_that_may_have_to_be_undone(monkeypatch):
    """Compiled code writes beyond an array's end without a word, so this runs as Python does. Two hosts that receive
    nothing may always be swapped."""
    monkeypatch.setattr(module, "_anneal", getattr(module._anneal, "py_func", module._anneal))
    tree = FatTree(4)
    src, dst = np.array([[4, 8], [0, 0]], dtype=np.int32)
    flows = LargeFlows(np.arange(2), src, dst, np.ones(2), dst, dst)
    for iterations, seed in itertools.product((0, 1, 2), range(20)):
        annealing = SimulatedAnnealing(tree, np.random.default_rng(seed), iterations)
        annealing.place(flows, LinkState(tree))
        assert annealing.energy > 0, "so no move is a better one, and all that are made are kept to be undone"


@pytest.mark.parametrize("k", [4, 8, 16])
def test_never_returns_a_worse_state_than_it_was_given(k):
    tree = FatTree(k)
    annealing = SimulatedAnnealing(tree, np.random.default_rng(1), iterations=30)
    for seed in range(30):  # a new set of flows each period, on the last period's best state
        flows = random_flows(tree, 2 * tree.num_hosts, seed)
        given = annealing.core_of[flows.dst]
        core = annealing.place(flows, LinkState(tree))
        assert excess(tree, flows, core) <= excess(tree, flows, given)
        assert annealing.initial_energy == excess(tree, flows, given)


def test_a_state_without_excess_is_left_alone():
    """Continuing flows are not disturbed: stride fits the first state, and stays."""
    tree = FatTree(4)
    src = np.arange(16, dtype=np.int32)
    on = np.zeros(16, dtype=np.int32)
    flows = LargeFlows(np.arange(16), src, (src + 4) % 16, np.ones(16), on, on)
    annealing = SimulatedAnnealing(tree, np.random.default_rng(1))
    first = annealing.place(flows, LinkState(tree)).tolist()
    assert annealing.energy == 0
    assert annealing.place(flows, LinkState(tree)).tolist() == first


def test_the_constant_of_the_paper():
    assert choose_acceptance_constant(16) == 0.5
    assert choose_acceptance_constant(1024) == choose_acceptance_constant(8192) == 1000


@pytest.mark.parametrize("k", [4, 6])
def test_three_kinds_of_move_with_equal_probability(k):
    """Expected shares of swaps below one edge switch, by one aggregation switch, both, and neither."""
    tree = FatTree(k)
    half, cores, draws = tree.half, tree.num_cores, 60_000
    core_of = np.random.default_rng(1).permuted(np.tile(np.arange(cores), (k, 1)), axis=1).ravel()
    host_at = np.empty(tree.num_hosts, dtype=np.int32)
    pods = np.arange(tree.num_hosts) // cores * cores
    host_at[pods + core_of] = np.arange(tree.num_hosts)
    pairs = np.array([module._draw_neighbour(host_at, half, np.uint64(7), np.uint64(8 * i)) for i in range(draws)])
    one, other = pairs.T
    assert (one != other).all()
    assert (pods[one] == pods[other]).all()
    same_edge = one // half == other // half
    same_up = core_of[one] // half == core_of[other] // half
    # Kinds 1 and 2 and half of kind 3 against what any two hosts of a pod, or two of an edge switch, share.
    pod_edge = (half - 1) / (cores - 1)
    by_edge = [
        np.mean(core_of[e * half : e * half + half] // half == core_of[e * half : e * half + half, None] // half)
        for e in range(k * half)
    ]
    edge_up = (np.mean(by_edge) * half - 1) / (half - 1)
    by_up = [np.mean(h // half == h[:, None] // half) for h in host_at.reshape(-1, half)]
    up_edge = (np.mean(by_up) * half - 1) / (half - 1)
    assert same_edge.mean() == pytest.approx((pod_edge + 1 + (1 + up_edge) / 2) / 3, abs=0.01)
    assert same_up.mean() == pytest.approx((pod_edge + edge_up + (edge_up + 1) / 2) / 3, abs=0.01)
    assert np.bincount(np.concatenate([one, other])) / draws == pytest.approx(2 / tree.num_hosts, rel=0.1)


def test_worse_states_are_accepted_as_the_formula_says():
    loss, temperature = 2.0, 4
    taken = [module._is_accepted(loss, temperature, np.uint64(3), np.uint64(8 * i)) for i in range(20_000)]
    assert np.mean(taken) == pytest.approx(np.exp(-loss / temperature), abs=0.01)
    assert not module._is_accepted(1e-300, 0, np.uint64(3), np.uint64(0))


def test_no_flows_and_flows_that_never_leave_their_edge_switch():
    tree = FatTree(4)
    annealing = SimulatedAnnealing(tree, np.random.default_rng(1))
    assert annealing.place(NO_FLOWS, LinkState(tree)).size == 0
    src, on = np.array([0, 1], dtype=np.int32), np.ones(2, dtype=np.int32)
    neighbours = LargeFlows(np.arange(2), src, src[::-1], np.ones(2), on, on)
    assert annealing.place(neighbours, LinkState(tree)).tolist() == [0, 0]


@pytest.mark.parametrize("k", [4, 8, 16])
@pytest.mark.parametrize("broken", [False, True])
def test_with_a_core_per_flow_incremental_energy_is_the_full_one(k, broken):
    tree = FatTree(k)
    links = LinkState(tree)
    if broken:
        links.fail(list_links_of_switch(tree, f"{k}_1_1"))
    flows = random_flows(tree, 2 * tree.num_hosts, k)
    for iterations in (0, 1, 10, 5000):
        annealing = FlowAnnealing(tree, np.random.default_rng(1), iterations)
        core = annealing.place(flows, links)
        assert annealing.energy == excess(tree, flows, core, links)
        assert annealing.energy <= excess(tree, flows, flows.core, links)
    assert annealing.energy < excess(tree, flows, flows.core, links)
