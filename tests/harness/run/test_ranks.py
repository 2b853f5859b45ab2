"""Collectives by the programs of their hosts, which are addresses of loopback: no root, no network."""

import time
from dataclasses import replace

import numpy as np
import pytest

from harness.errors import RunFailed, UserMistake
from harness.run.ranks import Ranks
from harness.run.spec import RunSpec
from tests.harness.run.test_transfers import LocalChildren, LocalFabric, NoGroups
from topos.nonblocking import NonBlocking

SPEC = RunSpec("nonblocking", "ring:16,1600000", seconds=60, link_mbps=10)


@pytest.fixture
def children():
    with LocalChildren() as made:
        yield made


@pytest.fixture
def carry_out(tmp_path, children, monkeypatch):
    monkeypatch.setattr(NonBlocking, "host_ip", lambda self, host: f"127.9.{host}.1")

    def carry_out(spec, tick=lambda run: None):
        run = Ranks(LocalFabric(), spec.workload(), spec, tmp_path, children, NoGroups())
        run.listen()
        run.start()
        assert run.wait(lambda: tick(run)) == []
        run.hang_up()
        return run, run.collect()

    return carry_out


@pytest.mark.parametrize(
    "traffic",
    ["ring:16,1600000", "halving-doubling:8,80000", "all-to-all:16,3200000", "pipeline:4,50000", "ring:2,1"],
)
def test_a_collective_runs_to_its_end_in_order(carry_out, traffic):
    spec = replace(SPEC, traffic=traffic, repeats=2)
    graph = spec.workload().graph
    run, failed = carry_out(spec)
    assert (failed, run.troubles) == ([], [])
    flows = np.flatnonzero(~graph.computes)
    assert len(run.flows) == flows.size
    start, end = np.full((2, len(graph)), np.nan)
    for node, flow in zip(flows, run.flows, strict=True):
        assert (flow.src, flow.dst) == (graph.src[node], graph.dst[node])
        assert (flow.sent.how, flow.arrived.how) == ("done", "done")
        assert flow.arrived.bytes == max(16, flow.size_bytes) == sum(flow.arrived.bins)
        assert flow.report.total.bytes == flow.arrived.bytes
        assert run._begin <= flow.sent.asked <= flow.sent.start <= flow.arrived.first <= flow.arrived.last
        start[node], end[node] = flow.sent.start, flow.arrived.last
    sends = ~graph.computes[graph.before] & ~graph.computes[graph.waiting]
    assert (start[graph.waiting[sends]] >= end[graph.before[sends]]).all()
    told = run.collective
    assert told.ended == told.flows == flows.size
    assert told.completion_s == pytest.approx(np.nanmax(end) - run._begin)


def test_sub_flows_have_connections_of_their_own(carry_out):
    spec = replace(SPEC, scheme="ecmp-x4", traffic="all-to-all:4,40000")
    run, failed = carry_out(spec)
    assert failed == []
    assert len(run.flows) == 4 * 4 * 12
    assert len({(flow.src, flow.src_port) for flow in run.flows}) == len(run.flows)
    assert {flow.arrived.bytes for flow in run.flows} == {2500}


def test_computing_delays_what_waits_for_it(carry_out):
    spec = replace(SPEC, traffic="ring:4,4000", compute_s=0.3, repeats=2)
    run, _ = carry_out(spec)
    assert run.collective.completion_s >= 0.6
    first = min(flow.sent.start for flow in run.flows) - run._begin
    assert first >= 0.3


def test_the_end_cuts_off_and_says_so(carry_out):
    spec = replace(SPEC, traffic="ring:4,40000", compute_s=4.0, repeats=3, seconds=7)
    run, failed = carry_out(spec)
    assert run.troubles == []
    assert run.collective.completion_s is None
    assert run.collective.ended == 96
    assert failed.count("0 to 1 (not started)") == 12


def test_computing_of_a_goal_file_takes_its_time(carry_out, tmp_path):
    text = (
        "num_ranks 3\n"
        "rank 0 {\nc: calc 300000000\ns: send 5000b to 1 tag 1\ns requires c\n}\n"
        "rank 1 {\nr: recv 5000b from 0 tag 1\n}\n"
        "rank 2 {\nc: calc 1000\n}\n"
    )
    path = tmp_path / "late.goal"
    path.write_text(text)
    run, failed = carry_out(replace(SPEC, traffic=f"goal:{path}"))
    assert failed == []
    (flow,) = run.flows
    assert flow.sent.start - run._begin >= 0.3


def test_a_host_that_is_killed_is_named_and_nothing_hangs(carry_out, children):
    spec = replace(SPEC, traffic="ring:4,400000", compute_s=3.0, repeats=2, seconds=8)
    killed = []

    def tick(run):
        if not killed and time.monotonic() > run._begin + 0.5:
            killed.extend(children.named("rank of host 2"))
            for child in killed:
                child.kill()

    run, failed = carry_out(spec, tick)
    assert run.troubles == ["the rank of host 2 ended during the run (status -9)"]
    assert any(flow.startswith("1 to 2 (") for flow in failed)


def test_hosts_that_cannot_connect_are_named(tmp_path, children, monkeypatch):
    monkeypatch.setattr(NonBlocking, "host_ip", lambda self, host: f"127.9.{host}.1")
    monkeypatch.setattr("harness.run.programs.SERVER_PORT", 70_000)
    run = Ranks(LocalFabric(), SPEC.workload(), SPEC, tmp_path, children, NoGroups())
    with pytest.raises(RunFailed, match=r"the rank of host 0 does not listen: .*port must be"):
        run.listen()


def test_what_hosts_cannot_do_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(UserMistake, match="other traffic beside a collective is for the simulator only"):
        replace(SPEC, traffic="ring:4,1000 + stride:1").workload()
    with pytest.raises(UserMistake, match="scheme 'ecmp-x4' is for collectives, and traffic 'stride:1' is none"):
        replace(SPEC, scheme="ecmp-x4", traffic="stride:1").workload()
    assert replace(SPEC, traffic="ring:4,1000").for_its_traffic().new_flows == "controller"
