"""What the clients of lasting flows may hold back, and how long they may take to be done with it."""

from types import SimpleNamespace

import numpy as np
import pytest

from harness.run.iperf import BLOCK_BYTES, Iperf, listens_on, unsent_bytes
from harness.run.spec import LINGERING_BYTES, RunSpec, linger_s
from traffic.flows import Matrix


def test_a_client_on_slow_links_may_linger_until_all_that_it_has_written_is_through():
    for bw in (0.5, 10, 25):
        assert isinstance(unsent_bytes(bw), int), "sysctl takes no other"
        written = BLOCK_BYTES + unsent_bytes(bw)
        assert written <= LINGERING_BYTES
        assert linger_s(bw) > written * 8e-6 / bw


@pytest.mark.parametrize(("lasted", "incomplete"), [(5.01, []), (4.99, ["0 to 4 (4.99 s)"])])
def test_a_flow_may_be_a_second_short_of_what_was_asked(tmp_path, lasted, incomplete):
    spec = RunSpec("ecmp", "stride:4", seconds=6, link_mbps=10)
    matrix = Matrix(np.array([0]), np.array([4]), 16, "one flow")
    fabric = SimpleNamespace(topo=spec.network())
    iperf = Iperf(fabric, matrix, spec, tmp_path, children=None)
    port = iperf.flows[0].src_port
    address, other = (spec.network().host_ip(host) for host in (0, 4))
    spans = [*(f"{second}.0-{second + 1}.0" for second in range(4)), f"0.0-{lasted}"]
    lines = [f"20260101000000.5,{other},5001,{address},{port},4,{span},1250000,10000000\n" for span in spans]
    (tmp_path / "server-4.csv").write_text("".join(lines))
    assert iperf.collect() == incomplete


PROC_NET_TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0200000A:1389 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0200000A:138A 0300000A:1388 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0
"""


def test_a_listening_socket_is_told_from_a_connected_one():
    assert [listens_on(PROC_NET_TCP, port) for port in (5001, 5002, 5000)] == [True, False, False]
