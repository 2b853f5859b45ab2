"""Answers of the kernel, held against what tc and ss say, in a namespace of the test's own."""

import contextlib
import json
import os
import socket
import subprocess
import time

import pytest

from harness.network.processes import run
from harness.network.queries import Queries

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

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
def namespace():
    """The pid of a process in a network namespace of its own."""
    with contextlib.ExitStack() as ends:
        sleeper = ends.enter_context(subprocess.Popen(["mnexec", "-n", "sleep", "60"]))
        ends.callback(sleeper.kill)
        ours = os.readlink("/proc/self/ns/net")
        deadline = time.monotonic() + 5
        while os.readlink(f"/proc/{sleeper.pid}/ns/net") == ours:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        run(["ip", "-batch", "-"], namespace=sleeper.pid, given=SETUP)
        run(["tc", "-batch", "-"], namespace=sleeper.pid, given=LIMIT)
        yield sleeper.pid


def test_what_waits_in_queues_and_how_long_round_trips_take(namespace):
    command = ["mnexec", "-a", str(namespace), "/usr/bin/python3", "-c", SEND]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sender:
        try:
            port = int(sender.stdout.readline())
            with contextlib.closing(Queries(namespace)) as queries:
                queued = queries.queued_bytes()
                (found,) = queries.round_trips(5001)
                assert queries.round_trips(5002) == []
            # 20 packets of 1042 bytes, of which one or two went before the bucket was empty; one a second since
            shown = json.loads(run(["tc", "-s", "-j", "qdisc", "show", "dev", "a-eth1"], namespace=namespace))
            (by_tc,) = (one["backlog"] for one in shown if one["kind"] == "bfifo")
            assert queued == {"a-eth1": pytest.approx(by_tc, abs=3 * 1042)}
            assert 10 * 1042 <= queued["a-eth1"] <= 20 * 1042
            assert (found.destination, found.source_port, found.destination_port) == ("127.0.0.1", port, 5001)
            by_ss = run(["ss", "-tinH", f"sport = :{port}"], namespace=namespace)
            rtt_ms = next(word for word in by_ss.split() if word.startswith("rtt:"))[4:].split("/")[0]
            assert found.rtt_s * 1e3 == pytest.approx(float(rtt_ms), abs=2e-3)
        finally:
            sender.kill()


def test_our_own_namespace_is_not_left(namespace):
    before = os.readlink("/proc/thread-self/ns/net")
    with contextlib.closing(Queries(namespace)) as queries:
        assert queries.queued_bytes() == {"a-eth1": 0}
        assert queries.round_trips(5001) == []
    assert os.readlink("/proc/thread-self/ns/net") == before
    assert "a-eth1" not in dict(socket.if_nameindex()).values()


def test_a_process_that_has_gone_is_an_error():
    gone = subprocess.Popen(["true"])
    gone.wait()
    with pytest.raises(OSError, match="No such"):
        Queries(gone.pid)
