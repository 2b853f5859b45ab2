"""What only a POX can show. Where there is none, one line says so, and nothing else is tried on it."""

import os
import shutil
import struct
import sys

import pytest

from harness.network.machine import read_pox_version
from hedera.schemes import SCHEMES
from tests.commands import ran
from tests.controllers import fake_switch as of
from tests.controllers.fake_switch import PLATFORMS, ControllerProcess, FakeSwitches, wait_for
from tests.controllers.frames import arp_request, between
from topos.fattree import FatTree

if of.WITHOUT_POX:
    pytest.skip(of.WITHOUT_POX, allow_module_level=True)

TREE = FatTree(4)


def dialogue(platform, folder):
    """What each switch hears in a fixed conversation: rules, flows of every protocol, ARP, reconnect, reroute."""
    with (
        # so long a period that on a busy machine too the conversation is over before the round after the reroute
        ControllerProcess(platform, folder, scheme="hedera-gff", k=4, interval=4) as controller,
        FakeSwitches(TREE, controller.address) as switches,
    ):
        controller.wait_event("ready")
        edge = switches["0_0_1"]
        routing = SCHEMES["ecmp"].routing(TREE, 1)
        port = next(p for p in range(20000, 30000) if routing.cores(0, 4, p, 5001)[0] == 3)
        for number, fields in enumerate(
            (
                {"src_port": port},
                {"protocol": 17, "src_port": 5, "dst_port": 53},
                {"protocol": 1, "src_port": 8, "dst_port": 0},
                {"protocol": 47},
            ),
            start=1,
        ):
            edge.packet_in(2, between(TREE, 0, 4, **fields).frame(b"payload"))
            controller.wait_event("flow", count=number)
        edge.packet_in(2, between(TREE, 0, 1).frame())
        edge.packet_in(2, arp_request(TREE, 0, TREE.host_ip(9)).frame())
        wait_for(lambda: len(edge.packet_outs()) == 6)
        edge.counters = {1: (800, 800 * 1514, 1.0)}
        controller.wait_event("reroute")
        wait_for(lambda: edge.flow_mods()[-1][0] == of.MODIFY_STRICT)
        controller.stop()
        return {name: list(switch.heard) for name, switch in switches.by_name.items()}


def decoded(heard, folder):
    """What a switch heard after the platform's own handshake, as Open vSwitch reads it.

    Polls are left out but for the first, because their number depends on time.
    """
    kinds = [kind for kind, _, _ in heard]
    kept = [m for m in heard[kinds.index(of.FLOW_MOD) :] if m[0] in (of.FLOW_MOD, of.PACKET_OUT, of.BARRIER_REQUEST)]
    polls = [m for m in heard if m[0] == of.STATS_REQUEST and m[2].startswith(struct.pack("!H", of.FLOW))]
    path = folder / "messages"
    path.write_bytes(b"".join(of.message(kind, body) for kind, _, body in kept + polls[:1]))
    return ran("ovs-ofctl", "ofp-parse", path, check=True).stdout


@pytest.mark.skipif(shutil.which("ovs-ofctl") is None, reason="ovs-ofctl is not installed")
def test_both_platforms_send_the_same_messages(tmp_path):
    heard = {platform: dialogue(platform, tmp_path) for platform in PLATFORMS}
    for name in TREE.switches:
        texts = [decoded(heard[platform][name], tmp_path) for platform in PLATFORMS]
        assert texts[0] == texts[1], name
    edge = decoded(heard["os-ken"]["0_0_1"], tmp_path)
    for expected in (
        "DEL priority=0 actions=drop",
        "ADD priority=200,ip,nw_dst=10.0.0.3 actions=output:4",
        "ADD priority=300,ip,in_port=2,nw_dst=10.0.0.0/24 actions=CONTROLLER:65535",
        "ADD priority=100,ip actions=CONTROLLER:65535",
        "tcp,nw_src=10.0.0.2,nw_dst=10.1.0.2",
        "icmp_type=8,icmp_code=0",
        "nw_proto=47",
        "MOD_STRICT",
        "send_flow_rem",
        "OFPST_FLOW request",
    ):
        assert expected in edge, f"{expected} is not in\n{edge}"


def test_ripl_pox_command_line(tmp_path):
    with ControllerProcess("pox", tmp_path, topo="ft,4", routing="hashed", mode="reactive") as controller:
        (start,) = controller.events("start")
        assert (start["scheme"], start["k"]) == ("ecmp", 4)
        assert "scheme ecmp" in controller.stderr()


def test_pox_py_itself_from_0_8_on(tmp_path):
    if read_pox_version(of.POX).startswith("0.7"):
        pytest.skip("POX 0.7 loads no component whose name has a dot")
    command = (sys.executable, of.POX / "pox.py", "openflow.of_01", "controllers.pox_component", "--scheme=hedra")
    done = ran(*command, env=dict(os.environ, PYTHONPATH=str(of.REPOSITORY)))
    assert (done.returncode, "hedra" in done.stderr) == (2, True)
