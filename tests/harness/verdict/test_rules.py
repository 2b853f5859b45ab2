"""Each rule of the verdict, and the links that it looks at, on made-up evidence."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from harness.run.observation import Outage
from harness.verdict.rules import (
    FullLinkRates,
    PlacedLink,
    RoundsDone,
    find_full_links,
    find_settled_window,
    judge,
    list_placed_links,
)
from record.run import Rule
from record.spec import RunSpec
from tests.harness.verdict.fine import FINE, SPEC, UNSETTLED, measured, on_the_wire, reasons
from topos.fattree import FatTree
from topos.links import list_sending_ports
from topos.wire import compute_acknowledgements_per_payload, compute_wire_per_payload

OF_SOUNDNESS = ("processes", "limits", "flows", "counters", "paths", "losses")
VIRTUAL = replace(SPEC, time="virtual")
OF_SPEED = ("total", "progress", "full links", "rounds")


def test_a_fine_run_counts_and_says_which_rules_it_kept():
    found = judge(FINE)
    assert (found.verdict, found.reasons, found.remarks) == ("ok", (), ())
    assert tuple(rule.rule for rule in found.rules) == (*OF_SOUNDNESS, *OF_SPEED)
    assert [rule.rule for rule in found.rules if rule.passed is None] == ["progress", "rounds"]


def test_every_port_at_86_percent_is_not_passed_where_no_second_had_settled():
    """85 % of the total are enough for the coarse rule, and no other could be applied."""
    ports = {f"port {n}": 8.6 for n in range(96)}
    slow = replace(
        FINE, measured_mbps=137.6, port_mbps=ports, full=FullLinkRates((1, 5), ports, UNSETTLED), placed_links=[]
    )
    found = judge(slow)
    assert found.verdict == "not judged"
    (reason,) = found.reasons
    assert reason.startswith(f"no rule of speed could be applied: {UNSETTLED}, and half of the 96 links")
    assert "carried less than 86.0% of their rate" in reason
    assert judge(replace(slow, full=FullLinkRates((1, 5), {}, UNSETTLED))).verdict == "not judged"


def unsettled(**mbps):
    return {"full": FullLinkRates((1, 5), mbps, UNSETTLED)}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        pytest.param(unsettled(a=9.701), "ok", id="links that are full before TCP has settled prove as much"),
        pytest.param(unsettled(a=9.699), "not judged", id="links that are not prove nothing"),
        pytest.param(unsettled() | {"progress": 0.9}, "ok", id="what comes and goes is judged by progress"),
        pytest.param(unsettled() | {"progress": None}, "not judged", id="without progress by nothing"),
        pytest.param(unsettled() | {"rounds": RoundsDone(3, 3)}, "not judged", id="rounds say nothing of packets"),
        pytest.param(unsettled() | {"lost_packets": {"port a": 1}}, "invalid", id="a reason is more than no judgement"),
        pytest.param(unsettled() | {"spec": VIRTUAL}, "ok", id="in virtual time no machine is slow"),
    ],
)
def test_where_no_second_had_settled(changes, verdict):
    assert judge(replace(FINE, **changes)).verdict == verdict


def test_a_reason_from_elsewhere_is_more_than_no_judgement():
    found = judge(replace(FINE, **unsettled()), ["the controller reported an error: boom"])
    assert (found.verdict, found.reasons) == ("invalid", ("the controller reported an error: boom",))


def test_of_the_rules_of_speed_the_first_that_condemns_speaks_for_all():
    slow = replace(
        FINE, measured_mbps=100.0, progress=0.5, full=FullLinkRates((3, 5), {"a": 5.0}), rounds=RoundsDone(3, 1)
    )
    assert len(reasons(slow)) == 1
    assert [rule.passed for rule in judge(slow).rules[-4:]] == [False] * 4


def test_a_rule_is_stored_rounded_and_without_what_is_no_number():
    by_name = {rule.rule: rule for rule in judge(replace(FINE, measured_mbps=nan)).rules}
    assert by_name["processes"] == Rule("processes", True)
    assert by_name["full links"] == Rule("full links", True, 0.998, minimum=0.97)
    assert by_name["total"] == Rule("total", False, minimum=0.85)


def test_in_virtual_time_no_machine_is_slow_and_what_tcp_did_is_told():
    slow = replace(FINE, measured_mbps=135.0, full=FullLinkRates((3.0, 5.0), {"a": 9.0}), spec=VIRTUAL)
    found = judge(slow)
    assert (found.verdict, found.reasons) == ("ok", ())
    assert [remark.partition(":")[0] for remark in found.remarks] == ["TCP was slow", "TCP was slow"]
    assert judge(replace(slow, spec=SPEC)).verdict == "invalid"
    assert judge(replace(slow, lost_packets={"port a": 1})).verdict == "invalid"


def full(**mbps):
    return {"full": FullLinkRates((3, 5), mbps)}


def payload(mbps, mtu=1500):
    """What makes so much on the wire."""
    return mbps / on_the_wire(mtu)


def counted(mbps, sent, **more):
    """Counters told so much, and what flows delivered makes so much on the wire."""
    return {"counted_mbps": mbps, "payload_mbps": payload(sent), **more}


HALF = {
    "spec": replace(SPEC, link_mbps=0.5, mtu=9000),
    "placed_links": [],
    "payload_mbps": payload(120, 9000),
    **full(a=0.5),
}
"""Links of half a megabit a second, and packets of 9000 bytes."""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"port_mbps": {"a": nan, "b": 10.0}}, "port a "),
        ({"unfinished_flows": ["0 to 4"]}, "0 to 4"),
        ({"payload_mbps": nan}, "bwm-ng"),
        ({"lost_packets": {"port a": 3, "port b": 40}}, "40 packets were lost in port b"),
        ({"dead_processes": ["ovs-vswitchd 1 (status -9)"]}, "ovs-vswitchd 1 (status -9)"),
        (
            {"placed_links": [PlacedLink("a", 9, 10, 0), PlacedLink("b", 5.2, 4, 0), PlacedLink("c", 6, 2, 2.9)]},
            "placed on b",
        ),
        ({"placed_links": [PlacedLink("a", 1.0, nan, 0.0)]}, "placed on a"),
    ],
)
def test_each_doubt_is_named(change, said):
    (reason,) = reasons(replace(FINE, **change))
    assert said in reason


@pytest.mark.parametrize(
    ("rule", "kept", "broken"),
    [
        # 1 % above 10 Mb/s, and a bucket of 0.15 Mb once in 4 s
        ("limits", {"port_mbps": {"a": 10.1374}}, {"port_mbps": {"a": 10.1376}}),
        # links of several rates: each is held to its own
        (
            "limits",
            {"relative_rates": {"a": 1.5}, "port_mbps": {"a": 15.18}},
            {"relative_rates": {"a": 0.5}, "port_mbps": {"a": 6}},
        ),
        (
            "limits",
            {"relative_rates": {"a": 1.5}, "port_mbps": {"b": 10}},
            {"relative_rates": {"a": 1.5}, "port_mbps": {"b": 10.14}},
        ),
        ("full links", {"relative_rates": {"a": 0.5}, **full(a=4.9)}, full(a=4.9)),
        # of frames of 9014 bytes two are much of what half a megabit a second carries in four seconds
        ("limits", HALF | {"port_mbps": {"a": 0.54}}, HALF | {"port_mbps": {"a": 0.55}}),
        ("counters", counted(100.0, 95.01), counted(100.0, 94.99)),
        ("counters", counted(95.01, 100.0), counted(94.99, 100.0)),
        # what opening and closing connections brings is of the payload's side
        ("counters", counted(100.0, 90, overhead_mbps=5.01), counted(100.0, 90, overhead_mbps=4.99)),
        (
            "paths",
            {"placed_links": [PlacedLink("a", 5.999, 4.5, 0.5)]},
            {"placed_links": [PlacedLink("a", 6.001, 4.5, 0.5)]},
        ),
        # a link carries more than its flows deliver when packets are dropped behind it
        (
            "paths",
            {"placed_links": [PlacedLink("b", 5.0, 9.0, 0.0)]},
            {"placed_links": [PlacedLink("b", 9.0, 5.0, 0.0)]},
        ),
        # what the cores sent is what flows between pods delivered
        ("conservation", {"spread_mbps": (95.01, 100.0)}, {"spread_mbps": (94.99, 100.0)}),
        ("conservation", {"spread_mbps": (100.0, 95.01)}, {"spread_mbps": (100.0, nan)}),
        ("losses", {"lost_packets": {}}, {"lost_packets": {"port a": 1}}),
        ("flows", {"unfinished_flows": []}, {"unfinished_flows": ["0 to 4"]}),
        ("processes", {"dead_processes": []}, {"dead_processes": ["bwm-ng (status 1)"]}),
        ("total", {"measured_mbps": 136.01}, {"measured_mbps": 135.99}),
        ("total", {}, {"measured_mbps": nan}),
        ("progress", {"progress": 0.8501}, {"progress": 0.8499}),
        ("rounds", {"rounds": RoundsDone(2, 1)}, {"rounds": RoundsDone(3, 1)}),
        ("rounds", {"rounds": RoundsDone(3, 4)}, {"rounds": RoundsDone(1, 0)}),
        ("full links", full(a=9.701), full(a=9.699)),
        ("full links", {}, full(a=nan)),
        ("full links", full(a=7.0, b=9.701, c=10.0), full(a=7.0, b=9.699, c=10.0)),
    ],
)
def test_every_limit_from_both_sides(rule, kept, broken):
    for changes, holds in ((kept, True), (broken, False)):
        found = judge(replace(FINE, **changes))
        by_name = {one.rule: one.passed for one in found.rules if one.passed is not None}
        assert by_name == dict.fromkeys(by_name, True) | {rule: holds}
        assert len(found.reasons) == (not holds)
        slow = [reason.startswith("the machine was too slow: ") for reason in found.reasons]
        assert slow == [rule in OF_SPEED] * (not holds)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (counted(0.0, 0.0), Rule("counters", True, 0.0, maximum=0.05)),
        ({"lost_packets": None}, Rule("losses", None, why_not="a cable out of service loses packets")),
    ],
    ids=["nothing was sent", "cables are broken"],
)
def test_what_cannot_be_compared_condemns_nothing(changes, rule):
    assert rule in judge(replace(FINE, **changes)).rules


def test_after_a_failure_it_may_have_been_tcp_that_was_slow():
    (reason,) = reasons(replace(FINE, measured_mbps=120.0, spec=replace(SPEC, fail=("switch:4_1_1@2",))))
    assert reason.startswith("the machine, or TCP after the failure, was too slow")


TREE = FatTree(4)
PORTS = list_sending_ports(TREE)
ON_LINKS = RunSpec("ecmp", "stride:4", seconds=6, link_mbps=10)
WINDOW = (1.0, 5.0)


def flow(src, dst, *cores, back=0, mbps=4.0):
    """A flow of 6 s at a steady rate; ``cores``: (time, core) or one core."""
    path = [(0.0, cores[0])] if isinstance(cores[0], int) else list(cores)
    return measured(src, dst, *path, back=[(0.0, back)], mbps=[mbps] * 6)


def excesses(flows, carried):
    return {c.port: c for c in list_placed_links(TREE, ON_LINKS, flows, WINDOW, carried)}


def test_what_flows_deliver_is_added_up_on_every_link_of_their_paths_acknowledgements_too():
    found = excesses([flow(0, 4, 0, back=3), flow(1, 5, 0, back=3)], dict.fromkeys(PORTS, 9.0))
    # agg 0 of pod 0 sends both to core 0; their acknowledgements come back by core 3
    assert found["0_2_1-eth1"].delivered_mbps == pytest.approx(8 * compute_wire_per_payload())
    assert found["1_3_1-eth3"].delivered_mbps == pytest.approx(8 * compute_acknowledgements_per_payload())
    assert found["0_0_2"].delivered_mbps == pytest.approx(4 * compute_wire_per_payload())
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
    assert found["0_2_1-eth1"].delivered_mbps == pytest.approx(2 * compute_wire_per_payload())
    assert found["0_2_1-eth3"].delivered_mbps == pytest.approx(2 * compute_wire_per_payload())
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
    (found,) = (c for c in list_placed_links(TREE, ON_LINKS, flows, (1.5, 5.0), {}) if c.port == "0_2_1-eth1")
    assert found.slack_mbps == pytest.approx(mbit * compute_wire_per_payload() / 3.5, abs=1e-3)


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
        # 50 packets of 9000 bytes at 10 Mb/s are 9 s, 200 at 25 Mb/s are 14.4
        (10, [0.0], {"queue": 300}, (9.0, 10)),
        (10, [0.01], {"queue": 300}, None),
        (10, [0.0], {"link_mbps": 25, "queue": 1200}, None),
    ],
)
def test_links_that_have_to_be_full_are_judged_once_tcp_has_settled(seconds, changes, settings, window):
    spec = RunSpec("ecmp", "stride:4", seconds=seconds, **{"link_mbps": 10, **settings})
    expected = None if window is None else pytest.approx(window, abs=1e-3)
    assert find_settled_window(spec, changes, []) == expected
    assert find_settled_window(spec, [], [Outage(t, frozenset()) for t in changes]) == expected, "as after a failure"


def test_without_a_settled_second_the_measuring_window_is_all_there_is():
    spec = replace(ON_LINKS, seconds=8)
    t = np.arange(1.0, 9.0)
    found = find_full_links(
        TREE, spec, [measured(0, 1), measured(0, 1, start=3.25)], [], {"0_0_2": (t, np.full(8, 9.9))}
    )
    assert found.window == spec.window_s
    assert found.mbps["0_0_2"] == pytest.approx(9.9)
    assert found.why_not is not None
    assert "that takes 5 s after" in found.why_not
    longer = replace(spec, seconds=10)
    assert find_full_links(TREE, longer, [measured(0, 1), measured(0, 1, start=3.25)], [], {}).why_not is None


def test_only_links_that_are_full_all_the_time_have_to_be():
    spec = replace(ON_LINKS, seconds=60)
    # Two flows of one host share its link, and leave all others half empty, but for the second receiver's.
    flows = [measured(0, 4, (0, 0)), measured(0, 8, (0, 3)), measured(12, 8, (0, 0))]
    t = np.arange(1.0, 61.0)
    sent = {"0_0_2": (t, np.full(60, 9.9)), "2_0_1-eth2": (t, np.where(t > 30, 9.0, 10.0))}
    found = find_full_links(TREE, spec, flows, [], sent)
    assert found.window == (10, 50)
    assert found.mbps == {"0_0_2": pytest.approx(9.9), "2_0_1-eth2": pytest.approx(9.5)}
    # The first flow's way is another one from second 20 on: what was full before counts from 25 on.
    moved = [measured(0, 4, (0, 0), (20, 1)), *flows[1:]]
    assert find_full_links(TREE, spec, moved, [], sent).window == (25, 50)


def test_a_port_without_samples_is_no_proof():
    found = find_full_links(TREE, replace(ON_LINKS, seconds=60), [measured(0, 1), measured(2, 1)], [], {})
    assert found.mbps == {"0_0_1-eth4": pytest.approx(np.nan, nan_ok=True)}
