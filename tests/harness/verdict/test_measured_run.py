"""Flows that come and go, judged: made-up records of senders and sinks whose answers can be worked out by hand."""

from collections import Counter
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from harness.hosts.connections import BIN_S
from harness.run.controller import Restart
from harness.run.observation import Observation, Outage, parse_counters
from harness.run.traffic import Arrived, EmulatedFlow, Sent, _make_flow_report
from harness.verdict.flows import compute_fair, measure_flows
from harness.verdict.measured_run import MeasuredRun, Recovery
from harness.verdict.result import COUNTED, make_result, measure_costs
from record.run import Failure
from record.spec import RunSpec
from tests.harness.verdict.fine import measured, placed, round_of
from topos.fattree import FatTree
from topos.links import parse
from topos.network import NonBlocking
from topos.wire import compute_payload_share
from traffic.programs import Series

BEGIN, OFFSET = 1000.0, 600.0  # by the epoch; the monotonic clock says 400 then
SECONDS = 12
POISSON = RunSpec("nonblocking", "poisson:fixed:1000000,0.5", seconds=SECONDS, link_mbps=10, scale_sizes=False)
SHUFFLE = replace(POISSON, traffic="shuffle:1000", scale_sizes=True)
PAYLOAD = 10 * compute_payload_share() * 125_000  # bytes a second


def flow(number, src, dst, start, took, size, how="done", late=0.0):
    """One flow at an even rate; it took None when the end cut it off, having got half."""
    begun = BEGIN - OFFSET + start
    end = BEGIN - OFFSET + SECONDS if took is None else begun + took
    got = size if took is not None else size // 2
    bins = np.diff(np.linspace(0, got, int(np.ceil((end - begun) / BIN_S)) + 1).astype(int)).tolist()
    made = EmulatedFlow(src, dst, 20_000 + number, size, started=BEGIN + start)
    made.sent = Sent(number, begun - late, begun, begun + 0.001, end + 0.001, how, 0, 5000)
    made.arrived = Arrived(number, how, begun, begun, end, got, tuple(bins))
    made.report = _make_flow_report("", "", made)
    return made


def observation(flows, mbps=0.0, **fields):
    t = BEGIN + np.arange(1, SECONDS + 1)
    series = Series(t, np.full(SECONDS, mbps), np.full(SECONDS, mbps))
    ports = {f"{NonBlocking.SWITCH}-eth{host + 1}": series for host in range(16)}
    return Observation(begin=BEGIN, series=ports, flows=flows, clock_offset=OFFSET, **fields)


def judged(flows, spec=POISSON, **fields):
    result = make_result(spec, observation(flows, **fields))
    # The counters are made up too, and the same everywhere: tests of their own hold flows against them.
    doubts = [one for one in result.reasons if "bwm-ng" not in one and "did not take the paths" not in one]
    return msgspec.structs.replace(result, reasons=tuple(doubts))


def test_flows_at_the_rate_of_the_fluid_are_fine():
    size = round(4 * PAYLOAD)
    found = judged([flow(0, 0, 1, 3, 4, size), flow(1, 2, 3, 5, 4, size)], mbps=8 / 6 / 16 * 10)
    assert found.reasons == ()
    assert found.progress == pytest.approx(1, abs=0.01)
    assert [one.fluid_s for one in found.flows] == pytest.approx([4, 4], abs=1e-3)
    assert found.flows[0].completion_s == pytest.approx(4)
    every, large = found.completion
    assert (every.size_class, every.flows, large.size_class) == ("all", 2, "medium")
    assert every.mean_slowdown == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("network", [{"oversubscribe": 4.0}, {"topology": "leaf-spine:4,2,4", "oversubscribe": 8.0}])
def test_a_flow_alone_on_slower_links_has_a_slowdown_of_1(network):
    spec = RunSpec("ecmp", POISSON.traffic, seconds=SECONDS, link_mbps=10, scale_sizes=False, **network)
    path = [placed(BEGIN + 3, 1, 0, 4, 20_000), placed(BEGIN + 8, 2, 0, 1, 20_001)]
    slow, fast = (flow(n, 0, dst, start, took, round(PAYLOAD)) for n, dst, start, took in ((0, 4, 3, 4), (1, 1, 8, 1)))
    found = MeasuredRun(spec, observation([slow, fast], events=path))
    assert found.fair.end - [3, 8] == pytest.approx([4, 1], abs=1e-3)
    assert found.completion[0].p99_slowdown == pytest.approx(1, abs=0.01)


def test_two_that_share_are_not_slow_but_one_alone_that_takes_twice_as_long_is():
    size = round(3 * PAYLOAD)
    together = [flow(0, 0, 1, 3, 6, size), flow(1, 2, 1, 3, 6, size)]
    assert judged(together, mbps=6 / 8 / 16 * 10).progress == pytest.approx(1, abs=0.01)
    alone = judged(together[:1], mbps=6 / 8 / 16 * 10)
    assert alone.progress == pytest.approx(0.5, abs=0.02)
    assert "allowed 50% of the time" in alone.reasons[0]


def test_what_the_end_cut_off_counts_and_is_no_fault():
    inside = [flow(0, 0, 1, 3, 1, 100_000), flow(1, 2, 3, 4, None, 10**9, "cut off")]
    found = judged(inside, mbps=1.0)
    assert found.reasons == ()
    every = found.completion[0]
    assert (every.flows, every.cut_off) == (2, 1)
    outside = [flow(2 + n, 4, 5 + n, start, 0.1, 9_000) for n, start in enumerate((0.5, SECONDS + 0.5))]
    assert judged([*inside, *outside], mbps=1.0).completion[0].flows == 2, "due before and after the window"
    assert every.p99_s > 8 + 10**9 / 2 / PAYLOAD * 0.98, "the least that it can have taken"
    assert [one.how for one in found.flows] == ["done", "cut off"]


def test_a_shuffle_is_measured_over_its_own_time():
    size = round(PAYLOAD / 2)
    flows = [flow(2 * src + n, src, (src + 1 + n) % 16, 2 * n, 1, size) for src in range(16) for n in range(2)]
    found = judged(flows, SHUFFLE, mbps=5.0)
    assert found.window_s == pytest.approx((0.5, 2.5), abs=0.01)
    assert (found.turns.shuffle_s, found.turns.host_completion_s) == pytest.approx((3, 3))
    assert found.turns.goodput_mbytes_per_s == pytest.approx(2 * size / 3e6, abs=1e-5)
    flows[3].sent = None
    assert judged(flows, SHUFFLE, mbps=5.0).turns.shuffle_s is None
    # Hosts 0 and 2 send 1 byte and 3, each in 2 s after the beginning: 2 bytes on average, 1 byte/s.
    found = judged([flow(0, 0, 1, 0, 2, 1), flow(1, 2, 1, 0, 1, 1), flow(2, 2, 3, 0, 2, 2)], SHUFFLE)
    assert found.turns.goodput_mbytes_per_s == 1e-6


def test_what_was_sent_again_though_no_queue_had_dropped_it_arrives_twice():
    flows, mbps = [flow(0, 0, 1, 3, 4, round(2 * PAYLOAD))], 1.0

    def find_rule(sent_again, dropped):
        seen = {"tcp": Counter(retransmitted_segments=sent_again), "drops": {f"{NonBlocking.SWITCH}-eth2": dropped}}
        result = make_result(POISSON, observation(flows, mbps=mbps, **seen))
        return next(rule.measured for rule in result.rules if rule.rule == "counters")

    # 600 frames of 1514 bytes in 12 s, of 16 Mb/s that were counted.
    expected = 600 * 1514 * 8e-6 / SECONDS / 16
    assert find_rule(400, 400) - find_rule(1000, 400) == pytest.approx(expected, abs=2e-4)  # rules have four digits
    assert find_rule(400, 1000) == find_rule(0, 0), "what was dropped and not yet sent again takes nothing away"


def test_the_controllers_work_is_counted_while_traffic_runs():
    alive = [{"t": BEGIN + t, "event": "alive", **dict.fromkeys(COUNTED, 10.0 + 2 * max(t, 0))} for t in range(-2, 11)]
    seen = observation([], events=alive, tcp=Counter(timeouts=3))
    found = measure_costs(seen, [], 10.0)
    assert found["controller_percent"] == 200
    assert found["packet_ins_per_s"] == found["statistics_bytes_per_s"] == 2
    assert found["timeouts"] == 3
    assert "moves" not in found
    for some in (alive[:2], alive[4:]):  # nothing that it counted while traffic ran, or nothing to count from
        assert "controller_percent" not in measure_costs(observation([], events=some), [], 10.0)


def test_a_move_is_timed_from_the_flows_start():
    """Flow 0 is found large 3 s after the beginning, and moved half a second later."""
    reroute = {"t": BEGIN + 3.5, "event": "reroute", "key": 5, "core": 1, "round": 1}
    events = [placed(BEGIN + 1, 5, 0, 4, 20_000), round_of(BEGIN + 3, 5), reroute]
    seen = observation([flow(0, 0, 4, 1, 10, 10_000_000)], events=events)
    found = measure_costs(seen, measure_flows(seen, 1500, lasts=False), 10.0)
    assert (found["moved_flows"], found["moves"]) == (1, 1)
    assert (found["detected_after_s"], found["moved_after_s"]) == (2, 2.5)


def test_kernels_that_lack_a_counter_are_read_all_the_same():
    text = "Ip: A B\nIp: 1 2\nTcp: RetransSegs X\nTcp: 7 1\nTcpExt: TCPOFOQueue\nTcpExt: 4\n"
    assert parse_counters(text) == {"retransmitted_segments": 7, "segments_out_of_order": 4}


@pytest.mark.parametrize(("lasts", "judges"), [(0.505, True), (0.495, False)])
def test_flows_that_have_to_take_half_a_second_judge_and_shorter_ones_do_not(lasts, judges):
    found = judged([flow(n, 2 * n, 2 * n + 1, 3, lasts, round(lasts * PAYLOAD)) for n in range(3)], mbps=0.1)
    assert (found.progress is not None) is judges
    if not judges:
        (rule,) = [one for one in found.rules if one.rule == "full links"]
        assert rule.why_not == "flows come and go, and none of them has to take 0.5 s"


@pytest.mark.parametrize(("unknown", "doubts"), [(1, 0), (2, 1)])
def test_of_one_flow_in_a_hundred_the_path_may_be_unknown(unknown, doubts):
    spec = replace(POISSON, scheme="ecmp")
    flows = [flow(n, n % 15, n % 15 + 1, 3, 1, 100_000) for n in range(100)]
    events = [placed(BEGIN + 3, n, one.src, one.dst, one.src_port) for n, one in enumerate(flows[unknown:])]
    seen = observation(flows, events=events)
    outcome = MeasuredRun(spec, seen)
    assert len([one for one in outcome.reasons() if "does not know the paths" in one]) == doubts


@pytest.mark.parametrize(("late", "doubts"), [(0.099, 0), (0.101, 1)])
def test_half_of_the_flows_may_begin_a_tenth_of_a_second_late_and_programs_that_ended_are_named(late, doubts):
    flows = [flow(n, 2 * n, 2 * n + 1, 3, 4, round(4 * PAYLOAD), late=late if n else 0.0) for n in range(3)]
    fields = {"troubles": ["the program of host 3 ended"], "clock_moved_s": -2.5 * late}
    dead, *found = judged(flows, mbps=12 / 6 / 16 * 10, **fields).reasons
    assert dead == "the program of host 3 ended"
    clock = "this machine's clock was set during the run: it moved by -0.25 s"
    assert found == [clock, "the machine was too slow: half of the flows began 0.10 s late or more"] * doubts


HEDERA = RunSpec("hedera-gff", "stride:4", seconds=SECONDS, link_mbps=10, interval_s=2.0, time="real")


@pytest.mark.parametrize(
    ("spec", "ended_at_took", "restarted", "share"),
    [
        pytest.param(HEDERA, [(t, 0.1) for t in (1, 3, 5, 7, 9, 11)], {}, 1, id="all"),
        pytest.param(HEDERA, [(2.1, 2.0), (4.4, 2.1), (13, 1.5)], {}, 2 / 6, id="one too long; one that began in time"),
        pytest.param(HEDERA, [(-0.1, 0.1), (12.2, 0.1)], {}, 0, id="before and behind the traffic"),
        pytest.param(HEDERA, [(5, 2.2)], {}, 0, id="longer than a period"),
        pytest.param(HEDERA, [(9, 0.1), (11, 0.1)], {"ready": 4}, 2 / 3, id="a follower has a period until its first"),
        pytest.param(HEDERA, [(2, 0.1)], {"ready": 11}, None, id="none was due"),
        pytest.param(replace(HEDERA, scheme="ecmp"), [], {}, None, id="a scheme without rounds"),
        pytest.param(
            RunSpec("hedera-gff", "stride:4", seconds=SECONDS, link_mbps=10, time="virtual"),
            [],
            {},
            None,
            id="virtual time",
        ),
    ],
)
def test_rounds_that_were_done_in_time(spec, ended_at_took, restarted, share):
    events = [round_of(BEGIN + t, took=took) for t, took in ended_at_took]
    more = {}
    if restarted:
        events.append({"t": BEGIN + restarted["ready"], "event": "ready"})
        more["restarts"] = [Restart(BEGIN + 3, "ended (status -9)")]
    found = MeasuredRun(spec, observation([], events=events, **more)).rounds_done
    assert (None if found is None else found.share) == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(("lasted", "too_short"), [(0.4, True), (2.99, True), (3.01, False)])
def test_what_is_over_in_three_seconds_cannot_be_measured_and_nothing_else_is_said(lasted, too_short):
    flows = [flow(src, src, (src + 1) % 16, 0, lasted, round(lasted * PAYLOAD)) for src in range(16)]
    found = make_result(SHUFFLE, observation(flows, mbps=10.0)).reasons
    assert any(reason.startswith("all was sent after") for reason in found) is too_short
    assert len(found) == 1 or not too_short
    dead = make_result(SHUFFLE, observation(flows, mbps=10.0, dead_programs=["ovs-vswitchd"])).reasons
    assert dead[0] == "ovs-vswitchd ended during the run", "what went wrong goes first"


TREE = FatTree(4)
CORE_0 = parse("switch:4_1_1@1", TREE, 12).links(TREE)
EDGE = parse("switch:0_0_1@1", TREE, 12).links(TREE)
SPEC = RunSpec("ecmp", "stride:4", seconds=12, link_mbps=10, fail=("switch:4_1_1@4:8",))


def fair_mbps(flows, window, outages, topo=TREE):
    return compute_fair(topo, [one.routed for one in flows], window, 10, outages).total_mbps


def record(outages, flows, topo=TREE):
    recovery = Recovery(topo, SPEC, outages, flows)
    phases = recovery.phases(lambda window: 1.0, lambda window: fair_mbps(flows, window, outages, topo))
    return recovery, recovery.failures(), phases


def test_a_flow_on_what_fails_counts_nothing_until_it_is_moved_or_that_is_mended():
    flows = [measured(0, 4, (0, 0), (6, 1)), measured(2, 8, (0, 2))]
    outages = [Outage(4, CORE_0), Outage(8, frozenset())]
    assert fair_mbps(flows, (0, 4), outages) == pytest.approx(20)
    assert fair_mbps(flows, (4, 6), outages) == pytest.approx(10)
    assert fair_mbps(flows, (2, 10), outages) == pytest.approx(20 - 10 * 2 / 8)
    assert fair_mbps([measured(0, 4, (0, 0))], (2, 10), outages) == pytest.approx(5)


def test_hit_moved_and_moving_again():
    """The second's acknowledgements went by core 0."""
    flows = [
        measured(0, 4, (0, 0), (4.03, 1), back=[(0, 2)], mbps=(9, 9, 9, 9, 1, 0, 5, 9), start=0.05),
        measured(2, 8, (0, 2), back=[(0, 0), (4.2, 3)], mbps=(9, 9, 9, 9, 4, 9), start=0.2),
    ]
    recovery, failures, _ = record([Outage(4, CORE_0)], flows)
    (failure,) = failures
    assert failure == Failure(
        t=4,
        broken=tuple(f"{pod}_2_1-4_1_1" for pod in range(4)),
        mended=(),
        affected=2,
        cut_off=0,
        rerouted_s=0.2,
        # Until 4.06 s a queue may still have been emptied; the next second had nothing.
        moving_s=pytest.approx(3.05),
    )
    assert recovery.cut_off == set()


def test_a_flow_that_nobody_moves_or_only_after_the_next_event_is_not_moved():
    _, (failure,), _ = record(
        [Outage(4, CORE_0)], [measured(0, 4, (0, 0), (4.5, 0), back=[(0, 1)], mbps=(9, 9, 9, 9, 0, 0, 0))]
    )
    assert (failure.rerouted_s, failure.moving_s) == (None, None)
    later = [measured(0, 4, (0, 0), (9, 1), back=[(0, 1)], mbps=[9])]
    assert record([Outage(4, CORE_0), Outage(8, frozenset())], later)[1][0].rerouted_s is None


def test_hosts_without_a_path_are_cut_off_and_awaited_when_it_is_mended():
    flows = [
        measured(0, 4, (0, 0), back=[(0, 0)], mbps=(9, 9, 9, 9, 0, 0, 0, 0, 0, 3), start=0.5),
        measured(8, 12, (0, 0), back=[(0, 0)], mbps=[9] * 10),
    ]
    recovery, failures, phases = record([Outage(4, EDGE), Outage(8, frozenset())], flows)
    broken, mended = failures
    assert (broken.affected, broken.cut_off, broken.rerouted_s, broken.moving_s) == (1, 1, None, None)
    assert (mended.affected, mended.moving_s) == (0, 2.5)
    assert recovery.cut_off == {"0 to 4"}
    assert [phase.best_mbps for phase in phases] == pytest.approx([20, 10, 20])
    assert [phase.maxmin_mbps for phase in phases] == pytest.approx([20, 10, 20])
    assert [(phase.from_s, phase.to_s) for phase in phases] == [(2, 4), (4, 8), (8, 10)]
    below = record([Outage(4, EDGE)], [measured(0, 1, (0, 0), back=[(0, 0)], mbps=[9])])[0]
    assert below.cut_off == {"0 to 1"}, "two hosts below one switch"


def test_the_control_is_spared():
    recovery, failures, phases = record([], [measured(0, 4, mbps=[9])], topo=NonBlocking(16))
    assert failures == ()
    assert [phase.best_mbps for phase in phases] == pytest.approx([10])
    assert recovery.cut_off == set()


def test_flows_that_come_and_go_are_asked_when_they_were_there():
    """One that stays, one that had ended before, one that ends too soon after to be asked, one that began later."""
    lives = [(0.0, 12.0), (0.0, 3.0), (0.0, 5.0), (6.0, 12.0)]
    flows = [measured(0, 4, (0, 0), (4.03, 1), back=[(0, 2)], mbps=[9] * 12, life=lives[0])]
    flows += [measured(1, 5, (0, 0), back=[(0, 2)], mbps=[9] * 12, life=life) for life in lives[1:]]
    recovery = Recovery(TREE, SPEC, [Outage(4, CORE_0)], flows)
    (failure,) = recovery.failures()
    assert (failure.affected, failure.rerouted_s) == (1, 0.03)
    found = recovery.phases(lambda window: 5.0, lambda window: 7.0)
    assert {(phase.maxmin_mbps, phase.best_mbps) for phase in found} == {(7.0, None)}
