"""Flows that last, by iperf, and traffic that comes and goes, on hosts that are namespaces of this machine."""

import itertools
import os
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from harness.network.processes import Children
from harness.run.traffic import BLOCK_BYTES, LastingFlows, Transfers, compute_unsent_bytes, is_listening_on
from record.spec import LINGERING_BYTES, RunSpec, linger_s
from tests.commands import PATIENCE_S
from topos.network import NonBlocking
from traffic.flows import Matrix


def test_a_client_on_slow_links_may_linger_until_all_that_it_has_written_is_through():
    for bw in (0.5, 10, 25):
        assert isinstance(compute_unsent_bytes(bw), int), "sysctl takes no other"
        written = BLOCK_BYTES + compute_unsent_bytes(bw)
        assert written <= LINGERING_BYTES
        spec = RunSpec("ecmp", "stride:4", link_mbps=bw, disturb=("controller:kill@3",))
        assert linger_s(spec) > written * 8e-6 / bw


def test_a_starved_flow_may_linger_until_its_timeout_has_doubled_once_more():
    # Sent at 1 s and lost each time, with timeouts from 0.2 s on: retransmissions at 1.2, 1.6 and so on.
    for seconds in (5, 10, 20, 60):
        sent, timeout = 1.0, 0.2
        while sent < seconds:
            sent, timeout = sent + timeout, 2 * timeout
        assert seconds + linger_s(RunSpec("ecmp", "stride:4", seconds=seconds, link_mbps=1000)) > sent


def test_nobody_waits_for_flows_whose_ways_are_gone():
    broken = RunSpec("ecmp", "stride:4", seconds=600, fail=("link:0_2_1-4_1_1@2",))
    assert linger_s(broken) == linger_s(RunSpec("ecmp", "stride:4", seconds=600, disturb=("controller:kill@3",))) < 60


@pytest.mark.parametrize(("lasted", "incomplete"), [(5.01, []), (4.99, ["0 to 4 (4.99 s)"])])
def test_a_flow_may_be_a_second_short_of_what_was_asked(tmp_path, lasted, incomplete):
    spec = RunSpec("ecmp", "stride:4", seconds=6, link_mbps=10)
    matrix = Matrix(np.array([0]), np.array([4]), 16, "one flow")
    fabric = SimpleNamespace(topo=spec.network())
    iperf = LastingFlows(fabric, matrix, spec, tmp_path, children=None)
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
    assert [is_listening_on(PROC_NET_TCP, port) for port in (5001, 5002, 5000)] == [True, False, False]


SPEC = RunSpec("nonblocking", "shuffle:20000", seconds=3, link_mbps=10)
COLLECTIVE = RunSpec("nonblocking", "ring:16,1600000", seconds=PATIENCE_S, link_mbps=10)


class LocalFabric:
    topo = NonBlocking(16)

    def pid_of(self, name):
        return os.getpid()


class LocalChildren(Children):
    def spawn(self, name, argv, **options):
        return super().spawn(name, argv, **{**options, "namespace": None})


@pytest.fixture
def children():
    with LocalChildren() as made:
        yield made


@pytest.fixture
def transfers(tmp_path, children, monkeypatch):
    network = f"127.{os.getpid() >> 8 & 127 | 128}.{os.getpid() & 255}"  # this process's own: others test beside it
    monkeypatch.setattr(NonBlocking, "host_ip", lambda self, host: f"{network}.{host + 1}")

    def transfers(spec):
        return Transfers(LocalFabric(), spec.workload(), spec, tmp_path, children)

    return transfers


@pytest.fixture
def carry_out(transfers):
    def carry_out(spec, tick=lambda run: None):
        run = transfers(spec)
        run.listen()
        run.start()
        assert run.wait(lambda: tick(run)) == []
        run.hang_up()
        return run, run.collect()

    return carry_out


def test_a_shuffle_takes_its_turns_and_ends_early(carry_out):
    spec = replace(SPEC, seconds=PATIENCE_S)
    begin = time.monotonic()
    ticks = []
    run, failed = carry_out(spec, ticks.append)
    assert (failed, run.troubles, len(run.flows)) == ([], [], 240)
    assert time.monotonic() - begin < spec.seconds
    assert ticks
    by_host = [[flow for flow in run.flows if flow.src == host] for host in range(16)]
    for flows in by_host:
        order = sorted(flows, key=lambda flow: flow.sent.start)
        assert all(a.sent.end <= b.sent.start for a, b in itertools.pairwise(order))
        assert all(flow.arrived.bytes == 20_000 == flow.report.total.bytes for flow in flows)


@pytest.mark.slow
def test_arrivals_come_when_they_are_drawn_and_the_end_cuts_off(carry_out):
    spec = replace(SPEC, traffic="poisson:fixed:100000,0.5 + stride:1", scale_sizes=False)
    run, failed = carry_out(spec)
    assert failed == []
    drawn = [flow for flow in spec.workload() if flow.start_s is not None]
    assert len(run.flows) == len(drawn) > 20
    for flow, asked in zip(run.flows, drawn, strict=True):
        assert (flow.src, flow.dst, flow.size_bytes) == (asked.src, asked.dst, asked.size_bytes)
        if flow.sent is not None:
            assert flow.sent.scheduled - run._begin == pytest.approx(asked.start_s, abs=1e-6)
            assert flow.sent.outcome in ("done", "cut off")
    lasting = [flow for flow in run.flows if flow.size_bytes is None]
    assert {flow.sent.outcome for flow in lasting} == {"done"}


@pytest.mark.parametrize(
    ("spec", "to_it", "from_it"),
    [
        pytest.param(
            replace(SPEC, traffic="stride:1"), "2 to 3 (", "3 to 4 (not started)", marks=pytest.mark.slow
        ),  # flows that last send all that a processor can
        (replace(COLLECTIVE, traffic="ring:4,400000", compute_s=1.0, seconds=4), "2 to 3 (", "3 to 0 (not started)"),
    ],
)
def test_a_host_that_is_killed_is_named_and_nothing_hangs(carry_out, children, spec, to_it, from_it):
    killed = []

    def tick(run):
        if not killed and time.monotonic() > run._begin + 0.5:
            killed.extend(children.named("peer of host 3"))
            for child in killed:
                child.kill()

    began = time.monotonic()
    run, failed = carry_out(spec, tick)
    assert time.monotonic() - began < spec.seconds + PATIENCE_S
    assert run.troubles == ["the program of host 3 ended during the run (status -9)"]
    assert from_it in failed
    assert any(flow.startswith(to_it) for flow in failed)
    assert len(failed) == 2 or spec.traffic != "stride:1", "what others send to each other arrives"


@pytest.mark.parametrize(
    ("traffic", "scheme"),
    [
        ("ring:16,1600000", "nonblocking"),
        ("halving-doubling:8,80000", "nonblocking"),
        ("all-to-all:4,40000", "ecmp-x4"),
        ("pipeline:4,50000", "nonblocking"),
        ("ring:2,1", "nonblocking"),
    ],
)
def test_a_collective_runs_to_its_end_in_order(carry_out, traffic, scheme):
    spec = replace(COLLECTIVE, traffic=traffic, scheme=scheme, repeats=2)
    graph = spec.workload().graph
    run, failed = carry_out(spec)
    assert (failed, run.troubles) == ([], [])
    flows = np.flatnonzero(~graph.computes)
    assert len(run.flows) == flows.size
    start, end = np.full((2, len(graph)), np.nan)
    for node, flow in zip(flows, run.flows, strict=True):
        assert (flow.src, flow.dst) == (graph.src[node], graph.dst[node])
        assert (flow.sent.outcome, flow.arrived.outcome) == ("done", "done")
        assert flow.sent.connected is None, "its connection stood already"
        assert flow.arrived.bytes == max(16, flow.size_bytes) == sum(flow.arrived.bins)
        assert flow.report.total.bytes == flow.arrived.bytes
        assert run._begin <= flow.sent.scheduled <= flow.sent.start <= flow.arrived.first <= flow.arrived.last
        start[node], end[node] = flow.sent.start, flow.arrived.last
    sends = ~graph.computes[graph.before] & ~graph.computes[graph.waiting]
    assert (start[graph.waiting[sends]] >= end[graph.before[sends]]).all()
    told = run.collective
    assert told.ended == told.flows == flows.size
    assert told.completion_s == pytest.approx(np.nanmax(end) - run._begin)


def test_the_end_cuts_off_and_says_so(carry_out):
    spec = replace(COLLECTIVE, traffic="ring:4,40000", compute_s=2.0, repeats=3, seconds=3.5)
    run, failed = carry_out(spec)
    assert run.troubles == []
    assert run.collective.completion_s is None
    assert run.collective.ended == 96
    assert failed.count("0 to 1 (not started)") == 12
    assert min(flow.sent.start for flow in run.flows if flow.sent) - run._begin >= 2.0, "computing takes its time"
