"""The harness's side of senders and sinks, with hosts that are addresses of loopback: no root, no network."""

import itertools
import os
import time
from dataclasses import replace

import pytest

from harness.network.processes import Children
from harness.run.spec import RunSpec
from harness.run.transfers import Transfers
from topos.nonblocking import NonBlocking

SPEC = RunSpec("nonblocking", "shuffle:20000", seconds=3, link_mbps=10)


class LocalFabric:
    topo = NonBlocking(16)

    def pid_of(self, name):
        return os.getpid()


class LocalChildren(Children):
    def spawn(self, name, argv, **options):
        return super().spawn(name, argv, **{**options, "namespace": None})


class NoGroups:
    def procs_file(self, name):
        return None


@pytest.fixture
def children():
    with LocalChildren() as made:
        yield made


def transfers(spec, folder, children, monkeypatch):
    fabric = LocalFabric()
    monkeypatch.setattr(NonBlocking, "host_ip", lambda self, host: f"127.9.{host}.1")
    made = Transfers(fabric, spec.workload(), spec, folder, children, NoGroups())
    made.listen()
    time.sleep(0.5)  # they share one namespace, so that the first sink answers for all
    return made


def test_a_shuffle_takes_its_turns_and_ends_early(tmp_path, children, monkeypatch):
    spec = replace(SPEC, seconds=60)
    run = transfers(spec, tmp_path, children, monkeypatch)
    begin = time.monotonic()
    run.start()
    ticks = []
    assert run.wait(lambda: ticks.append(1)) == []
    run.hang_up()
    assert run.collect() == []
    assert (run.troubles, len(run.flows)) == ([], 240)
    assert time.monotonic() - begin < spec.seconds
    assert ticks
    by_host = [[flow for flow in run.flows if flow.src == host] for host in range(16)]
    for flows in by_host:
        order = sorted(flows, key=lambda flow: flow.sent.start)
        assert all(a.sent.end <= b.sent.start for a, b in itertools.pairwise(order))
        assert all(flow.arrived.bytes == 20_000 == flow.report.total.bytes for flow in flows)


def test_arrivals_come_when_they_are_drawn_and_the_end_cuts_off(tmp_path, children, monkeypatch):
    spec = replace(SPEC, traffic="poisson:fixed:100000,0.5 + stride:1", scale_sizes=False)
    run = transfers(spec, tmp_path, children, monkeypatch)
    run.start()
    run.wait(lambda: None)
    run.hang_up()
    assert run.collect() == []
    drawn = [flow for flow in spec.workload() if flow.start_s is not None]
    assert len(run.flows) == len(drawn) > 20
    for flow, asked in zip(run.flows, drawn, strict=True):
        assert (flow.src, flow.dst, flow.size_bytes) == (asked.src, asked.dst, asked.size_bytes)
        if flow.sent is not None:
            assert flow.sent.asked - run._begin == pytest.approx(asked.start_s, abs=1e-6)
            assert flow.sent.how in ("done", "cut off")
    lasting = [flow for flow in run.flows if flow.size_bytes is None]
    assert {flow.sent.how for flow in lasting} == {"done"}


def test_a_sender_and_a_sink_that_are_killed_are_named_and_nothing_hangs(tmp_path, children, monkeypatch):
    spec = replace(SPEC, traffic="stride:1")
    run = transfers(spec, tmp_path, children, monkeypatch)
    run.start()
    killed = []

    def tick():
        if not killed and time.monotonic() > run._begin + 0.5:
            killed.extend([*children.named("sender of host 3"), *children.named("sink of host 8")])
            for child in killed:
                child.kill()

    began = time.monotonic()
    run.wait(tick)
    assert time.monotonic() - began < spec.seconds + 60
    run.hang_up()
    failed = run.collect()
    assert run.troubles == ["the sender of host 3 ended during the run (status -9)"]
    assert "3 to 4 (not started)" in failed
    assert any(flow.startswith("7 to 8 (") for flow in failed)
    assert len(failed) == 2
