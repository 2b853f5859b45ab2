"""The controller under whatever may happen, in any order: flows come and go, cables break, switches and controller
are lost and found, replies are late or never come.

Whatever has happened, a flow that can be carried is carried, by the path that the controller says; and where nothing
happens any more, nothing is left.
"""

import itertools
import os
import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from controllers.driver import FiveTuple
from controllers.rules import FLOW_PRIORITY
from tests.controllers.fake_network import FakeNetwork
from tests.controllers.frames import between

SCHEMES = {
    "controller": [
        "ecmp",
        "ecmp-dst",
        "spanning-tree",
        "ecmp-edge-pair",
        "random",
        "hedera-gff",
        "hedera-sa",
        "hedera-flow-sa",
        "hedera-clos",
    ],
    "switch": ["ecmp", "spanning-tree", "random", "hedera-gff", "hedera-sa"],
}
"""By who places new flows."""
LIVES, STEPS = int(os.environ.get("HEDERA_LIVES", "40")), int(os.environ.get("HEDERA_STEPS", "30"))
"""How many, and how much may happen in each. Those of the checks are the same every time; more are drawn anew."""
HOSTS = st.integers(0, 15)
STEP_S = 0.5
QUIET_S = 30.0
"""Longer than any entry lives without a packet, and than the controller needs to notice."""


class Life(RuleBasedStateMachine):
    new_flows = "controller"

    @initialize(data=st.data(), seed=st.integers(1, 3))
    def begin(self, data, seed):
        self.net = FakeNetwork(
            scheme=data.draw(st.sampled_from(SCHEMES[self.new_flows])),
            new_flows=self.new_flows,
            seed=seed,
            k=4,
            link_mbps=10.0,
            iterations=100,
        )
        self.tree = self.net.topo
        self.cables = [(link.lower, link.upper) for link in self.tree.links() if link.lower in self.tree.switches]
        self.flows = {}
        """Those that send, by hosts and source port."""
        self.rates = {}
        self.reached = set()
        """Those whose packets have arrived since anything broke, by what is in the tables."""
        self.settled = True

    # --- what may happen

    @rule(src=HOSTS, dst=HOSTS, port=st.integers(20000, 20003), packets=st.sampled_from([1, 30, 200, 400]))
    def start(self, src, dst, port, packets):
        if src != dst:
            self.flows[src, dst, port] = between(self.tree, src, dst, src_port=port)
            self.rates[src, dst, port] = packets

    @precondition(lambda self: self.flows)
    @rule(data=st.data())
    def stop(self, data):
        flow = data.draw(st.sampled_from(sorted(self.flows)))
        del self.flows[flow], self.rates[flow]
        self.reached.discard(flow)

    @rule(steps=st.integers(1, 12), settle=st.booleans())
    def wait(self, steps, settle):
        for _ in range(steps):
            for flow, packet in self.flows.items():
                self.net.send(flow[0], packet, count=self.rates[flow])
            self.net.advance(STEP_S, settle=settle)
        self.settled = settle and not self.net.held

    @rule(data=st.data())
    def break_a_cable(self, data):
        whole = [pair for pair in self.cables if (pair[0], self.net.ends[pair]) not in self.net.broken]
        if whole:
            self.net.set_cable(*data.draw(st.sampled_from(whole)), up=False)
            self.reached.clear()
            self.settled = False

    @precondition(lambda self: self.net.broken)
    @rule(data=st.data())
    def mend_a_cable(self, data):
        broken = [pair for pair in self.cables if (pair[0], self.net.ends[pair]) in self.net.broken]
        self.net.set_cable(*data.draw(st.sampled_from(broken)), up=True)
        self.settled = False

    @rule(name=st.sampled_from(FakeNetwork(scheme="ecmp", k=4, connect=False).topo.switches))
    def lose_or_find_a_switch(self, name):
        if self.tree.dpid(name) in self.net.away:
            self.net.connect(name)
        else:
            self.net.disconnect(name)
        self.settled = False

    @rule(order=st.randoms(use_true_random=False))
    def find_all_switches(self, order):
        away = sorted(self.net.away)
        order.shuffle(away)
        for dpid in away:
            self.net.connect(self.tree.switch_by_dpid[dpid])
        self.settled = False

    @rule()
    def start_the_controller_anew(self):
        self.net.restart()
        self.settled = False

    @rule(name=st.sampled_from(["0_0_1", "0_2_1", "1_1_1", "2_3_1"]))
    def statistics_are_lost_or_come_again(self, name):
        self.net.muted ^= {self.tree.dpid(name)}

    @rule(name=st.sampled_from(["0_0_1", "0_2_1", "1_1_1", "2_3_1"]))
    def statistics_are_late_or_in_time(self, name):
        self.net.late ^= {self.tree.dpid(name)}

    @precondition(lambda self: self.net.replies or self.net.held)
    @rule(data=st.data())
    def a_reply_comes(self, data):
        """Of any switch the oldest: what one switch says comes in order."""
        queues = {}
        for queue in (self.net.held, self.net.replies):
            for reply in queue:
                queues.setdefault(reply.dpid, (queue, reply))
        queue, reply = queues[data.draw(st.sampled_from(sorted(queues)))]
        queue.remove(reply)
        reply()

    @rule()
    def all_replies_come(self):
        while self.net.held or self.net.replies:
            while self.net.held:
                self.net.held.popleft()()
            self.net.settle()
        self.settled = True

    # --- what must be so

    @property
    def ready(self):
        return bool(self.net.log.of("ready"))

    def connected(self, *names):
        """Whether switches have a controller that knows what is in their tables."""
        return self.net.controller._switches.connected.issuperset(names)

    def hidden(self):
        """Whether something is broken that no switch can tell the controller."""
        return any(
            (a, self.net.ends[a, b]) in self.net.broken and not (self.connected(a) or self.connected(b))
            for a, b in self.cables
        )

    def works(self, path):
        """Whether a path is whole, and all its switches have a controller."""
        hops = itertools.pairwise(path[1:-1])
        return self.connected(*path[1:-1]) and all((a, self.net.ends[a, b]) not in self.net.broken for a, b in hops)

    def is_owed(self, flow):
        """Whether its packets have to arrive."""
        src, dst, _ = flow
        if not self.ready:
            return flow in self.reached
        if self.hidden():
            return False
        if self.new_flows == "switch":  # the controller has to be told of the flow before it can move it
            known = self.net.controller._flows.find(five_tuple(self.flows[flow])) is not None
            if not self.settled or self.net.muted or self.net.late or (self.net.broken and not known):
                return False
        return any(self.works(self.tree.path(src, dst, core)) for core in self.tree.path_cores(src, dst))

    @invariant()
    @precondition(lambda self: hasattr(self, "net"))
    def all_is_well(self):
        self.what_can_be_carried_is_carried()
        if self.settled and not self.net.away and self.ready:
            self.tables_are_what_the_controller_says()

    def what_can_be_carried_is_carried(self):
        for flow, packet in self.flows.items():
            asked = self.net.packet_ins.total()
            path = self.net.send(flow[0], packet)
            if path[-1] == self.tree.host_name(flow[1]):
                if self.net.packet_ins.total() == asked:
                    self.reached.add(flow)
            else:
                assert not self.is_owed(flow), (flow, path)

    def tables_are_what_the_controller_says(self):
        net, flows = self.net, self.net.controller._flows
        said = {event["key"]: event["core"] for event in net.log if event["event"] in ("flow", "reroute")}
        for flow in flows:
            assert flow.core == said[flow.key], "its log says another path"
        for flow, packet in self.flows.items():
            known = flows.find(five_tuple(packet))
            if known is not None and self.is_owed(flow):
                assert net.send(flow[0], packet) == self.tree.path(*flow[:2], known.core)
            # A flow of which it has heard no packet it learns from the next statistics.
            learns = self.new_flows == "switch" or net.controller._hedera is not None
            assert known is not None or learns or not self.is_owed(flow)
        for name in self.tree.switches:
            for entry in self.entries_of_flows(name):
                flow = flows.find(tuple_of(entry.rule.match))
                said = {} if flow is None else net.controller._switches.entries(flow)
                assert said.get(name, entry.rule.out_port) == entry.rule.out_port, (name, entry)

    def entries_of_flows(self, name):
        table = self.net.tables[self.tree.dpid(name)]
        return [entry for entry in table if entry.rule.priority == FLOW_PRIORITY]

    def teardown(self):
        """In the end all is mended and found, all that sends is known, and what is silent is forgotten."""
        if not hasattr(self, "net"):
            return
        self.net.muted.clear()
        self.net.late.clear()
        self.all_replies_come()
        for pair in self.cables:
            self.net.set_cable(*pair, up=True)
        self.find_all_switches(random.Random(1))
        self.all_replies_come()
        self.wait(24, True)
        self.what_can_be_carried_is_carried()
        self.tables_are_what_the_controller_says()
        for flow in self.flows.values():
            assert self.net.controller._flows.find(five_tuple(flow)) is not None
        self.net.advance(QUIET_S)
        assert not list(self.net.controller._flows)
        assert not any(self.entries_of_flows(name) for name in self.tree.switches)
        began, ended = ([event["key"] for event in self.net.log.of(kind)] for kind in ("flow", "expired"))
        assert sorted(began) == sorted(ended)
        assert not self.net.log.of("error")


def five_tuple(packet):
    return FiveTuple(packet.protocol, packet.src_ip, packet.dst_ip, packet.src_port, packet.dst_port)


def tuple_of(match):
    return FiveTuple(match.protocol, match.src.split("/")[0], match.dst.split("/")[0], match.src_port, match.dst_port)


@pytest.mark.slow
@pytest.mark.parametrize("new_flows", SCHEMES)
def test_whatever_happens(new_flows):
    machine = type("Life", (Life,), {"new_flows": new_flows})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=LIVES,
            stateful_step_count=STEPS,
            derandomize="HEDERA_LIVES" not in os.environ,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
