"""A controller that starts again finds switches full of entries: it knows the flows again, and harms none.

It has another seed, so nothing but the switches' tables can tell on which path a flow was.
"""

import copy
import random
from dataclasses import replace

import pytest

from controllers.core import Controller
from controllers.driver import FiveTuple
from controllers.flowstats import RECALL_S
from controllers.rules import make_flow_rule
from tests.controllers.fake_network import FakeNetwork
from tests.controllers.frames import between
from tests.controllers.test_failures import packets


def restart(net, order=None):
    """Another controller in the place of the one that is gone; switches find it in any order."""
    net.settings = replace(net.settings, seed=99)
    net.restart()
    names = list(net.topo.switches)
    (order or random.Random(1)).shuffle(names)
    for name in names:
        net.connect(name)
        if order is not None and order.random() < 0.5:
            net.settle()
    net.settle()


@pytest.fixture(
    scope="module",
    params=[("random", None), ("hedera-gff", None), ("random", "plan")],
    ids=lambda case: "-".join(map(str, case)),
)
def used(request):
    """A network whose controller has given every pair of hosts a path, and what was sent."""
    scheme, topology = request.param
    net = FakeNetwork(scheme=scheme, topology=topology)
    sent = packets(net)
    return net, sent, {pair: net.send(pair[0], packet) for pair, packet in sent.items()}


@pytest.mark.parametrize("seed", range(10))
def test_all_flows_are_known_again_and_keep_their_paths(used, seed):
    before, sent, paths = used
    keys = {event["key"] for event in before.log.of("flow")}
    net = FakeNetwork(connect=False, scheme=before.settings.scheme, topology=before.settings.topology)
    net.tables = copy.deepcopy(before.tables)
    restart(net, random.Random(seed))
    assert len(net.log.of("ready")) == 1
    assert {event["key"] for event in net.log.of("flow")} == keys
    assert {event["reason"] for event in net.log.of("flow")} == {"adopted"}
    assert {pair: net.send(pair[0], packet) for pair, packet in sent.items()} == paths
    assert not net.packet_ins, "no packet had to ask"


@pytest.mark.parametrize("scheme", ["random", "hedera-gff"])
def test_no_packet_is_lost_or_strays_while_switches_come_one_by_one(scheme, monkeypatch):
    """However long the next one takes: those that are not here yet go on with what they have."""
    net, come = FakeNetwork(scheme=scheme, k=4), set()
    sent = dict(random.Random(1).sample(sorted(packets(net).items()), 60))
    paths = {pair: net.send(pair[0], packet) for pair, packet in sent.items()}
    net.controller = Controller(replace(net.settings, seed=99), net, net.log)
    net.packet_ins.clear()
    install = net.install
    monkeypatch.setattr(net, "install", lambda dpid, *rule, **how: dpid in come and install(dpid, *rule, **how))
    for dpid in random.Random(2).sample(sorted(net.tables), len(net.tables)):
        come.add(dpid)
        net.controller.switch_up(dpid)
        net.settle()
        assert {pair: net.send(pair[0], packet) for pair, packet in sent.items()} == paths
    assert not net.packet_ins


def test_a_table_is_never_without_its_rules():
    """What was in it goes and what belongs in it comes in one go, once it is known."""
    net = FakeNetwork(scheme="ecmp", k=4)
    net.send(0, between(net.topo, 0, 4))
    before = {dpid: sum(1 for _ in table) for dpid, table in net.tables.items()}
    net.sent.clear()
    net.controller = Controller(net.settings, net, net.log)
    edge = net.topo.dpid("0_0_1")
    net.controller.switch_up(edge)
    assert not net.sent, "first it asks"
    net.settle()
    kinds = [kind for dpid, kind, _ in net.sent if dpid == edge]
    assert kinds.count("clear") == 1
    assert kinds[0] == "clear"
    assert sum(1 for _ in net.tables[edge]) == before[edge]


def test_strange_entries_are_cleared_and_taken_for_nothing():
    net = FakeNetwork(scheme="ecmp", k=4, connect=False)
    edge, aggregation = net.topo.dpid("0_0_1"), net.topo.dpid("0_2_1")
    for number, (src, dst, port) in enumerate(
        [
            ("10.0.0.2", "10.9.9.9", 1),
            ("192.168.0.1", "10.1.0.2", 1),
            ("10.0.0.2", "10.0.0.2", 1),
            ("10.1.0.2", "10.0.0.2", 1),
            ("10.0.0.2", "10.1.0.2", 77),
            ("10.0.0.2", "10.1.0.2", 2),
        ],
        start=1,
    ):
        for dpid in (edge, aggregation):
            net.install(dpid, make_flow_rule(FiveTuple(6, src, dst, 1, number), number, port, notify=False))
    for dpid in net.tables:
        net.controller.switch_up(dpid)
    net.settle()
    assert not net.log.of("flow")
    assert len(net.log.of("ready")) == 1
    assert not any(entry.rule.cookie for table in net.tables.values() for entry in table)


def test_it_says_every_second_that_it_is_alive():
    net = FakeNetwork(scheme="ecmp", k=4)
    net.controller.started("fake", "0", "nowhere")
    net.advance(5.4)
    assert len(net.log.of("alive")) == 6


def test_a_switch_that_never_says_what_it_holds_gets_its_rules_all_the_same():
    net = FakeNetwork(scheme="ecmp", k=4, connect=False)
    silent = net.topo.dpid("0_2_1")
    net.muted.add(silent)
    for dpid in net.tables:
        net.controller.switch_up(dpid)
    net.settle()
    assert not net.log.of("ready")
    net.advance(RECALL_S)
    assert len(net.log.of("ready")) == 1
    assert list(net.tables[silent])
