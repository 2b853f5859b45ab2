"""What the sink reports of flows, against what was sent, and in the words of iperf's server."""

import socket
import struct
import subprocess
import sys
import time

import pytest

from harness.network.processes import wait_until
from harness.run.traffic import SINK
from tests.commands import PATIENCE_S
from traffic.programs import parse_report


@pytest.fixture
def sink(tmp_path):
    report = tmp_path / "report"
    with report.open("w") as out, socket.create_server(("127.0.0.1", 0)) as listener:
        port, number = listener.getsockname()[1], listener.fileno()
        command = [sys.executable, "-I", "-S", SINK, str(number)]
        process = subprocess.Popen(command, stdout=out, pass_fds=[number])
    yield port, report
    process.kill()
    process.wait()


def totals(report, port):
    return {flow: each.total for flow, each in parse_report(report.read_text(), port).items() if each.total}


def test_bytes_and_seconds_of_flows_side_by_side(sink):
    port, report = sink
    began = time.time()
    flows = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
    for _ in range(30):
        flows[0].sendall(bytes(2000))
        flows[1].sendall(bytes(50_000))
        time.sleep(0.05)
    keys = [flow.getsockname() for flow in flows]
    closing = time.time()
    for flow in flows:
        flow.close()
    assert wait_until(lambda: len(totals(report, port)) == 2, PATIENCE_S)
    found = parse_report(report.read_text(), port)
    for key, size in zip(keys, (60_000, 1_500_000), strict=True):
        assert found[key].total.bytes == size
        first = found[key].began(began)
        assert began - 0.1 <= first <= closing
        assert closing - 0.1 <= first + found[key].total.end_s <= time.time() + 0.1
        assert 0 < sum(each.bytes for each in found[key].intervals) <= size


def test_a_flow_that_breaks_off_has_its_total(sink):
    port, report = sink
    flow = socket.create_connection(("127.0.0.1", port))
    flow.sendall(bytes(10_000))
    flow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    flow.close()  # a reset
    assert wait_until(lambda: totals(report, port), PATIENCE_S)
    (total,) = totals(report, port).values()
    assert total.bytes <= 10_000
