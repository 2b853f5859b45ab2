"""The controller against fake flow tables: what it installs is what packets then do."""

import itertools

import pytest

from hedera.schemes import SCHEMES
from tests.controllers.fake_network import FakeNetwork
from tests.controllers.frames import BROADCAST, Other, Packet, arp_request, between, mac_bytes

STATIC = [name for name, scheme in SCHEMES.items() if name not in ("nonblocking", "spray", "planned")]


def port_of(pair):
    return 20000 + pair % 40000


# Hedera's schemes have ECMP's paths until the first round; once is enough for the many pairs of k = 8.
CASES = [
    pytest.param(name, {"k": k}, marks=[pytest.mark.slow] if k == 8 else [])
    for name in STATIC
    for k in (4, 8)
    if k == 4 or not SCHEMES[name].scheduler
]


@pytest.mark.parametrize(
    ("scheme", "network"), [*CASES, ("random", {"topology": "leaf-spine:4,2,4"}), ("random", {"topology": "plan"})]
)
def test_every_pair_takes_the_path_its_scheme_chose(scheme, network):
    """No loop, no black hole, in both directions; later packets take the path of the first, untouched.

    At k = 8 of every seventh pair, which are all pairs of pods and all places in them.
    """
    net = FakeNetwork(scheme=scheme, **network, seed=3)
    tree = net.topo
    pairs = list(itertools.combinations(range(tree.num_hosts), 2))[:: 1 if tree.num_hosts < 20 else 7]
    for n, (src, dst) in enumerate(pairs):
        ends = {"src_port": port_of(n), "dst_port": 5001}
        for a, b, packet in (
            (src, dst, between(tree, src, dst, **ends)),
            (dst, src, between(tree, dst, src, src_port=5001, dst_port=port_of(n))),
        ):
            first = net.send(a, packet)
            flow = net.log[-1]
            assert (flow["event"], flow["src"], flow["dst"], flow["reason"]) == ("flow", a, b, "hashed")
            assert first == tree.path(a, b, flow["core"])
            seen = net.packet_ins.total()
            assert net.send(a, packet) == first
            assert net.packet_ins.total() == seen
    flows = net.log.of("flow")
    assert len({flow["key"] for flow in flows}) == len(flows) == 2 * len(pairs)


def test_entries_sit_in_the_source_pod_alone():
    net = FakeNetwork(scheme="ecmp", k=4)
    for dst, where in ((1, {"0_0_1"}), (2, {"0_0_1"}), (4, {"0_0_1", "aggregation"})):
        net.flow_mods()
        path = net.send(0, between(net.topo, 0, dst))
        expected = {path[2] if name == "aggregation" else name for name in where}
        assert {name for name, _, _ in net.flow_mods()} == expected
    rules = [entry.rule for table in net.tables.values() for entry in table if entry.rule.cookie]
    assert all(rule.match.in_port is None and rule.idle_timeout > 0 for rule in rules)
    assert [rule.notify for rule in rules].count(True) == 3, "the edge switch alone tells that a flow has ended"


def test_the_downstream_switch_is_told_first():
    net = FakeNetwork(scheme="ecmp", k=4)
    net.sent.clear()
    path = net.send(0, between(net.topo, 0, 15))
    edge, aggregation = net.topo.dpid(path[1]), net.topo.dpid(path[2])
    assert [(dpid, kind) for dpid, kind, _ in net.sent] == [(aggregation, "add"), (edge, "add"), (edge, "packet_out")]


@pytest.mark.parametrize(("protocol", "ports"), [(1, (8, 0)), (17, (40000, 53)), (47, (0, 0)), (6, (0, 0))])
def test_any_protocol_gets_through(protocol, ports):
    net = FakeNetwork(scheme="ecmp", k=4)
    packet = between(net.topo, 0, 15, protocol=protocol, src_port=ports[0], dst_port=ports[1])
    assert net.send(0, packet) == net.send(0, packet)
    assert net.packet_ins.total() == 1
    assert net.send(0, packet)[-1] == net.topo.host_name(15)


# --- packets that come more than once, or where they should not


@pytest.mark.parametrize("switch", [1, 2])
def test_an_entry_gone_from_one_switch_comes_back_without_zeroing_the_other(switch):
    net = FakeNetwork(scheme="ecmp", k=4)
    packet = between(net.topo, 0, 15)
    path = net.send(0, packet)
    net.send(0, packet, count=1000)
    net.advance(3.0)
    table = net.tables[net.topo.dpid(path[switch])]
    table.remove(table.lookup(2, packet))
    net.flow_mods()
    assert net.send(0, packet) == path
    assert {kind for _, kind, _ in net.flow_mods()} == {"modify"}
    assert net.send(0, packet) == path
    assert net.packet_ins.total() == 2
    other = net.tables[net.topo.dpid(path[3 - switch])].lookup(2, packet)
    assert other.packets >= 1000
    assert len(net.log.of("flow")) == 1


def test_expiry_at_the_aggregation_switch_does_not_end_a_flow():
    net = FakeNetwork(scheme="ecmp", k=4)
    path = net.send(0, between(net.topo, 0, 15))
    net.controller.flow_removed(net.topo.dpid(path[2]), 1, 0)
    assert not net.log.of("expired")


@pytest.mark.parametrize(
    "packet",
    [
        Packet("02:00:00:00:00:01", BROADCAST, "10.0.0.2", "224.0.0.251", 17),
        Packet("02:00:00:00:00:01", BROADCAST, "10.0.0.2", "8.8.8.8"),
        Packet("02:00:00:00:00:01", BROADCAST, "10.0.0.2", "10.0.0.2"),
        Packet("02:00:00:00:00:01", BROADCAST, "10.3.0.2", "10.2.0.2"),  # not below this edge switch
        Packet("02:00:00:00:00:01", BROADCAST, "10.0.1.2", "10.2.0.2"),
        Other(0x86DD),
        Other(0x88CC),
    ],
)
def test_strangers_go_nowhere(packet):
    net = FakeNetwork(scheme="ecmp", k=4)
    net.flow_mods()
    assert net.send(0, packet) == (net.topo.host_name(0), "0_0_1")
    assert net.flow_mods() == []
    assert not net.log.of("flow")


@pytest.mark.parametrize("scheme", ["ecmp", "nonblocking"])
def test_arp_is_answered_not_flooded(scheme):
    net = FakeNetwork(scheme=scheme, k=4)
    edge = net.topo.dpid(net.topo.edge_of(0))
    net.controller.packet_in(edge, 2, arp_request(net.topo, 0, net.topo.host_ip(9)).frame())
    ((dpid, port, frame),) = net.outputs
    assert (dpid, port, frame[:6]) == (edge, 2, mac_bytes(net.topo.host_mac(0)))
    assert frame[22:28] == mac_bytes(net.topo.host_mac(9))
    net.outputs.clear()
    net.controller.packet_in(edge, 2, arp_request(net.topo, 0, "10.77.0.2").frame())
    assert net.outputs == []


@pytest.mark.parametrize("scheme", ["ecmp", "nonblocking"])
def test_noise_never_reaches_the_controller(scheme):
    net = FakeNetwork(scheme=scheme, k=4)
    for name in net.topo.switches:
        for packet in (Other(0x86DD), Other(0x88CC)):
            entry = net.tables[net.topo.dpid(name)].lookup(1, packet)
            assert entry.rule.out_port is None, name


# --- switches that come and go


def test_ready_once_every_switch_has_confirmed():
    net = FakeNetwork(scheme="ecmp", k=4, connect=False)
    dpids = list(net.tables)
    for dpid in dpids[:-1]:
        net.controller.switch_up(dpid)
    net.settle()
    assert not net.log.of("ready")
    net.controller.switch_up(dpids[-1])
    assert not net.log.of("ready"), "connected is not confirmed"
    net.controller.switch_down(dpids[-1])
    net.settle()
    assert not net.log.of("ready"), "lost before it answered"
    net.controller.switch_up(dpids[-1])
    net.controller.switch_down(dpids[0])
    net.settle()
    assert not net.log.of("ready"), "another is gone again"
    net.controller.switch_up(dpids[0])
    net.settle()
    assert net.log.of("ready") == [{"event": "ready", "switches": 20}]


def test_an_unknown_switch_is_left_alone():
    net = FakeNetwork(scheme="ecmp", k=4)
    net.sent.clear()
    net.controller.switch_up(0xABCDEF)
    net.controller.packet_in(0xABCDEF, 1, between(net.topo, 0, 15).frame())
    net.controller.port_status(0xABCDEF, 1, False)
    net.controller.switch_down(0xABCDEF)
    assert net.sent == []
    assert "0xabcdef" in net.log.of("error")[0]["message"]
