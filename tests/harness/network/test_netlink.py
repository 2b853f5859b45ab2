"""Answers of the kernel, held against what tc and ss say, in a namespace of the test's own."""

import contextlib
import json
import subprocess

import pytest

from harness.network import netlink
from harness.network.netlink import Netlink, has_family
from harness.network.processes import run_program
from record.errors import RunFailed

pytestmark = pytest.mark.root

SEND = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", 5001))
client = socket.create_connection(("127.0.0.1", 5001))
accepted, _ = listener.accept()
client.sendall(b"x" * 10_000)
while len(accepted.recv(1 << 20, socket.MSG_PEEK)) < 10_000:
    time.sleep(0.01)
flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20):
    flood.sendto(bytes(1000), ("10.9.9.2", 9))
print(client.getsockname()[1], flush=True)
sys.stdin.read()
"""
FLOOD = """
import socket, time
flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
flood.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 21)
for _ in range(150):
    flood.sendto(bytes(1000), ("10.9.9.2", 9))
time.sleep(0.2)
"""
"""Until a fast port has sent all that it has not dropped."""
SETUP = """
link set lo up
link add a-eth1 type veth peer name a-eth2
addr add 10.9.9.1/24 dev a-eth1
link set a-eth1 up
link set a-eth2 up
neigh add 10.9.9.2 lladdr 02:00:00:00:00:02 dev a-eth1
"""
LIMIT = """
qdisc replace dev a-eth1 root handle 1: tbf rate 8kbit burst 2000 limit 75000
qdisc replace dev a-eth1 parent 1:1 handle 10: bfifo limit 75000
"""


@pytest.fixture
def namespace(pid):
    """With a port that is limited."""
    run_program(["ip", "-batch", "-"], namespace=pid, stdin_text=SETUP)
    run_program(["tc", "-batch", "-"], namespace=pid, stdin_text=LIMIT)
    return pid


@pytest.mark.real  # where time is virtual, a round trip on loopback takes none
def test_what_waits_in_queues_and_how_long_round_trips_take(namespace):
    command, pipe = ["/usr/bin/python3", "-c", SEND], subprocess.PIPE
    with netlink.call_inside(
        namespace, lambda: subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    ) as sender:
        try:
            port = int(sender.stdout.readline())
            with contextlib.closing(Netlink(namespace)) as kernel:
                (queue,) = (one for one in kernel.qdiscs() if one.parent)
                (found,) = kernel.connections(5001)
                assert kernel.connections(5002) == []
            # 20 packets of 1042 bytes, of which one or two went before the bucket was empty; one a second since
            shown = json.loads(run_program(["tc", "-s", "-j", "qdisc", "show", "dev", "a-eth1"], namespace=namespace))
            (by_tc,) = (one["backlog"] for one in shown if one["kind"] == "bfifo")
            assert (queue.port, queue.queued) == ("a-eth1", pytest.approx(by_tc, abs=3 * 1042))
            assert 10 * 1042 <= queue.queued <= 20 * 1042
            by_ss = run_program(["ss", "-tinH", f"sport = :{port}"], namespace=namespace)
            rtt_ms = next(word for word in by_ss.split() if word.startswith("rtt:"))[4:].split("/")[0]
            assert found.rtt_s * 1e3 == pytest.approx(float(rtt_ms), abs=2e-3)
            assert found.port == port
            assert f" cwnd:{found.window_segments} " in by_ss
        finally:
            sender.kill()


@pytest.mark.parametrize(
    "queue", ["bfifo limit 75000", "red limit 75000 min 30000 max 31500 avpkt 1500 burst 20 probability 1 ecn"]
)
@pytest.mark.parametrize("rate", ["8kbit", "100gbit"])
def test_ports_are_what_ip_and_tc_say(namespace, queue, rate):
    """Neither is started by a run: what is verified there is what they would have said."""
    shape = LIMIT.replace("8kbit", rate).replace("bfifo limit 75000", queue)
    run_program(["tc", "-batch", "-"], namespace=namespace, stdin_text="qdisc del dev a-eth1 root")
    try:
        run_program(["tc", "-batch", "-"], namespace=namespace, stdin_text=shape)
    except RunFailed:
        if not queue.startswith("red"):
            raise
        pytest.skip("this kernel has no RED")
    run_program(["/usr/bin/python3", "-c", FLOOD], namespace=namespace)
    with contextlib.closing(Netlink(namespace)) as kernel:
        qdiscs, links = kernel.qdiscs(), {link.name: link for link in kernel.links()}
    by_tc = json.loads(run_program(["tc", "-s", "-j", "qdisc", "show"], namespace=namespace))
    by_ip = {one["ifname"]: one for one in json.loads(run_program(["ip", "-s", "-j", "link"], namespace=namespace))}
    assert len(qdiscs) == len(by_tc) >= 2
    for ours, theirs in zip(qdiscs, by_tc, strict=True):
        assert (ours.port, ours.kind, ours.parent) == (theirs["dev"], theirs["kind"], theirs.get("parent", ""))
        assert (ours.drops, ours.sent) == (theirs["drops"], theirs["bytes"])
        if ours.kind in ("tbf", "bfifo", "red"):
            told = theirs["options"]
            wanted = ("rate",) if ours.kind == "tbf" else ("limit",)
            assert [getattr(ours, name) for name in wanted] == [told[name] for name in wanted]
            assert ours.ecn == told.get("ecn", False)
    assert rate != "8kbit" or any(one.drops for one in qdiscs)
    assert links.keys() == by_ip.keys()
    for name, link in links.items():
        assert link.dropped == sum(by_ip[name]["stats64"][way]["dropped"] for way in ("rx", "tx"))


def test_the_kernel_is_asked_for_its_families():
    assert has_family("nlctrl"), "the family that lists families, on every kernel"
    assert not has_family("no_such_family")
    with pytest.raises(OSError, match="Invalid argument"):
        has_family("a" * 60)  # longer than the kernel's names
