"""The switches of `fake_network` against Open vSwitch, given the same rules, packets, broken cables and time.

Open vSwitch runs on its dummy datapath, which needs no root and no network, and whose time is told. Rules go to it as
the bytes of the os-ken adapter. It is asked where packets would go (`ofproto/trace`), and then given them.
"""

import contextlib
import itertools
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
from collections import defaultdict
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from os_ken.ofproto.ofproto_protocol import ProtocolDesc

from controllers.driver import CONTROLLER_PORT, Match, Rule
from controllers.learn_rules import LearnRules
from controllers.os_ken_adapter import OsKenController
from controllers.packet import ARP, ICMP, IPV4, TCP, UDP, FiveTuple
from controllers.rules import flow_rule, initial_rules
from hedera.schemes import SCHEMES
from tests.controllers import fake_switch as of
from tests.controllers.fake_network import FakeNetwork, signature
from tests.controllers.frames import Other, Packet
from tests.controllers.ovs import SCHEMA, end, run
from topos.fattree import FatTree
from topos.links import links_between

pytestmark = pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="Open vSwitch is not installed")

LIVES, STEPS = int(os.environ.get("HEDERA_LIVES", "60")), int(os.environ.get("HEDERA_STEPS", "30"))
"""As in `test_states`."""
TREE = FatTree(4)
SWITCHES = ("0_0_1", "0_2_1", "4_1_1")
"""An edge, an aggregation and a core switch."""
PORTS = (1, 2, 3, 4)
"""Each has these."""
DPID = 1
SPREAD = "by a hash"


class Bridge:
    """A switch of Open vSwitch's. The test is its controller; its time stands still until `advance` is called."""

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *exc):
        self.stack.close()

    def _start(self, stack):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hct-ovs-")))
        environment = os.environ | dict.fromkeys(("OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR"), str(folder))
        database, remote = folder / "conf.db", f"unix:{folder}/db.sock"

        def daemon(*command):
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            stack.callback(end, subprocess.Popen(command, env=environment, **quiet))

        def configure(*command):
            run("ovs-vsctl", f"--db={remote}", "--timeout=20", *command, env=environment)

        run("ovsdb-tool", "create", str(database), SCHEMA)
        daemon("ovsdb-server", f"--remote=p{remote}", str(database))
        of.wait_for((folder / "db.sock").exists)
        # Every packet is looked up in the table, and counted there at once: no flow goes to the datapath's cache.
        configure("--no-wait", "init", "--", "set", "open", ".", "other_config:flow-limit=0")
        daemon("ovs-vswitchd", "--disable-system", "--enable-dummy", f"--unixctl={folder}/control", remote)
        of.wait_for((folder / "control").exists)
        self.control = stack.enter_context(socket.socket(socket.AF_UNIX))
        self.control.connect(str(folder / "control"))

        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(folder / "controller"))
        listener.listen()
        listener.settimeout(20)
        command = ["add-br", "s", "--", "set", "bridge", "s", "datapath_type=dummy", "fail_mode=secure"]
        command += ["protocols=OpenFlow10", "--", "set-controller", "s", f"unix:{folder}/controller"]
        command += ["--", "set", "controller", "s", "connection_mode=out-of-band", "inactivity_probe=0"]
        for port in PORTS:
            command += ["--", "add-port", "s", f"p{port}", "--", "set", "interface", f"p{port}"]
            command += ["type=dummy", f"ofport_request={port}"]
        configure(*command)
        connection = stack.enter_context(listener.accept()[0])
        connection.settimeout(20)
        self.replies = stack.enter_context(connection.makefile("rb"))
        connection.sendall(of.message(of.HELLO))
        self.adapter = Adapter(connection)
        self.xids, self.cookies = itertools.count(1), itertools.count(1)
        self.heard = defaultdict(list)
        self.down = set()
        self.ask("time/stop")
        self.begin_anew()

    def begin_anew(self):
        """Forget all there was; what is still said of it is passed over, since no cookie comes again."""
        self.heard = defaultdict(list)
        for port in sorted(self.down):
            self.set_port(port, True)
        self.adapter.clear(DPID)
        self.first = next(self.cookies)

    def removed(self):
        """(cookie, reason) of each entry that it has said is gone."""
        said = [struct.unpack_from("!40xQ2xB", body) for body in self.heard[of.FLOW_REMOVED]]
        return [(cookie, reason) for cookie, reason in said if cookie > self.first]

    def ask(self, method, *words):
        """What ovs-appctl does, without a process for each; once all is done that it was told before."""
        self.listen()
        self.control.sendall(json.dumps({"method": method, "params": words, "id": 0}).encode())
        said = b""
        while True:
            said += self.control.recv(65536)
            with contextlib.suppress(ValueError):
                reply = json.loads(said)
                break
        assert reply["error"] is None, reply
        return reply["result"]

    def advance(self, seconds):
        self.ask("time/warp", str(1000 * seconds))

    def listen(self):
        """Put into `heard`, by type, the bodies of what it says until it has done all it was told."""
        expected = next(self.xids)
        self.adapter.barrier(DPID, expected)
        while True:
            _, kind, length, xid = struct.unpack("!BBHI", self.replies.read(8))
            body = self.replies.read(length - 8)
            assert kind != of.ERROR, body
            if (kind, xid) == (of.BARRIER_REPLY, expected):
                return
            self.heard[kind].append(body)

    def set_port(self, port, up):
        (self.down.discard if up else self.down.add)(port)
        told = len(self.heard[of.PORT_STATUS])
        self.ask("netdev-dummy/set-admin-state", f"p{port}", "up" if up else "down")
        of.wait_for(lambda: self.listen() or len(self.heard[of.PORT_STATUS]) > told)
        self.listen()  # it says so first, and heeds it when it looks up the next packets

    def trace(self, in_port, packet):
        """The port by which a packet would leave (None where by none), the priority of the entry that says so (-1
        where none does), and the port that a hash has chosen."""
        fields = {"in_port": in_port, "dl_type": packet.ethertype}
        if packet.ethertype == IPV4:
            fields |= {"nw_src": packet.src_ip, "nw_dst": packet.dst_ip, "nw_proto": packet.protocol}
            names = {
                TCP: ("tcp_src", "tcp_dst"),
                UDP: ("udp_src", "udp_dst"),
                ICMP: ("icmp_type", "icmp_code"),
            }
            fields |= zip(names.get(packet.protocol, ()), (packet.src_port, packet.dst_port), strict=False)
        said = self.ask("ofproto/trace", "s", ",".join(f"{name}={value}" for name, value in fields.items()))
        (entry,) = (line for line in said.splitlines() if line.startswith(" 0. "))
        actions = said.splitlines()[-1].removeprefix("Datapath actions: ")
        port = CONTROLLER_PORT if "controller(" in actions else None if actions == "drop" else int(actions)
        hashed = re.search(r"output port is (?!65535)(\d+)", said)  # OFPP_NONE
        priority = int(entry.partition("priority ")[2].partition(",")[0] or -1)
        return port, priority, hashed and int(hashed[1])

    def send(self, in_port, frame):
        self.ask("netdev-dummy/receive", f"p{in_port}", frame.hex())

    def table(self):
        """All entries, by match and priority: cookie, idle timeout, out port, packets, bytes, age in seconds."""
        self.adapter.request_flow_stats(DPID, 0)
        self.listen()
        found = {}
        while self.heard[of.STATS_REPLY]:
            body = self.heard[of.STATS_REPLY].pop()[4:]
            while body:
                match, age, priority, idle, cookie, packets, size = struct.unpack_from("!4x40sI4xHH8xQQQ", body)
                length = struct.unpack_from("!H", body)[0]
                actions, body = body[88:length], body[length:]
                kind, port = struct.unpack_from("!H2xH", actions) if actions else (0, None)
                port = SPREAD if kind else port
                found[match_of(match), priority] = (cookie, idle, port, packets, size, age)
        return found


class Adapter(OsKenController):
    """The driver that os-ken makes, on one connection of ours."""

    def __init__(self, connection):
        datapath = ProtocolDesc(version=1)
        datapath.send_msg = lambda message: message.serialize() or connection.sendall(message.buf)
        self._switches = {DPID: datapath}


def match_of(data):
    """An OpenFlow 1.0 match as ours (OpenFlow 1.0.0, section 5.2.3)."""
    wild, in_port, ethertype, protocol, src, dst, src_port, dst_port = struct.unpack("!IH16xHxB2xIIHH", data)
    src, dst = (
        str(ip_network((address, 32 - (wild >> shift & 63)))) if wild >> shift & 63 < 32 else None
        for address, shift in ((src, 8), (dst, 14))
    )
    rest = (ethertype, 4), (protocol, 5), (src_port, 6), (dst_port, 7)
    ethertype, protocol, src_port, dst_port = (None if wild >> bit & 1 else value for value, bit in rest)
    return Match(None if wild & 1 else in_port, ethertype, src, dst, protocol, src_port, dst_port)


class Heard:
    """In the place of a controller: what switches say to it."""

    def __init__(self):
        self.removed, self.frames = [], []

    def flow_removed(self, dpid, cookie, reason):
        self.removed.append((cookie, reason))

    def packet_in(self, dpid, in_port, frame):
        self.frames.append((in_port, frame))

    def port_status(self, dpid, port, up):
        pass


class Fake(FakeNetwork):
    """A network of which one switch is looked at. It spreads flows by the hash that it is given."""

    def __init__(self, name):
        super().__init__(scheme="ecmp", k=4, connect=False)
        self.name, self.dpid, self.controller = name, self.topo.dpid(name), Heard()
        self.hashed = None

    def choose(self, ports, learn, flow):
        assert self.hashed in (ports or [None])
        return self.hashed

    def set_port(self, port, up):
        self.set_cable(self.name, self.cables[self.name, port][0], up)

    def is_up(self, port):
        return (self.name, port) not in self.broken

    def table(self):
        return {
            (entry.rule.match, entry.rule.priority): (
                *(entry.rule.cookie, entry.rule.idle_timeout),
                entry.rule.out_port if entry.rule.learn is None else SPREAD,
                *(entry.packets, entry.bytes, int(self.time - entry.created)),
            )
            for entry in self.tables[self.dpid]
        }


FLOWS = [
    FiveTuple(TCP, "10.0.0.2", "10.1.0.2", 20000, 5001),
    FiveTuple(TCP, "10.0.0.2", "10.1.0.2", 20001, 5001),
    FiveTuple(UDP, "10.0.0.2", "10.1.0.2", 20000, 5001),
    FiveTuple(UDP, "10.0.0.3", "10.3.1.3", 20000, 5001),
    FiveTuple(ICMP, "10.0.0.3", "10.3.1.3", 8, 0),
    FiveTuple(47, "10.0.0.3", "10.3.1.3", 0, 0),
    FiveTuple(TCP, "10.0.0.3", "10.0.0.2", 20000, 5001),
    FiveTuple(TCP, "10.3.1.3", "10.0.0.2", 5001, 20000),
]
"""Few, so that rules and packets meet."""
LEARNED_BY = st.sampled_from([None, "ecmp", "ecmp-dst", "spanning-tree"])
"""By which switches spread new flows; None where the controller places them."""
TIMEOUTS_S = st.sampled_from([0, 5, 7])
PAUSES_S = st.sampled_from([2, 4, 6])
"""Even, timeouts odd: whether an entry goes at its last second or just after it is nobody's business."""


@st.composite
def matches(draw):
    """Any that an OpenFlow 1.0 switch takes as it is."""
    in_port = draw(st.none() | st.sampled_from(PORTS))
    ethertype = draw(st.sampled_from([None, ARP, IPV4, IPV4, IPV4]))
    if ethertype != IPV4:
        return Match(in_port, ethertype)
    t = draw(st.sampled_from(FLOWS))
    lengths = st.sampled_from([None, 8, 16, 24, 31, 32])
    src, dst = (
        None if length is None else str(ip_network(f"{address}/{length}", strict=False))
        for address, length in ((t.src_ip, draw(lengths)), (t.dst_ip, draw(lengths)))
    )
    if not draw(st.booleans()):
        return Match(in_port, IPV4, src, dst)
    src_port, dst_port = (
        port if t.protocol in (TCP, UDP, ICMP) and draw(st.booleans()) else None for port in (t.src_port, t.dst_port)
    )
    return Match(in_port, IPV4, src, dst, t.protocol, src_port, dst_port)


class Twins(RuleBasedStateMachine):
    bridge: Bridge

    @initialize(name=st.sampled_from(SWITCHES), scheme=LEARNED_BY, failed=st.booleans())
    def begin(self, name, scheme, failed):
        self.fake = Fake(name)
        self.levels = {}
        """Entries that overlap never have one priority, since no switch says which of them counts."""
        self.bridge.begin_anew()
        self.install_first_rules(scheme, failed)

    def install(self, rule, modify):
        self.bridge.adapter.install(DPID, rule, modify)
        self.fake.install(self.fake.dpid, rule, modify)

    def cookie(self):
        return next(self.bridge.cookies)

    # --- what may happen

    @rule(scheme=st.just("no rules") | LEARNED_BY, failed=st.booleans())
    def be_found(self, scheme, failed):
        self.clear()
        if scheme != "no rules":
            self.install_first_rules(scheme, failed)

    def clear(self):
        self.bridge.adapter.clear(DPID)
        self.fake.clear(self.fake.dpid)
        self.fake.settle()

    def install_first_rules(self, scheme, failed):
        """Those of a controller that has found the switch."""
        if scheme is None:
            rules = initial_rules(TREE, self.fake.name)
        else:
            routing = SCHEMES[scheme].routing(TREE, 1)
            learned = LearnRules(TREE, routing, 1, interval=2.3)
            if failed:
                for ends in (("4_1_1", "1_2_1"), ("1_0_1", "1_3_1")):
                    routing.links.fail(links_between(TREE, *ends))
                learned.changes()
            rules = learned.rules(self.fake.name)
        for one in rules:
            self.install(one, modify=False)

    @rule(flow=st.sampled_from(FLOWS), port=st.sampled_from(PORTS), notify=st.booleans(), modify=st.booleans())
    def install_flow(self, flow, port, notify, modify):
        self.install(flow_rule(flow, self.cookie(), port, notify=notify), modify)

    @rule(
        match=matches(), level=st.sampled_from([2, 141, 202, 302, 402, 5000]), idle_timeout=TIMEOUTS_S,
        port=st.sampled_from([None, *PORTS, CONTROLLER_PORT]), notify=st.booleans(), modify=st.booleans(),
    )  # fmt: skip
    def install_anything(self, match, level, idle_timeout, port, notify, modify):
        level += self.levels.setdefault(signature(match), len(self.levels))
        self.install(Rule(match, level, port, self.cookie(), idle_timeout, notify), modify)

    @precondition(lambda self: self.fake.table())
    @rule(data=st.data(), idle_timeout=TIMEOUTS_S, notify=st.booleans(), modify=st.booleans())
    def install_again(self, data, idle_timeout, notify, modify):
        """Another rule in the place of one that there is; not one that has been unused for longer than it may be."""
        entries = {(entry.rule.match, entry.rule.priority): entry for entry in self.fake.tables[self.fake.dpid]}
        match, priority = data.draw(st.sampled_from(sorted(entries, key=repr)))
        port = data.draw(st.sampled_from([None, *PORTS, CONTROLLER_PORT]))
        if modify or not idle_timeout or self.fake.time - entries[match, priority].used < idle_timeout:
            self.install(Rule(match, priority, port, self.cookie(), idle_timeout, notify), modify)

    @rule(seconds=PAUSES_S)
    def wait(self, seconds):
        self.bridge.advance(seconds)
        self.fake.advance(seconds)

    @rule(port=st.sampled_from(PORTS))
    def break_or_mend_a_cable(self, port):
        up = not self.fake.is_up(port)
        self.bridge.set_port(port, up)
        self.fake.set_port(port, up)

    @rule(flow=st.sampled_from(FLOWS))
    def send(self, flow):
        """One packet into each port."""
        for in_port in PORTS:
            macs = {"src_mac": "02:00:00:00:00:01", "dst_mac": "02:00:00:00:00:02"}
            self.send_packet(in_port, Packet(**macs, **flow._asdict()))
            self.they_are_the_same()

    @rule(ethertype=st.sampled_from([ARP, 0x86DD]), in_port=st.sampled_from(PORTS))
    def send_another(self, ethertype, in_port):
        self.send_packet(in_port, Other(ethertype))

    def send_packet(self, in_port, packet):
        if not self.fake.is_up(in_port):
            return
        entry = self.fake.tables[self.fake.dpid].lookup(in_port, packet)
        port, priority, self.fake.hashed = self.bridge.trace(in_port, packet)
        assert priority == (-1 if entry is None else entry.rule.priority)
        frame = packet.frame()
        self.bridge.send(in_port, frame)
        left = self.fake._through(self.fake.name, in_port, packet, 1, len(frame))
        to_controller = entry is None or entry.rule.out_port == CONTROLLER_PORT
        assert port == (CONTROLLER_PORT if to_controller else left)

    # --- what must be so

    @invariant()
    @precondition(lambda self: hasattr(self, "fake"))
    def they_are_the_same(self):
        with contextlib.suppress(AssertionError):  # it expires entries, and says what is gone, when it has time to
            of.wait_for(lambda: not self.differences(), 2)
        assert self.differences() == []

    def differences(self):
        """Whatever is not the same, as (what, of the real one, of the fake)."""
        real, fake, heard = self.bridge.table(), self.fake.table(), self.fake.controller
        frames = [(struct.unpack_from("!6xH", body)[0], body[10:]) for body in self.bridge.heard[of.PACKET_IN]]
        pairs = [(key, real.get(key), fake.get(key)) for key in real | fake]
        pairs.append(("removed", sorted(self.bridge.removed()), sorted(heard.removed)))
        pairs.append(("to the controller", frames, heard.frames))
        return [pair for pair in pairs if pair[1] != pair[2]]


@pytest.fixture(scope="module")
def bridge():
    with Bridge() as bridge:
        yield bridge


def test_what_they_once_did_differently(bridge):
    twins = type("Twins", (Twins,), {"bridge": bridge})()
    twins.begin("0_0_1", "ecmp", False)
    flow, other, *_ = FLOWS
    twins.send(flow)  # the first by the rule, the others by what was learned
    twins.install(flow_rule(other, twins.cookie(), 1, notify=True), modify=False)
    twins.send(other)  # one of them would leave by the port that it came in by
    twins.wait(4)
    twins.install(flow_rule(other, twins.cookie(), 3, notify=True), modify=False)
    twins.wait(2)  # it goes now, since the one in whose place it came was used six seconds ago
    twins.they_are_the_same()
    twins.clear()
    twins.send(flow)  # which nothing in the table is for
    twins.they_are_the_same()


@pytest.mark.timeout(600)
def test_a_fake_switch_does_what_open_vswitch_does(bridge):
    run_state_machine_as_test(
        type("Twins", (Twins,), {"bridge": bridge}),
        settings=settings(
            max_examples=LIVES,
            stateful_step_count=STEPS,
            derandomize="HEDERA_LIVES" not in os.environ,
            database=None,
            deadline=None,
            phases=[Phase.generate],  # what differs is waited for, so that shrinking would take minutes
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
