"""What benchmarks.simulator counts of a simulation, which is a process of its own."""

import pytest

from benchmarks import simulator


@pytest.mark.slow  # a process of its own, which compiles the inner loops for itself
def test_a_simulation_is_measured_in_a_process_of_its_own():
    case = simulator.Case(4, 0.3, "ecmp")
    found = simulator.measure(simulator.PROJECT, case, columns=True)
    flows, ended = found["flows"], [end for end in found["columns"][4] if end >= 0]
    assert all(len(column) == flows for column in found["columns"])
    assert flows < found["events"] == flows + len(ended)
    assert found["changes"] >= len(ended), "every flow that ends has had a rate"
    assert found["s"] > 0


def test_the_growth_is_that_of_networks_with_the_same_seconds_of_traffic():
    small, large, other = (simulator.Case(k, s, "ecmp") for k, s in ((4, 0.5), (8, 0.5), (8, 3.0)))
    times = {small: [{"s": 1.0}], large: [{"s": 32.0}], other: [{"s": 9.0}]}
    assert simulator.describe_growth({small: 100, large: 800, other: 5000}, times).endswith("to the 1.67")
