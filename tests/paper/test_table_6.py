"""Table 6: the model of messages, and what is measured here."""

import pytest

from paper.study import ports_for
from paper.table_6 import ASSUMED_COMPUTATION_S, MEASURED_ROUNDS, compute, control_hops, measure, message_s
from results.published import TABLE_6
from topos.fattree import FatTree


@pytest.mark.parametrize(("size", "flows"), list(TABLE_6))
def test_the_model_gives_the_papers_table_when_it_assumes_what_the_paper_assumes(size, flows):
    ours = 1000 * (message_s(FatTree(ports_for(size)), flows) + ASSUMED_COMPUTATION_S)
    assert ours == pytest.approx(TABLE_6[size, flows], rel=0.02)


def test_messages_grow_with_flows():
    tree = FatTree(8)
    one, two, three = (message_s(tree, flows) for flows in (1, 2, 3))
    assert three - two == pytest.approx(two - one)
    assert two - one == pytest.approx(128 * 3 * 72 * 8 / 10e9)


@pytest.mark.parametrize(("k", "hops"), [(4, 1), (6, 1), (8, 2), (32, 2), (48, 3)])
def test_the_control_network_is_as_deep_as_its_switches_have_ports_for(k, hops):
    assert control_hops(FatTree(k)) == hops


def test_rounds_are_measured():
    spent = measure((FatTree(4), 2, 1))
    assert len(spent) == MEASURED_ROUNDS
    assert all(0 < s < 5 for s in spent)


def test_it_measures_and_models():
    found = compute(1, cases={(16, 1): 100.0, (54, 2): 100.0})
    assert [(row["hosts"], row["flows_per_host"]) for row in found] == [(16, 1), (54, 2)]
    for row in found:
        assert row["loop_ms"] == pytest.approx(row["messages_ms"] + row["computed_ms"])
        assert row["model_with_100_ms"] == pytest.approx(row["messages_ms"] + 100)
        assert row["computed_ms"] > 0
