"""Both platforms' adapters: real controller processes, fake switches over loopback TCP, no root."""

import contextlib
import os
import signal
import socket
import struct
import sys

import pytest

from controllers.driver import guarded
from harness.network.machine import read_pox_version
from hedera.schemes import SCHEMES
from tests.commands import PATIENCE_S, ran
from tests.controllers import fake_switch as of
from tests.controllers.fake_network import FakeNetwork
from tests.controllers.fake_switch import PLATFORMS, ControllerProcess, FakeSwitches, wait_for
from tests.controllers.frames import between
from topos.fattree import FatTree

TREE = FatTree(4)


@pytest.fixture(params=PLATFORMS)
def platform(request):
    return request.param


def test_a_controllers_life(platform, tmp_path):
    with ControllerProcess(platform, tmp_path, scheme="ecmp", k=4) as controller:
        (start,) = controller.events("start")
        address = "{}:{}".format(*controller.address)
        assert (start["platform"], start["scheme"], start["listen"]) == (platform, "ecmp", address)
        with FakeSwitches(TREE, controller.address) as switches:
            (ready,) = controller.wait_event("ready")
            assert ready["switches"] == 20
            edge = switches["0_0_1"]
            packet = between(TREE, 0, 15, src_port=4711)
            edge.packet_in(2, packet.frame())
            (flow,) = controller.wait_event("flow")
            path = TREE.path(0, 15, flow["core"])
            up = TREE.up_port(flow["core"] // 2)
            assert wait_for(edge.packet_outs) == [(up, packet.frame())]
            assert edge.flow_mods()[-1] == (of.ADD, flow["key"], [up])
            above = switches[path[2]]
            wait_for(lambda: above.flow_mods()[-1] == (of.ADD, flow["key"], [TREE.up_port(flow["core"] % 2)]))

            # duplicates are sent on and nothing else
            mods = len(edge.flow_mods())
            for _ in range(15):
                edge.packet_in(2, packet.frame())
            wait_for(lambda: len(edge.packet_outs()) == 16)
            assert len(edge.flow_mods()) == mods

            # a lost switch is noticed, and gets everything back
            switches.disconnect(above)
            states = lambda: [e["state"] for e in controller.events("switch") if e["name"] == path[2]]  # noqa: E731
            wait_for(lambda: states() == ["up", "down"])
            above.heard.clear()
            switches.connect(above)
            wait_for(lambda: len(states()) == 3)
            wait_for(lambda: above.flow_mods() and above.heard[-1][0] == of.BARRIER_REQUEST)
            assert above.flow_mods()[0][0] == of.DELETE
            assert len(controller.events("ready")) == 1

            edge.flow_removed(flow["key"])
            assert controller.wait_event("expired")[0]["key"] == flow["key"]
            assert controller.stop() == 0, controller.stderr()
        assert not controller.events("error")


def test_all_switches_of_a_large_network_call_at_once(tmp_path):
    with ControllerProcess("os-ken", tmp_path, scheme="ecmp", k=4) as controller, contextlib.ExitStack() as held:
        os.kill(controller.process.pid, signal.SIGSTOP)  # it takes no call meanwhile
        for _ in range(720):
            held.enter_context(socket.create_connection(controller.address, timeout=PATIENCE_S))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it(platform, number, tmp_path):
    with ControllerProcess(platform, tmp_path, scheme="nonblocking", k=4) as controller:
        assert controller.stop(number) == 0, controller.stderr()


def test_nothing_a_switch_says_stops_it(platform, tmp_path):
    gar = platform == "pox" and read_pox_version(of.POX).startswith("0.7")
    with (
        ControllerProcess(platform, tmp_path, scheme="ecmp", k=4) as controller,
        FakeSwitches(TREE, controller.address) as switches,
    ):
        controller.wait_event("ready")
        edge, bad = switches["0_0_1"], switches["3_1_1"]
        frame = between(TREE, 0, 15).frame()
        for noise in (b"", b"\x00", frame[:20], frame[:33], frame[:-1], bytes(14) + b"\x45" * 20, bytes(1500)):
            edge.packet_in(2, noise)
        edge.flow_removed(2**64 - 1)
        edge.send(of.STATS_REPLY, struct.pack("!HH", of.FLOW, 0), xid=0xDEAD)
        edge.send(of.BARRIER_REPLY, xid=0xDEAD)
        edge.send(of.PORT_STATUS, struct.pack("!B7x", 2) + of.port_body(60000))
        if not gar:  # which fails to print the error and hangs up; Open vSwitch then connects again
            edge.send(of.ERROR, struct.pack("!HH", 3, 0) + bytes(64))
        bad.send(of.PACKET_IN, b"\x01")  # shorter than its own header
        bad.sock.sendall(b"\x09\x63\x00\x08" + bytes(4))  # not OpenFlow 1.0
        edge.packet_in(2, frame)
        controller.wait_event("flow")
        wait_for(edge.packet_outs)
        assert gar or any("error 3" in event["message"] for event in controller.events("error"))
        assert controller.stop() == 0


@pytest.mark.slow
def test_hedera_polls_and_reroutes(platform, tmp_path):
    """Two flows hashed to one uplink are told apart within the first rounds, by replies that come in parts."""
    routing = SCHEMES["ecmp"].routing(TREE, 1)
    pairs = [(0, 4), (1, 5)]
    ports = [next(p for p in range(20000, 30000) if routing.cores(*pair, p, 5001)[0] == 3) for pair in pairs]
    with ControllerProcess(platform, tmp_path, scheme="hedera-gff", k=4, interval=1, bw=10) as controller:
        with FakeSwitches(TREE, controller.address) as switches:
            controller.wait_event("ready")
            edge = switches["0_0_1"]
            for (src, dst), port in zip(pairs, ports, strict=True):
                edge.packet_in(2, between(TREE, src, dst, src_port=port).frame())
            flows = controller.wait_event("flow", count=2)
            assert [flow["core"] for flow in flows] == [3, 3]
            edge.counters = {flow["key"]: (400, 400 * 1514, 1.0) for flow in flows}
            changes = controller.wait_event("reroute", count=2)
            assert [change["core"] for change in changes] == [0, 2]
            wait_for(lambda: edge.flow_mods()[-1] == (of.MODIFY_STRICT, flows[0]["key"], [TREE.up_port(0)]))
            wait_for(lambda: switches["0_2_1"].flow_mods()[-1][:2] == (of.MODIFY_STRICT, flows[0]["key"]))
            wait_for(lambda: switches["0_3_1"].flow_mods()[-1][:2] == (of.MODIFY_STRICT, flows[1]["key"]))
            report = next(event for event in controller.wait_event("round") if event["changed"])
            assert report["large_flows"][0]["rate"] == pytest.approx(400 * 1514 * 8 / 10e6, rel=1e-3)

            # one switch stops answering: the rounds go on
            switches["1_0_1"].answer_stats = False
            rounds = len(controller.events("round"))
            controller.wait_event("round", count=rounds + 2)
            assert controller.stop() == 0
        assert not controller.events("error"), controller.stderr()


def test_an_exception_in_a_handler_is_logged_and_survived():
    class Adapter:
        core = FakeNetwork(scheme="ecmp", k=4, connect=False).controller
        handled = ()

        @guarded
        def on_event(self, event):
            self.handled += (1 / event,)

    adapter = Adapter()
    for event in (2, 0, 4):
        adapter.on_event(event)
    assert adapter.handled == (0.5, 0.25)
    assert "on_event: ZeroDivisionError" in adapter.core._log.of("error")[0]["message"]


# --- wrong use


@pytest.mark.parametrize(("flag", "complaint"), [("scheme=hedra", "hedra"), ("k=5", "-k must")])
def test_wrong_use_gets_one_sentence_and_status_2(platform, flag, complaint, tmp_path):
    name, value = flag.split("=")
    command = of.command(platform, ("127.0.0.1", 1), tmp_path / "log", **{name: value})
    done = ran(*command, env=dict(os.environ, PYTHONPATH=str(of.REPOSITORY)))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert complaint in line
    assert not (tmp_path / "log").exists(), "a controller that does not run leaves no log"


def test_an_address_in_use_is_reported(tmp_path):
    with ControllerProcess("os-ken", tmp_path, scheme="ecmp") as first:
        done = ran(*of.command("os-ken", first.address, tmp_path / "second", scheme="ecmp"))
    assert done.returncode == 1
    assert "Address already in use" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_it_listens_nowhere_else(tmp_path):
    with ControllerProcess("os-ken", tmp_path, scheme="ecmp") as controller:
        listening = ran("ss", "-tlnpH", check=True).stdout
        ours = [line for line in listening.splitlines() if f"pid={controller.process.pid}," in line]
        assert [line.split()[3] for line in ours] == ["{}:{}".format(*controller.address)]


@pytest.mark.slow
def test_static_schemes_start_without_numba():
    code = """if True:
        import sys
        import harness.run.experiment
        from tests.controllers.fake_network import FakeNetwork
        FakeNetwork(scheme=sys.argv[1], k=4)
        print("numba" in sys.modules)
    """
    loads = {}
    for scheme in ("ecmp", "hedera-gff"):
        loads[scheme] = ran(sys.executable, "-c", code, scheme, cwd=of.REPOSITORY).stdout.strip()
    assert loads == {"ecmp": "False", "hedera-gff": "True"}
