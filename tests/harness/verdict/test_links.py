"""What links carried: paths that a log claims, on flows one can add up by hand; which have to be full, from when on."""

from dataclasses import replace

import numpy as np
import pytest

from harness.run.observation import Outage
from harness.run.spec import RunSpec
from harness.verdict.links import claims, full_links, settled_window
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


@pytest.mark.parametrize(
    ("seconds", "changes", "settings", "window"),
    [
        (60, [], {}, (10, 50)),
        (60, [0.0, 2.0, 4.0], {}, (10, 50)),
        (60, [12.0, 55.0], {}, (17, 50)),
        (60, [44.5], {}, (49.5, 60)),
        (60, [44.5, 52.0], {}, (57, 60)),
        (60, [44.5, 56.0], {}, None),
        (60, [12.0], {"link_mbps": 1}, (12 + 25 * 0.6, 50)),
        (10, [0.0, 0.1], {}, (5.1, 50 / 6)),
        (7, [0.0], {}, (5, 7)),  # after the measuring window
        (5.5, [0.0], {}, None),
        (10, [2.333], {}, (7.333, 8.333)),  # a second of the measuring window is left
        (10, [2.334], {}, (7.334, 10)),
        (10, [3.999], {}, (8.999, 10)),
        (10, [4.001], {}, None),
        # 25 times through a full queue of 166 packets of 1500 bytes at 10 Mb/s are 4.98 s, of 167 are 5.01
        (10, [2.33], {"queue": 166}, (7.33, 8.333)),
        (10, [2.33], {"queue": 167}, (7.34, 10)),
        # docs/notes/conditions.md: 50 packets of 9000 bytes at 10 Mb/s are 9 s, 200 at 25 Mb/s are 14.4
        (10, [0.0], {"queue": 300}, (9.0, 10)),
        (10, [0.01], {"queue": 300}, None),
        (10, [0.0], {"link_mbps": 25, "queue": 1200}, None),
    ],
)
def test_links_that_have_to_be_full_are_judged_once_tcp_has_settled(seconds, changes, settings, window):
    spec = RunSpec("ecmp", "stride:4", seconds=seconds, **{"link_mbps": 10, **settings})
    expected = None if window is None else pytest.approx(window, abs=1e-3)
    assert settled_window(spec, changes, []) == expected
    assert settled_window(spec, [], [Outage(t, frozenset()) for t in changes]) == expected, "as after a failure"


def test_without_a_settled_second_the_measuring_window_is_all_there_is():
    spec = RunSpec(scheme="ecmp", traffic="stride:4", seconds=8, link_mbps=10)
    t = np.arange(1.0, 9.0)
    found = full_links(TREE, spec, [measured(0, 1), measured(0, 1, start=3.25)], [], {"0_0_2": (t, np.full(8, 9.9))})
    assert found.window == spec.window_s
    assert found.mbps["0_0_2"] == pytest.approx(9.9)
    assert found.why_not is not None
    assert "that takes 5 s after" in found.why_not
    longer = replace(spec, seconds=10)
    assert full_links(TREE, longer, [measured(0, 1), measured(0, 1, start=3.25)], [], {}).why_not is None


def test_only_links_that_are_full_all_the_time_have_to_be():
    spec = RunSpec(scheme="ecmp", traffic="stride:4", seconds=60, link_mbps=10)
    # Two flows of one host share its link, and leave all others half empty, but for the second receiver's.
    flows = [measured(0, 4, (0, 0)), measured(0, 8, (0, 3)), measured(12, 8, (0, 0))]
    t = np.arange(1.0, 61.0)
    sent = {"0_0_2": (t, np.full(60, 9.9)), "2_0_1-eth2": (t, np.where(t > 30, 9.0, 10.0))}
    found = full_links(TREE, spec, flows, [], sent)
    assert found.window == (10, 50)
    assert found.mbps == {"0_0_2": pytest.approx(9.9), "2_0_1-eth2": pytest.approx(9.5)}
    # The first flow's way is another one from second 20 on: what was full before counts from 25 on.
    moved = [measured(0, 4, (0, 0), (20, 1)), *flows[1:]]
    assert full_links(TREE, spec, moved, [], sent).window == (25, 50)


def test_a_port_without_samples_is_no_proof():
    spec = RunSpec(scheme="ecmp", traffic="stride:4", seconds=60, link_mbps=10)
    found = full_links(TREE, spec, [measured(0, 1), measured(2, 1)], [], {})
    assert found.mbps == {"0_0_1-eth4": pytest.approx(np.nan, nan_ok=True)}
