from __future__ import annotations

import numpy as np
import pytest

from hedera.flow_annealing import FlowAnnealing
from hedera.linkstate import LinkState
from hedera.simulated_annealing import SimulatedAnnealing
from tests.hedera.reference import excess, random_flows
from topos.fattree import FatTree
from topos.links import links_of_switch


@pytest.mark.parametrize("k", [4, 8, 16])
@pytest.mark.parametrize("broken", [False, True])
def test_incremental_energy_is_the_full_one(k: int, broken: bool) -> None:
    tree = FatTree(k)
    links = LinkState(tree)
    if broken:
        links.fail(links_of_switch(tree, f"{k}_1_1"))
    flows = random_flows(tree, 2 * tree.num_hosts, k)
    for iterations in (0, 1, 10, 5000):
        annealing = FlowAnnealing(tree, np.random.default_rng(1), iterations)
        core = annealing.place(flows, links)
        assert annealing.energy == excess(tree, flows, core, links)
        assert annealing.energy <= excess(tree, flows, flows.core, links)
    assert annealing.energy < excess(tree, flows, flows.core, links)


def test_is_worse_in_a_large_network_for_the_same_iterations() -> None:
    """The paper's point: the search space of destinations is the smaller one."""
    tree = FatTree(16)
    flows = random_flows(tree, 2048, 1)
    by_flow = FlowAnnealing(tree, np.random.default_rng(1))
    by_destination = SimulatedAnnealing(tree, np.random.default_rng(1))
    by_flow.place(flows, LinkState(tree))
    by_destination.place(flows, LinkState(tree))
    assert by_destination.energy < by_flow.energy
