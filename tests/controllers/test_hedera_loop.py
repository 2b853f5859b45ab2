"""Hedera's loop against fake flow tables: what it measures, decides and sends."""

import itertools

import pytest

from hedera.routing import Ecmp
from tests.controllers.fake_network import FakeNetwork
from tests.controllers.frames import between

FULL, ACK = 1514, 66
STEP = 0.5


class Traffic:
    """TCP flows that send at given fractions of the NIC rate, and get acknowledgements back."""

    def __init__(self, net):
        self.net = net
        self.flows = {}

    def start(self, src, dst, rate=1.0, port=20000):
        self.flows[src, dst, port] = rate
        self._step(src, dst, port, 0.0)

    def stop(self, src, dst, port=20000):
        del self.flows[src, dst, port]

    def _step(self, src, dst, port, rate):
        topo = self.net.topo
        count = max(1, round(rate * self.net.settings.link_mbps * 1e6 / 8 * STEP / FULL))
        data = between(topo, src, dst, src_port=port)
        self.net.send(src, data, count=count, size=FULL if rate else ACK)
        self.net.send(dst, between(topo, dst, src, src_port=5001, dst_port=port), count=count // 2 + 1, size=ACK)

    def run(self, seconds):
        for _ in range(round(seconds / STEP)):
            for (src, dst, port), rate in self.flows.items():
                self._step(src, dst, port, rate)
            self.net.advance(STEP)

    def path(self, src, dst, port=20000):
        return self.net.send(src, between(self.net.topo, src, dst, src_port=port))


@pytest.fixture
def net():
    return FakeNetwork(scheme="hedera-gff", k=4, seed=1)


@pytest.fixture
def traffic(net):
    return Traffic(net)


def colliding_ports(net, pairs, core):
    """Source ports for which all these pairs hash to one core."""
    routing = Ecmp(net.topo, net.settings.seed)
    return [next(p for p in range(20000, 30000) if routing.cores(src, dst, p, 5001)[0] == core) for src, dst in pairs]


@pytest.mark.parametrize("scheme", ["hedera-gff", "hedera-sa"])
def test_collisions_are_resolved_within_two_rounds(scheme):
    """Stride 4 at full rate, all hashed to core 0: four flows of each pod share one uplink of four."""
    net = FakeNetwork(scheme=scheme, k=4, seed=1)
    traffic = Traffic(net)
    pairs = [(src, (src + 4) % 16) for src in range(16)]
    ports = colliding_ports(net, pairs, core=0)
    for (src, dst), port in zip(pairs, ports, strict=True):
        traffic.start(src, dst, rate=0.25, port=port)
    traffic.run(4.5)
    paths = [traffic.path(src, dst, port) for (src, dst), port in zip(pairs, ports, strict=True)]
    uplinks = [hop for path in paths for hop in (path[1:3], path[2:4])]
    assert len(set(uplinks)) == len(uplinks), "every upward link carries one flow"
    logged = {flow["key"]: flow["core"] for flow in net.log.of("flow")}
    logged |= {change["key"]: change["core"] for change in net.log.of("reroute")}
    for flow in net.log.of("flow"):
        if flow["dst_port"] == 5001:
            path = paths[pairs.index((flow["src"], flow["dst"]))]
            assert path == net.topo.path(flow["src"], flow["dst"], logged[flow["key"]])


def test_an_object_of_the_users_own_routes_and_then_hears_of_rates(tmp_path):
    """Those of acknowledgements, which are flows as well, are below the threshold."""
    file = tmp_path / "both.py"
    file.write_text(
        "class Both:\n    def __init__(self, *given): self.routed = set()\n"
        "    def route(self, flow, links): self.routed.add(flow.src); return 1\n"
        "    def place(self, flows, links):\n"
        "        routed = self.routed > set(flows.src.tolist())\n"
        "        return flows.core + 2 * (routed and flows.rate < 0.9 * flows.demand)\n"
    )
    net = FakeNetwork(scheme=f"{file}:Both", k=4, seed=1, large_flows="measured")
    traffic = Traffic(net)
    traffic.start(0, 4, rate=0.5)
    traffic.start(2, 8, rate=1.0)
    traffic.run(2.5)
    cores = {(flow["src"], flow["dst"]): flow["core"] for flow in net.log.of("flow")}
    assert {cores[0, 4], cores[2, 8]} == {1}
    assert [net.log.of("flow")[0]["key"]] == [change["key"] for change in net.log.of("reroute")]
    assert traffic.path(0, 4)[3] != traffic.path(2, 8)[3]


@pytest.fixture(params=["hedera-gff", "hedera-sa"])
def with_data(request):
    """A network whose acknowledgements go by their data's cables, and traffic that collides in it."""
    net = FakeNetwork(scheme=request.param, k=4, seed=1, ack_paths="with-data")
    traffic = Traffic(net)
    pairs = [(0, 4), (1, 8), (2, 12), (3, 9)]
    for (src, dst), port in zip(pairs, colliding_ports(net, pairs, core=3), strict=True):
        traffic.start(src, dst, port=port)
    return net, traffic


def paths_both_ways(net, traffic):
    """The paths of all data, and those of its acknowledgements, turned round."""
    data = [traffic.path(src, dst, port) for src, dst, port in traffic.flows]
    acknowledgements = [
        net.send(dst, between(net.topo, dst, src, src_port=5001, dst_port=port), size=ACK)
        for src, dst, port in traffic.flows
    ]
    return data, [path[::-1] for path in acknowledgements]


def test_acknowledgements_follow_their_data(with_data):
    net, traffic = with_data
    first, back = paths_both_ways(net, traffic)
    assert first == back, "from the first packet on"
    traffic.run(5.5)
    later, back = paths_both_ways(net, traffic)
    assert later == back
    assert later != first, "rounds have moved data"


def test_rounds_place_data_alone_and_acknowledgements_follow(with_data):
    net, traffic = with_data
    paths_both_ways(net, traffic)
    traffic.run(5.5)
    paths_both_ways(net, traffic)
    first_round = net.log.of("round")[0]
    moved = [event for event in net.log.of("reroute") if event["round"] == first_round["round"]]
    assert first_round["changed"] == len(moved)
    carrying = {flow["key"] for flow in net.log.of("flow") if flow["dst_port"] == 5001}
    by_rounds = {event["key"] for event in net.log.of("reroute") if event["round"] is not None}
    assert by_rounds <= carrying, "acknowledgements are placed by no round"


def test_hashed_acknowledgements_stay_where_they_are(net, traffic):
    pairs = [(0, 4), (1, 8), (2, 12), (3, 9)]
    for (src, dst), port in zip(pairs, colliding_ports(net, pairs, core=3), strict=True):
        traffic.start(src, dst, port=port)
    traffic.run(5.5)
    carrying = {flow["key"] for flow in net.log.of("flow") if flow["dst_port"] == 5001}
    assert {event["key"] for event in net.log.of("reroute")} <= carrying


def test_a_round_reports_what_it_did(net, traffic):
    traffic.start(0, 4, rate=0.6)
    traffic.run(4.5)
    first, second = net.log.of("round")
    assert (first["round"], second["round"]) == (1, 2)
    assert second["flows"] == 2, "the data and its acknowledgements"
    assert (second["large"], second["changed"]) == (1, 0)
    (flow,) = second["large_flows"]
    assert (flow["src"], flow["dst"], flow["demand"]) == (0, 4, 1.0)
    assert flow["rate"] == pytest.approx(0.6, rel=0.01)
    assert {"polled_s", "compute_s", "install_s"} <= second.keys()


def test_rounds_keep_their_interval_however_long_one_takes(net, traffic):
    times = []
    schedule = net.controller._hedera._scheduler.round
    net.controller._hedera._scheduler.round = lambda now, flows: (times.append(now), schedule(now, flows))[1]
    net.advance(20.9)
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == [2.0] * 9


def test_a_flow_below_the_senders_own_switch_has_a_demand(net, traffic):
    """0 sends to its neighbour 1 and 4 does: both want half, although the first has no choice of path."""
    traffic.start(0, 1, rate=0.5)
    traffic.start(4, 1, rate=0.5)
    traffic.run(2.5)
    demands = {(f["src"], f["dst"]): f["demand"] for f in net.log.of("round")[-1]["large_flows"]}
    assert demands == {(0, 1): 0.5, (4, 1): 0.5}


# --- installing


def test_the_new_aggregation_switch_confirms_before_the_edge_is_told(net, traffic):
    pairs = [(0, 4), (2, 6)]
    ports = colliding_ports(net, pairs, core=3)
    for (src, dst), port in zip(pairs, ports, strict=True):
        traffic.start(src, dst, rate=0.5, port=port)
    net.sent.clear()
    traffic.run(2.0)
    kinds = [(net.topo.layer(net.topo.switch_by_dpid[dpid]), kind) for dpid, kind, _ in net.sent]
    mods = [item for item in kinds if item[1] in ("add", "modify")]
    assert mods == [("aggregation", "modify")] * 2 + [("edge", "modify")] * 2
    first_edge = kinds.index(("edge", "modify"))
    assert ("aggregation", "barrier") in kinds[:first_edge]
    assert net.log[-1]["event"] == "round"
    assert [event["core"] for event in net.log.of("reroute")] == [0, 1]


def test_a_packet_that_overtakes_a_reroute_still_arrives(net, traffic):
    """Between the two steps of a reroute, whatever switch a packet is at, it is sent on to its host."""
    traffic.start(0, 4, port=colliding_ports(net, [(0, 4)], core=3)[0])
    (_, _, port), packet = next(iter(traffic.flows)), None
    packet = between(net.topo, 0, 4, src_port=port)
    arrived = []
    modify = net.install
    net.install = lambda *a, **k: (modify(*a, **k), arrived.append(net.send(0, packet)[-1]))
    traffic.run(2.0)
    assert len(arrived) == 2
    assert set(arrived) == {net.topo.host_name(4)}


def test_only_the_switches_that_differ_are_told(net, traffic):
    """From core 1 to core 0 the aggregation switch stays: the edge entry is right as it is."""
    traffic.start(0, 4, port=colliding_ports(net, [(0, 4)], core=1)[0])
    net.flow_mods()
    traffic.run(2.0)
    assert [(net.topo.layer(name), kind) for name, kind, _ in net.flow_mods()] == [("aggregation", "modify")]


def test_rerouting_keeps_the_counters(net, traffic):
    traffic.start(0, 4, rate=0.7, port=colliding_ports(net, [(0, 4)], core=3)[0])
    traffic.run(6.5)
    assert net.log.of("reroute")
    rates = [flow["rate"] for report in net.log.of("round")[1:] for flow in report["large_flows"]]
    assert rates == pytest.approx([0.7, 0.7], rel=0.01)


def test_no_flow_is_moved_where_a_switch_cannot_be_told(net, traffic):
    traffic.start(0, 4, port=colliding_ports(net, [(0, 4)], core=3)[0])
    net.controller.switch_down(net.topo.dpid("0_2_1"))
    net.flow_mods()
    traffic.run(4.0)
    assert all(name != "0_2_1" for name, _, _ in net.flow_mods())
    assert traffic.path(0, 4, port=next(iter(traffic.flows))[2])[2] == "0_3_1"


# --- polling


def test_a_lost_reply_delays_only_its_own_switch(net, traffic):
    ports = colliding_ports(net, [(0, 4), (2, 6)], core=3)
    traffic.start(0, 4, port=ports[0])
    traffic.run(2.5)
    assert net.log.of("round")[-1]["large"] == 1
    net.muted.add(net.topo.dpid("0_0_1"))
    traffic.start(2, 6, port=ports[1])
    traffic.run(2.5)
    report = net.log.of("round")[-1]
    assert report["round"] == 2
    flows = {(flow["src"], flow["dst"]): flow["rate"] for flow in report["large_flows"]}
    assert flows.keys() == {(0, 4), (2, 6)}, "the silent switch's flow is carried forward"
    assert flows[2, 6] > 0.5
    assert not net.log.of("expired")


def test_a_flow_that_began_after_the_question_is_not_missed_in_the_answer(net, traffic):
    traffic.run(1.5)
    net.late.add(net.topo.dpid("0_0_1"))
    net.advance(0.6)
    traffic.start(0, 4)
    while net.held:
        net.held.popleft()()
    assert len(net.log.of("round")) == 1
    assert not net.log.of("expired")


# --- flows that end, and flows that come back


def test_a_reservation_ends_with_its_flow(net, traffic):
    """Three full-rate flows out of one pod to three hosts, by ECMP on one path; only what is free is given out,
    and what an ended flow held is free again."""
    pairs = [(0, 4), (1, 5), (2, 6), (3, 7)]
    for (src, dst), port in zip(pairs, colliding_ports(net, pairs, core=0), strict=True):
        traffic.start(src, dst, port=port)
    traffic.run(2.5)
    placement = net.controller._hedera._scheduler.placement
    assert len(placement.assigned) == 4
    full = placement.reserved.sum()
    for key in list(traffic.flows):
        traffic.stop(*key)
    net.advance(12.0)
    assert len(net.log.of("expired")) == 8
    assert placement.reserved.sum() == 0 < full
    traffic.start(0, 4, port=21000)
    traffic.run(4.0)
    assert len(placement.assigned) == 1


def test_forgotten_flows_are_rebuilt_from_statistics(net, traffic):
    """The controller takes a flow for ended whose entry lives: the entry tells it all it has to know."""
    port = colliding_ports(net, [(0, 4)], core=3)[0]
    traffic.start(0, 4, port=port)
    net.controller.flow_removed(net.topo.dpid("0_0_1"), 1, 0)
    assert net.log[-1] == {"event": "expired", "key": 1}
    net.flow_mods()
    seen = net.packet_ins.total()
    traffic.run(2.5)
    (again,) = [flow for flow in net.log.of("flow") if flow["reason"] == "adopted"]
    assert (again["key"], again["src"], again["dst"], again["core"]) == (1, 0, 4, 3)
    assert {kind for _, kind, _ in net.flow_mods()} == {"modify"}
    assert net.packet_ins.total() == seen
    assert net.log.of("round")[-1]["large"] == 1
    traffic.start(1, 5)
    keys = [flow["key"] for flow in net.log.of("flow") if flow["reason"] == "hashed"]
    assert keys == [1, 2, 3, 4], "keys stay unique"


def test_flows_are_served_in_the_order_of_their_addresses_not_of_their_packets(net, traffic):
    """So that runs with one seed, and both platforms, place them alike."""
    first, second = colliding_ports(net, [(0, 4), (1, 5)], core=0)
    traffic.start(1, 5, port=second)
    traffic.start(0, 4, port=first)
    traffic.run(2.5)
    assert traffic.path(0, 4, first) == net.topo.path(0, 4, 0)
    assert traffic.path(1, 5, second) == net.topo.path(1, 5, 2)


def test_warming_up_draws_nothing_from_the_placement():
    """The first decision is the same whether or not code had to be loaded before."""
    decisions = []
    for _ in range(2):
        net = FakeNetwork(scheme="hedera-sa", k=4, seed=5)
        traffic = Traffic(net)
        for src in range(8):
            traffic.start(src, src + 8, rate=0.5)
        traffic.run(4.5)
        decisions.append([(e["key"], e["core"]) for e in net.log.of("reroute")])
    assert decisions[0] == decisions[1]
