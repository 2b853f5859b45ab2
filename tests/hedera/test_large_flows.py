"""The two readings of which flows are large, alone and in the scheduler."""

import numpy as np
import pytest

from hedera.large_flows import RULES
from hedera.scheduler import ActiveFlows, Scheduler
from topos.fattree import FatTree


class Still:
    def place(self, flows, links):
        return flows.core


@pytest.mark.parametrize(("rule", "expected"), [("measured", [0, 1]), ("measured-or-estimated", [0, 1, 2])])
def test_a_flow_held_down_by_others_is_large_by_its_demand_alone(rule, expected):
    rate = np.array([0.45, 0.45, 0.1, 0.05])
    demand = np.array([1.0, 0.1, 0.2, 0.1])
    assert np.flatnonzero(RULES[rule](rate, demand, 0.1)).tolist() == expected


@pytest.mark.parametrize(("rule", "demands"), [("measured", {0: 1.0}), ("measured-or-estimated", {0: 0.5, 1: 0.5})])
def test_demands_are_estimated_among_the_flows_that_are_large(rule, demands):
    src, dst = np.array([0, 0]), np.array([4, 8])
    table = ActiveFlows(np.arange(2), src, dst, np.array([0.9, 0.01]), np.zeros(2), np.zeros(2))
    found = Scheduler(FatTree(4), Still(), rule=RULES[rule]).round(0.0, table)
    assert dict(zip(found.large.tolist(), found.demand.tolist(), strict=True)) == demands
