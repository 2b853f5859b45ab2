"""New flows that switches spread by themselves: the controller sees no packet, and knows their paths all the same."""

import itertools
import shutil
import struct

import pytest

from controllers.driver import LearnAction, Spread
from controllers.rules import LearnRules, encode_nicira_actions
from hedera.hashes import parse_hash
from hedera.routing import Ecmp
from tests.commands import ran
from tests.controllers.fake_network import FakeNetwork
from tests.controllers.frames import between
from tests.controllers.test_hedera_loop import Traffic
from topos.fattree import FatTree

SCHEMES = ["ecmp", "ecmp-dst", "spanning-tree", "random", "hedera-gff"]


def network(scheme="ecmp", k=4, **settings):
    return FakeNetwork(scheme=scheme, k=k, new_flows="switch", **settings)


def known_paths(net):
    """By hosts and source port, of what the log says: the last word on each."""
    found, keys = {}, {}
    for event in net.log:
        if event["event"] == "flow":
            keys[event["key"]] = (event["src"], event["dst"], event["src_port"])
        if event["event"] in ("flow", "reroute"):
            src, dst, _ = flow = keys[event["key"]]
            found[flow] = net.topo.path(src, dst, event["core"])
    return found


@pytest.mark.parametrize(("scheme", "k"), [*((scheme, 4) for scheme in SCHEMES), ("ecmp", 8)])
def test_flows_arrive_without_the_controller_which_learns_their_paths(scheme, k):
    net = network(scheme, k, seed=3)
    pairs = list(itertools.permutations([*range(6), *range(6, net.topo.num_hosts, k)], 2))
    paths = {
        (src, dst, 20000 + n): net.send(src, between(net.topo, src, dst, src_port=20000 + n))
        for n, (src, dst) in enumerate(pairs)
    }
    assert {path[-1] for path in paths.values()} == {net.topo.host_name(dst) for _, dst in pairs}
    assert net.packet_ins.total() == 0
    net.advance(2.5)
    assert known_paths(net) == paths
    flows = net.log.of("flow")
    assert {flow["reason"] for flow in flows} == {"learned"}
    assert {round(flow["age_s"], 1) for flow in flows} == {2.0}
    assert len({flow["key"] for flow in flows}) == len(flows)


@pytest.mark.parametrize("scheme", ["ecmp", "ecmp-polarized", "ecmp@unsalted:destination", "ecmp@ovs:5-tuple"])
def test_switches_with_one_hash_choose_alike(scheme):
    net = network(scheme, seed=3)
    hosts = range(net.topo.num_hosts)
    pairs = [(src, dst) for src in hosts for dst in hosts if src // 4 != dst // 4]
    paths = [net.send(src, between(net.topo, src, dst, src_port=20000 + n)) for n, (src, dst) in enumerate(pairs)]
    ups = [[net.topo.ports[hop] for hop in itertools.pairwise(path[1:4])] for path in paths]
    assert len({tuple(up) for up in ups}) == (4 if scheme == "ecmp" else 2)
    assert all(edge == aggregation for edge, aggregation in ups) == (scheme != "ecmp")


def test_what_no_switch_can_hash_is_refused():
    for hash in ("crc32:5-tuple", "salted:edge-pair"):
        with pytest.raises(ValueError, match=f"switches cannot choose paths by {hash}"):
            LearnRules(FatTree(4), Ecmp(FatTree(4), hash=parse_hash(hash)), 2.0)


@pytest.mark.parametrize("scheme", ["spray", "flowlet:500"])
@pytest.mark.parametrize(
    ("topology", "lengths", "tops"),
    [({"k": 8, "new_flows": "switch"}, {3, 5, 7}, 16), ({"topology": "leaf-spine:3,4,2"}, {3, 5}, 4)],
)
def test_packets_are_spread_over_all_paths_and_the_controller_hears_of_none(scheme, topology, lengths, tops):
    net = FakeNetwork(scheme=scheme, time="virtual", **topology)
    hosts = net.topo.num_hosts
    ends = [*itertools.permutations(range(0, hosts, 3 if hosts > 6 else 1), 2), (0, 1), (1, 0)]
    paths = {(src, dst): net.send(src, between(net.topo, src, dst)) for src, dst in ends}
    assert all(path[-1] == net.topo.host_name(dst) for (_, dst), path in paths.items())
    assert {len(path) for path in paths.values()} == lengths
    longest = [path for path in paths.values() if len(path) == max(lengths)]
    assert len({path[len(path) // 2] for path in longest}) == tops, "cores, or spines"
    net.advance(5)
    assert (net.packet_ins.total(), net.log.of("flow")) == (0, [])


def test_hedera_measures_and_moves_what_it_did_not_place():
    net = network("hedera-gff", seed=1)
    traffic = Traffic(net)
    for port in range(20000, 20004):
        traffic.start(0, 4, 0.3, port)
        traffic.start(1, 5, 0.3, port)
    traffic.run(9)
    assert net.packet_ins.total() == 0
    last = net.log.of("round")[-1]
    assert last["large"] == 8
    assert all(flow["rate"] == pytest.approx(0.3, rel=0.05) for flow in last["large_flows"])
    now = known_paths(net)
    for src, dst, port in traffic.flows:
        assert traffic.path(src, dst, port) == now[src, dst, port]
    assert net.log.of("reroute"), "eight flows of 0.3 do not fit where four of them hashed alike"


@pytest.mark.parametrize(
    ("scheme", "a", "b", "known"),
    [
        ("ecmp", "0_0_1", "0_2_1", False),
        ("ecmp", "1_2_1", "4_1_1", True),
        ("spanning-tree", "0_2_1", "4_1_1", False),
        ("hedera-gff", "0_0_1", "0_2_1", True),
    ],
)
def test_flows_leave_a_broken_link_whether_the_controller_has_heard_of_them_or_not(scheme, a, b, known):
    net = network(scheme)
    pairs = list(itertools.permutations(range(16), 2))
    old = {pair: between(net.topo, *pair, src_port=20000 + n) for n, pair in enumerate(pairs)}
    for (src, _), packet in old.items():
        net.send(src, packet)
    net.advance(2.5 if known else 0.1)
    net.set_cable(a, b)
    net.settle()
    new = {pair: between(net.topo, *pair, src_port=30000 + n) for n, pair in enumerate(pairs)}
    for (src, _), packet in new.items():
        net.send(src, packet)
    net.advance(2.5)  # in which the entries are read of those that a failure further on has stopped
    for (src, dst), packet in [*old.items(), *new.items()]:
        path = net.send(src, packet)
        assert path[-1] == net.topo.host_name(dst)
        assert frozenset((a, b)) not in {frozenset(hop) for hop in itertools.pairwise(path)}
    net.set_cable(a, b, up=True)
    net.settle()
    used = set()
    for port in range(40000, 40100):
        for src, dst in ((0, 4), (4, 0), (0, 2), (5, 3)):
            path = net.send(src, between(net.topo, src, dst, src_port=port))
            used |= {frozenset(hop) for hop in itertools.pairwise(path)}
    assert frozenset((a, b)) in used


@pytest.mark.parametrize("scheme", ["ecmp", "spray"])
def test_a_packet_with_nowhere_to_go_does_not_circle(scheme):
    net = network(scheme)
    for address in ("10.1.0.9", "10.0.0.9", "10.9.0.2", "192.0.2.1"):
        packet = between(net.topo, 0, 4)
        stray = type(packet)(packet.src_mac, packet.dst_mac, packet.src_ip, address)
        assert net.send(0, stray)[-1] not in net.topo.hosts  # FakeNetwork counts the hops


def learned(timeout, number, protocol):
    fields = f"NXM_OF_IP_SRC[],NXM_OF_IP_DST[],NXM_OF_{protocol}_SRC[],NXM_OF_{protocol}_DST[]"
    entry = f"table=0,idle_timeout={timeout},priority=400,cookie=0x7,eth_type=0x800,nw_proto={number},{fields}"
    return f"learn({entry},output:NXM_NX_REG1[0..15]),output:NXM_NX_REG1[0..15]"


@pytest.mark.skipif(shutil.which("ovs-ofctl") is None, reason="ovs-ofctl is not here")
@pytest.mark.parametrize(
    ("learn", "text"),
    [
        (
            LearnAction((1, 3), 6, 3, 1234, 400, 7, 5),
            "bundle_load(symmetric_l3l4+udp,1234,hrw,ofport,NXM_NX_REG1[0..15],members:1,3)," + learned(5, 6, "TCP"),
        ),
        (LearnAction((5,), 17, 5, 9, 400, 7, 8), "load:0x5->NXM_NX_REG1[0..15]," + learned(8, 17, "UDP")),
        (Spread((1, 3), 500), "actions=load:0x480001f4->NXM_NX_PKT_MARK[],output:1,output:3\n"),
        (LearnAction((1, 3, 5), 6, 5, 7, 400, 7, 5), "bundle_load(nw_dst,7,hrw,ofport"),
        (LearnAction((1, 3), 6, 1, 0, 400, 7, 5), "bundle_load(symmetric_l4,0,hrw,ofport"),
    ],
)
def test_open_vswitch_reads_the_actions_as_they_are_meant(learn, text):
    protocol = struct.pack("!B", getattr(learn, "protocol", 6))
    match = struct.pack("!I18xHx", 0x3FFFFF & ~0x30, 0x0800).ljust(25, b"\0") + protocol + bytes(14)
    actions = encode_nicira_actions(learn)
    body = match[:40] + struct.pack("!QHHHHIHH", 0, 0, 0, 0, 100, 0xFFFFFFFF, 0xFFFF, 0) + actions
    message = struct.pack("!BBHI", 1, 14, 8 + len(body), 1) + body
    done = ran("ovs-ofctl", "ofp-print", message.hex(), check=True)
    assert text in done.stdout.replace("slaves:", "members:"), done.stdout + done.stderr


@pytest.mark.parametrize("scheme", ["ecmp", "hedera-gff"])
@pytest.mark.parametrize(
    "cables",
    [[("0_0_1", "0_2_1"), ("0_0_1", "0_3_1")], [(f"0_{a}_1", f"4_{a - 1}_{j}") for a in (2, 3) for j in (1, 2)]],
)
def test_a_flow_that_came_while_no_port_was_up_moves_once_one_is(scheme, cables):
    """What its switch has learned drops it, and lives for as long as it sends."""
    net = network(scheme, seed=1)
    packet = between(net.topo, 0, 4)
    for cable in cables:
        net.set_cable(*cable)
    for _ in range(4):
        assert net.send(0, packet)[-1] != net.topo.host_name(4)
        net.advance(0.5)
    for cable in cables:
        net.set_cable(*cable, up=True)
    net.settle()
    for _ in range(8):
        net.send(0, packet)
        net.advance(0.5)
    assert net.send(0, packet)[-1] == net.topo.host_name(4)
    assert known_paths(net)[0, 4, packet.src_port] == net.send(0, packet)
