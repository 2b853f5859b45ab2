"""Links that fail: flows leave them, and come to no harm."""

import itertools

import pytest

from tests.controllers.fake_network import FakeNetwork
from tests.controllers.frames import between

ALL_PAIRS = list(itertools.permutations(range(16), 2))


def packets(net):
    return {(src, dst): between(net.topo, src, dst, src_port=20000 + 16 * src + dst) for src, dst in ALL_PAIRS}


@pytest.mark.parametrize(
    ("scheme", "topology"),
    [*((one, None) for one in ("ecmp", "spanning-tree", "random", "hedera-gff")), ("ecmp", "plan")],
)
@pytest.mark.parametrize(("a", "b"), [("0_0_1", "0_2_1"), ("0_2_1", "4_1_1")])
def test_flows_leave_a_broken_path_and_others_stay(scheme, topology, a, b):
    net = FakeNetwork(scheme=scheme, topology=topology)
    sent = packets(net)
    before = {pair: net.send(pair[0], packet) for pair, packet in sent.items()}
    net.set_cable(a, b)
    for pair, packet in sent.items():
        after = net.send(pair[0], packet)
        assert after[-1] == before[pair][-1]
        hops = {frozenset(hop) for hop in itertools.pairwise(after)}
        assert frozenset((a, b)) not in hops
        if frozenset((a, b)) not in {frozenset(hop) for hop in itertools.pairwise(before[pair])}:
            assert after == before[pair]


def test_a_host_port_moves_nothing():
    net = FakeNetwork(scheme="ecmp", k=4)
    net.send(0, between(net.topo, 0, 4))
    net.flow_mods()
    for port in (2, 4):
        net.controller.port_status(net.topo.dpid("0_0_1"), port, False)
    assert net.flow_mods() == []
    assert net.controller._routing.links.intact


def test_a_host_that_is_cut_off_is_let_be():
    net = FakeNetwork(scheme="ecmp", k=4)
    path = net.send(0, between(net.topo, 0, 4))
    net.set_cable("0_0_1", path[2])
    net.flow_mods()
    net.set_cable("0_0_1", next(name for name in ("0_2_1", "0_3_1") if name != path[2]))
    net.set_cable("1_0_1", "1_2_1")
    assert net.flow_mods() == []


def test_ports_reported_down_at_connect_are_known():
    net = FakeNetwork(scheme="spanning-tree", k=4, connect=False)
    for dpid in net.tables:
        net.controller.switch_up(dpid, [1] if dpid == net.topo.dpid("0_2_1") else [0xFFFE])
    net.settle()
    assert net.send(0, between(net.topo, 0, 4))[3] == "4_1_2"
    assert [event["port"] for event in net.log.of("port")] == [1], "a switch's own port is not a cable"


@pytest.mark.parametrize("scheme", ["ecmp", "hedera-gff"])
def test_after_a_failure_acknowledgements_are_with_their_data_again(scheme):
    net = FakeNetwork(scheme=scheme, k=4, seed=1, ack_paths="with-data")
    there, back = between(net.topo, 0, 4), between(net.topo, 4, 0, src_port=5001, dst_port=20000)
    first = net.send(0, there)
    assert net.send(4, back) == first[::-1]
    net.set_cable(first[2], first[3])  # between aggregation switch and core
    net.advance(0.1)
    second = net.send(0, there)
    assert second[-1] == first[-1]
    assert second != first
    assert net.send(4, back) == second[::-1]
