"""Each adapter with real Open vSwitch, userspace datapath: a k=4 fat-tree in namespaces, removed afterwards."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from hedera.schemes import SCHEMES
from tests.controllers import fake_switch as of
from tests.controllers.fake_switch import PLATFORMS, wait_for
from tests.controllers.ovs import Fabric
from topos.fattree import FatTree

TREE = FatTree(4)
HOSTS = (0, 1, 2, 4, 8)
LISTEN = ("127.0.0.1", 6653)

pytestmark = [
    pytest.mark.root,
    pytest.mark.alone,  # they listen on one port
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="Open vSwitch is not installed"),
    pytest.mark.skipif(shutil.which("iperf") is None, reason="iperf 2 is not installed"),
]


class Emulation(Fabric):
    """A fabric under one controller."""

    def __init__(self, platform, folder, **settings):
        super().__init__(TREE)
        self.log = folder / f"{platform}.jsonl"
        self.start = of.command(platform, LISTEN, self.log, **settings)

    def control(self):
        """Start the controller inside the fabric's namespace, and wait until it listens."""
        started = len(self.events("start"))
        env = dict(os.environ, PYTHONPATH=str(of.REPOSITORY))
        self.controller = self.child(self.inside(*self.start), env=env, stderr=subprocess.DEVNULL)
        wait_for(lambda: len(self.events("start")) > started, 30)

    def events(self, kind):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def ping(self, src, dst, count=5, interval=0.2):
        """Packets received."""
        out = self.at(src, "ping", f"-c{count}", f"-i{interval}", "-W2", TREE.host_ip(dst), check=False).stdout
        return len(re.findall(r"time=([\d.]+) ms", out))

    def iperf(self, src, dst, *flags):
        """The client's and the server's report."""
        server = self.child(
            self.at_command(dst, "iperf", "-s", "-y", "C", *(["-u"] if "-u" in flags else [])),
            stdout=subprocess.PIPE,
            text=True,
        )
        listening = ["ss", "-lnuH" if "-u" in flags else "-lntH"]
        wait_for(lambda: ":5001" in self.at(dst, *listening).stdout)
        client = self.at(
            src, "timeout", "-k", "1", "20", "iperf", "-c", TREE.host_ip(dst), "-y", "C", *flags, check=False
        )
        server.terminate()
        said, heard = client.stdout, server.communicate(timeout=120)[0]
        return said.split("\n")[0].split(","), heard.split("\n")[0].split(",")

    def entries(self, switch, key):
        """The out ports of a flow's entries at a switch."""
        flows = self.ofctl("dump-flows", "s" + switch, f"cookie={key:#x}/-1")
        return [int(port) for port in re.findall(r"actions=output:(\d+)", flows)]


@pytest.fixture(params=PLATFORMS)
def emulate(request, tmp_path):
    def start(**settings):
        emulation = Emulation(request.param, tmp_path, **settings)
        request.addfinalizer(lambda: emulation.__exit__(None, None, None))
        emulation.__enter__()
        emulation.control()
        emulation.build("{}:{}".format(*LISTEN))
        wait_for(lambda: emulation.events("ready"), 30)
        for host in HOSTS:
            emulation.attach(host)
        return emulation

    return start


def test_static_routing_carries_every_protocol(emulate):
    net = emulate(scheme="ecmp", k=4, seed=1)
    for dst in HOSTS[1:]:
        assert net.ping(0, dst) == 5, "the first waits for the controller, and is not lost"
    tcp, _ = net.iperf(0, 4, "-t", "1")
    assert int(tcp[8]) > 1e6, "TCP, bit/s"
    _, udp = net.iperf(0, 8, "-u", "-b", "2M", "-t", "1")
    assert (int(udp[10]), int(udp[11]) > 100) == (0, True), "UDP: lost, sent"

    routing = SCHEMES["ecmp"].routing(TREE, 1)
    flows = net.events("flow")
    assert {flow["proto"] for flow in flows} == {1, 6, 17}
    for flow in flows:
        ports = (flow["src_port"], flow["dst_port"])
        core = flow["core"]
        assert core == routing.cores(flow["src"], flow["dst"], *ports, flow["proto"])[0]
    (data,) = [f for f in flows if f["proto"] == 17 and f["src"] == 0]  # the server reports back
    path = TREE.path(data["src"], data["dst"], data["core"])
    assert net.entries(path[1], data["key"]) == [TREE.up_port(data["core"] // 2)]
    assert net.entries(path[2], data["key"]) == [TREE.up_port(data["core"] % 2)]

    # flows end, and with them their entries everywhere
    wait_for(lambda: len(net.events("expired")) == len(flows), 20)
    wait_for(lambda: not net.entries(path[2], data["key"]), 5)
    assert not net.events("error")


def test_hedera_moves_a_flow_without_losing_a_datagram(emulate):
    net = emulate(scheme="hedera-gff", k=4, seed=1, interval=1, bw=10)
    ecmp = SCHEMES["ecmp"].routing(TREE, 1)
    port = next(p for p in range(20000, 30000) if ecmp.cores(0, 4, p, 5001, 17)[0] == 3)
    sender = f"{TREE.host_ip(0)}:{port}"
    _, udp = net.iperf(0, 4, "-u", "-b", "5M", "-l", "1000", "-t", "5", "-B", sender)
    (flow,) = [flow for flow in net.events("flow") if flow["src_port"] == port]
    assert flow["core"] == 3
    assert [e["core"] for e in net.events("reroute") if e["key"] == flow["key"]] == [0]
    assert int(udp[11]) > 2000
    assert int(udp[10]) == 0, f"{udp[10]} of {udp[11]} datagrams lost"
    rates = [f["rate"] for r in net.events("round") for f in r["large_flows"] if f["key"] == flow["key"]]
    assert len(rates) >= 3
    steady = 5e6 * 1042 / 1000 / 10e6  # with headers, as a fraction of the NIC rate
    assert sorted(rates)[len(rates) // 2] == pytest.approx(steady, rel=0.15)
    assert not net.events("error")


def test_switches_spread_new_flows_and_hedera_moves_one_all_the_same(emulate):
    net = emulate(scheme="hedera-gff", k=4, seed=1, interval=1, bw=10, new_flows="switch")
    send = "\n".join(
        [
            "import socket, sys",
            "for port in range(20_000, 20_040):",
            "    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            "    s.bind((sys.argv[1], port))",
            "    s.sendto(bytes(100), (sys.argv[2], 5001))",
        ]
    )
    net.at(0, sys.executable, "-c", send, TREE.host_ip(0), TREE.host_ip(4))
    wait_for(lambda: len([f for f in net.events("flow") if f["dst_port"] == 5001]) == 40)
    flows = net.events("flow")
    assert {flow["reason"] for flow in flows if flow["proto"] == 17} == {"learned"}
    # Nobody listens at the other end, which says so by ICMP: one flow, whose first packets go to the controller.
    assert net.events("alive")[-1]["packet_ins"] < 20
    cores = [flow["core"] for flow in flows if flow["dst_port"] == 5001]
    assert all(cores.count(core) >= 2 for core in range(4)), "of 40, ten each on average"
    for flow in flows[-4:]:
        path = TREE.path(flow["src"], flow["dst"], flow["core"])
        tables = [net.ofctl("dump-flows", "s" + name, f"udp,tp_src={flow['src_port']}") for name in path[1:3]]
        ports = [int(re.search(r"tp_dst=5001 actions=output:(\d+)", table)[1]) for table in tables]
        assert ports == [TREE.up_port(flow["core"] // 2), TREE.up_port(flow["core"] % 2)]

    away = next(flow for flow in flows if flow["core"] == 3 and flow["dst_port"] == 5001)
    sender = f"{TREE.host_ip(0)}:{away['src_port']}"
    _, udp = net.iperf(0, 4, "-u", "-b", "5M", "-l", "1000", "-t", "5", "-B", sender)
    keys = {flow["key"] for flow in net.events("flow") if flow["src_port"] == away["src_port"]}
    assert [event["core"] for event in net.events("reroute") if event["key"] in keys] == [0]
    assert int(udp[11]) > 2000
    assert int(udp[10]) == 0, f"{udp[10]} of {udp[11]} datagrams lost"
    assert not net.events("error")


def test_a_new_controller_takes_over(emulate):
    """Flows survive the controller in the switches; its successor clears them and knows them again at once."""
    net = emulate(scheme="random", k=4, seed=1)
    ping = net.child(
        net.at_command(0, "ping", "-c60", "-i0.2", "-q", TREE.host_ip(8)), stdout=subprocess.PIPE, text=True
    )
    wait_for(lambda: len(net.events("flow")) == 2)
    net.controller.terminate()
    assert net.controller.wait(120) == 0
    net.control()
    wait_for(lambda: len(net.events("ready")) == 2, 30)
    wait_for(lambda: len(net.events("flow")) == 4)
    received = int(re.search(r"(\d+) received", ping.communicate(timeout=120)[0])[1])
    # Switches try again every second. Where one comes a second after the others, as happens on a busy machine, their
    # entries are cleared meanwhile: 6 lost. Without what the switches remember, it would be half of them.
    assert received >= 52, f"{60 - received} of 60 lost"
