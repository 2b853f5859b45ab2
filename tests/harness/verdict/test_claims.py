"""Paths that a log claims, against the counters of the links, on flows one can add up by hand."""

import pytest

from harness.run.spec import RunSpec
from harness.verdict.claims import claims
from tests.harness.verdict.fine import measured
from topos.fattree import FatTree
from topos.links import sending_ports
from topos.wire import acknowledgements_per_payload, wire_per_payload

TREE = FatTree(4)
PORTS = sending_ports(TREE)
SPEC = RunSpec("ecmp", "stride:4", seconds=6, link_mbps=10)
WINDOW = (1.0, 5.0)


def flow(src, dst, *cores, back=0, mbps=4.0):
    """A flow of 6 s at a steady rate; ``cores``: (time, core) or one core."""
    path = [(0.0, cores[0])] if isinstance(cores[0], int) else list(cores)
    return measured(src, dst, *path, back=[(0.0, back)], mbps=[mbps] * 6)


def excesses(flows, carried):
    return {c.port: c for c in claims(TREE, SPEC, flows, WINDOW, carried)}


def test_what_flows_deliver_is_added_up_on_every_link_of_their_paths_acknowledgements_too():
    found = excesses([flow(0, 4, 0, back=3), flow(1, 5, 0, back=3)], dict.fromkeys(PORTS, 9.0))
    # agg 0 of pod 0 sends both to core 0; their acknowledgements come back by core 3
    assert found["0_2_1-eth1"].delivered_mbps == pytest.approx(8 * wire_per_payload())
    assert found["1_3_1-eth3"].delivered_mbps == pytest.approx(8 * acknowledgements_per_payload())
    assert found["0_0_2"].delivered_mbps == pytest.approx(4 * wire_per_payload())
    assert all(claim.excess_mbps < 0 for claim in found.values())


def test_a_log_that_claims_a_spanning_tree_beside_full_links_everywhere_is_found_out():
    """What was measured: a core each. What the log says: all by way of core 0."""
    truth = [flow(src, src + 4, src % 4, back=src % 4, mbps=9.4) for src in range(12)]
    carried = {c.port: c.delivered_mbps for c in excesses(truth, {}).values()}
    lie = [flow(src, src + 4, 0, back=0, mbps=9.4) for src in range(12)]
    assert max(c.excess_mbps for c in excesses(truth, carried).values()) == pytest.approx(0, abs=1e-9)
    assert max(c.excess_mbps for c in excesses(lie, carried).values()) > 25


def test_a_flow_that_moves_counts_where_it_was_and_its_move_may_be_late():
    found = excesses([flow(0, 4, (0.0, 0), (3.0, 1))], dict.fromkeys(PORTS, 0.0))
    assert found["0_2_1-eth1"].delivered_mbps == pytest.approx(2 * wire_per_payload())
    assert found["0_2_1-eth3"].delivered_mbps == pytest.approx(2 * wire_per_payload())
    assert found["0_2_1-eth1"].slack_mbps == pytest.approx(10 * (0.06 + 0.25) / 4)


@pytest.mark.parametrize(("moved", "late_s"), [(0.5, 0.0), (0.9, 0.21), (1.0, 0.31), (2.0, 0.31)])
def test_what_was_under_way_as_a_flow_moved_is_allowed_for_after_the_window_began_too(moved, late_s):
    """A full queue of its old path takes 0.06 s, and the log may be 0.25 s late."""
    found = excesses([flow(0, 4, (0.0, 0), (moved, 1))], dict.fromkeys(PORTS, 0.0))
    assert found["0_2_1-eth3"].slack_mbps == pytest.approx(10 * late_s / 4)


@pytest.mark.parametrize(("moved", "mbit"), [(1.2, 2.282), (None, 0.0)])
def test_a_second_across_the_window_s_edge_in_which_a_flow_moved_may_lie_on_either_side(moved, mbit):
    """9 Mb/s before the edge and 1 after it are told as 5 in that second: 2 megabits of another place."""
    flows = [measured(0, 4, (0.0, 0), back=[(0.0, 0)], mbps=[9.0, 5.0, 1.0, 1.0, 1.0, 1.0])]
    flows += [flow(8, 12, (0.0, 0), (moved, 1))] if moved else []
    (found,) = (c for c in claims(TREE, SPEC, flows, (1.5, 5.0), {}) if c.port == "0_2_1-eth1")
    assert found.slack_mbps == pytest.approx(mbit * wire_per_payload() / 3.5, abs=1e-3)


def test_a_port_without_samples_has_carried_nothing():
    assert excesses([flow(0, 4, 0)], {})["0_0_2"].carried_mbps == 0
