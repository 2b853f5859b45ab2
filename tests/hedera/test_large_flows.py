"""The two readings of which flows are large, alone and in the scheduler."""

import numpy as np
import pytest

from hedera.large_flows import RULES


@pytest.mark.parametrize(("rule", "expected"), [("measured", [0, 1]), ("measured-or-estimated", [0, 1, 2])])
def test_a_flow_held_down_by_others_is_large_by_its_demand_alone(rule, expected):
    rate = np.array([0.45, 0.45, 0.1, 0.05])
    demand = np.array([1.0, 0.1, 0.2, 0.1])
    assert np.flatnonzero(RULES[rule](rate, demand, 0.1)).tolist() == expected
