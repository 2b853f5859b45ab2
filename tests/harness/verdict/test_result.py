"""From raw observations to numbers, on a small made-up run whose answers can be worked out by hand."""

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from harness.cli import cli
from harness.run.controller import LOG, Restart
from harness.run.observation import OBSERVATION_FILE, SAMPLES, Observation, Outage, read_observation, write_observation
from harness.run.traffic import EmulatedFlow
from harness.verdict.flows import group_paths
from harness.verdict.result import judge_files, make_result
from record import run as record
from record.errors import TRACEBACK, RunFailed
from record.run import Restart as Restarted
from record.spec import RunSpec
from tests.harness.verdict.fine import on_the_wire, placed
from topos.network import NonBlocking
from traffic.programs import FlowReport, Interval, Series

SPEC = RunSpec(scheme="nonblocking", traffic="stride:1", seconds=6, link_mbps=10)
BEGIN = 1000.0


def series(out, incoming=0.0, seconds=6):
    t = BEGIN + np.arange(1, seconds + 1)
    return Series(t, np.full(seconds, float(out)), np.full(seconds, float(incoming)))


def observation(rate=10.0, seconds=6, mtu=1500):
    flows = []
    payload = rate / on_the_wire(mtu)
    for src in range(16):
        intervals = tuple(Interval(s, s + 1, int(payload * 125_000), payload * 1e6) for s in range(seconds))
        report = FlowReport("", 20_000 + src, "", intervals, Interval(0, seconds, 0, payload * 1e6))
        flows.append(EmulatedFlow(src, (src + 1) % 16, 20_000 + src, started=BEGIN, report=report))
    ports = {f"{NonBlocking.SWITCH}-eth{host + 1}": series(rate, rate, seconds) for host in range(16)}
    return Observation(begin=BEGIN, series=ports, flows=flows, cpu_times=[BEGIN + 1], cpu_idle=[50.0])


@pytest.mark.parametrize("mtu", [576, 1500, 9000])
def test_payload_and_counters_agree_at_every_packet_size(mtu):
    assert make_result(replace(SPEC, mtu=mtu), observation(mtu=mtu)).reasons == ()


def test_the_packet_size_decides_what_payload_is_on_the_wire():
    assert "more than 5% apart" in make_result(replace(SPEC, mtu=576), observation(mtu=9000)).reasons[0]


def test_the_number_is_the_sum_of_receive_rates_over_the_middle_two_thirds():
    seen = observation()
    result = make_result(SPEC, seen)
    assert result.bisection_mbps == pytest.approx(160)
    assert result.maxmin_mbps == pytest.approx(160)
    assert result.verdict == "ok"
    assert result.rates.t == (1, 2, 3, 4, 5, 6)
    assert result.rates.total_mbps == pytest.approx((160,) * 6)
    assert result.flows[0].window_mbps == pytest.approx(10 / on_the_wire(), abs=1e-3)
    for one in seen.series.values():
        one.out_mbps[[0, 5]] = 0
    assert make_result(SPEC, seen).bisection_mbps == pytest.approx(160)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"events": [{"event": "error", "message": "boom", "t": 1.0}]}, "the controller reported an error: boom"),
        ({"controller_lost": "the controller ended (status -9)"}, "the controller ended (status -9)"),
    ],
)
def test_what_went_wrong_beside_the_flows_is_a_reason(seen, said):
    (reason,) = make_result(SPEC, msgspec.structs.replace(observation(), **seen)).reasons
    assert said in reason


def test_links_that_are_not_full_are_named_and_half_of_them_are_too_many():
    def run(slow):
        seen = observation(seconds=12)
        for host in range(slow):
            seen.series[f"{NonBlocking.SWITCH}-eth{host + 1}"].out_mbps[6:] = 9.0
            seen.series[f"{NonBlocking.SWITCH}-eth{host + 1}"].in_mbps[6:] = 9.0
        return make_result(replace(SPEC, seconds=12), seen)

    result = run(slow=3)
    assert result.full_links.window_s == (5, 10)
    assert len(result.full_links.mbps) == 32
    assert result.full_links.mbps[f"{NonBlocking.SWITCH}-eth3"] == pytest.approx(9.2)
    assert result.verdict == "ok"
    (reason,) = run(slow=9).reasons
    assert "half of the 32 links that have to be full carried less than 92.0% of their rate" in reason


def test_a_host_that_was_not_sampled_ends_it():
    seen = observation()
    del seen.series["0_0_1-eth3"]
    with pytest.raises(RunFailed, match="0_1_2"):
        make_result(SPEC, seen)


def test_acknowledgements_are_no_flows_of_the_matrix():
    events = [
        placed(5.0, 1, 0, 4, 20_000, core=2),
        placed(5.1, 2, 4, 0, 5001, 20_000, core=1),
        {"event": "reroute", "key": 1, "core": 3, "t": 7.0},
        {"event": "reroute", "key": 2, "core": 3, "t": 7.0},
    ]
    assert group_paths(events) == {(0, 4, 20_000): [(5.0, 2), (7.0, 3)]}


def fat_tree_observation(spec):
    """Every flow of stride:4 on core 1 at a quarter of the rate; port names as on the fat-tree."""
    tree = spec.network()
    seen = observation(rate=5.0)
    for src, flow in enumerate(seen.flows):
        flow.dst = (src + 4) % 16
    ends = [(flow.src, flow.dst, flow.src_port, 5001) for flow in seen.flows]
    ends += [(flow.dst, flow.src, 5001, flow.src_port) for flow in seen.flows]
    seen.events = [placed(BEGIN, key, *each, core=1) for key, each in enumerate(ends)]
    ports = {link.lower: f"{link.upper}-eth{link.upper_port}" for link in tree.links()}
    seen.series = {ports[host]: series(5.0, 5.0) for host in tree.hosts}
    return seen


def test_failures_are_told_with_the_result_and_nobody_without_a_path_is_blamed():
    spec = RunSpec("ecmp", "stride:4", seconds=6, link_mbps=10, fail=("switch:0_0_1@2:4",))
    seen = fat_tree_observation(spec)
    seen.unfinished = ["0 to 4 (2 s)", "13 to 1", "2 to 6"]
    (fault,) = spec.faults
    seen.outages = [Outage(2.01, fault.links(spec.network())), Outage(4.02, frozenset())]
    result = make_result(spec, seen)
    assert [failure.cut_off for failure in result.failures] == [4, 0]
    assert len(result.phases) == 3
    assert [reason for reason in result.reasons if "from start to end" in reason] == [
        "1 flows did not run from start to end: 2 to 6"
    ]


def test_a_controller_that_was_restarted_is_in_the_record():
    seen = observation()
    seen.restarts = [Restart(BEGIN + 3, "ended (status -9)")]
    seen.events = [
        {"event": "ready", "t": BEGIN - 1},
        {"event": "ready", "t": BEGIN + 4.5},
        placed(BEGIN + 4, 1, 0, 1, 5001, 20_000, reason="adopted"),
    ]
    result = make_result(SPEC, seen)
    assert result.verdict == "ok"
    assert result.controller_restarts == (Restarted(t=3, reason="ended (status -9)", ready_t=4.5, adopted=1),)


def write_raw(seen, folder):
    """The files that leave a guest."""
    (folder / LOG).write_text("".join(json.dumps(event) + "\n" for event in seen.events))
    seen.log_bytes = (folder / LOG).stat().st_size
    with (folder / LOG).open("a") as log:
        log.write('{"event": "error", "message": "after the run", "t": 1.0}\n')
    with (folder / SAMPLES).open("w") as samples:
        for port, one in seen.series.items():
            for t, out, into in zip([BEGIN, *one.t], [0, *one.out_mbps], [0, *one.in_mbps], strict=True):
                samples.write(f"{t};{port};{out * 125_000};{into * 125_000}{';0' * 12}\n")
    write_observation(seen, folder)


def test_what_was_seen_is_judged_elsewhere_as_it_would_be_where_it_was_seen(tmp_path):
    """Every number comes out of the files as it went into them."""
    spec = RunSpec("ecmp", "stride:4", seconds=6, link_mbps=10, fail=("switch:0_0_1@2:4",))
    seen = fat_tree_observation(spec)
    seen.outages = [Outage(2.01, spec.faults[0].links(spec.network())), Outage(4.02, frozenset())]
    seen.drops, seen.cpu_idle, seen.environment = {"0_0_1-eth1": np.int64(7)}, [100 / 3], {"cores": 2}
    write_raw(seen, tmp_path)
    emptied = msgspec.structs.replace
    assert emptied(read_observation(tmp_path), series={}) == emptied(seen, series={})
    here = msgspec.structs.replace(make_result(spec, seen), environment={"cores": 2}, started=None)
    there, here = (msgspec.json.encode(run, enc_hook=float) for run in (judge_files(spec, tmp_path), here))
    assert msgspec.json.decode(there) == msgspec.json.decode(here)


def test_a_run_that_cannot_be_judged_does_not_count_and_says_why(tmp_path):
    write_observation(Observation(begin=BEGIN), tmp_path)
    without = judge_files(SPEC, tmp_path)
    assert without.verdict == "invalid"
    assert "bwm-ng" in without.reasons[0]
    for name in (LOG, SAMPLES):
        (tmp_path / name).touch()
    run = judge_files(SPEC, tmp_path)
    assert run.verdict == "invalid"
    assert "no samples" in run.reasons[0]
    assert (tmp_path / TRACEBACK).exists()
    (tmp_path / OBSERVATION_FILE).unlink()
    with pytest.raises(ValueError, match="what was seen"):
        judge_files(SPEC, tmp_path)


def test_kept_runs_are_judged_again_by_their_raw_files(tmp_path, capsys):
    """Only what would be judged otherwise today is written, and of that only what the judge says."""
    spec = replace(SPEC, time="virtual", platform="os-ken").for_its_traffic()
    for name in ("as-judged", "otherwise", "without"):
        (tmp_path / name).mkdir()
        write_raw(observation(), tmp_path / name)
        judged_so = msgspec.structs.replace(judge_files(spec, tmp_path / name), key="0" * 16, environment={"cores": 1})
        if name == "otherwise":
            judged_so = msgspec.structs.replace(judged_so, verdict="invalid", reasons=("a rule of before",))
        record.write(tmp_path / name / "run.json", judged_so)
    (tmp_path / "without" / OBSERVATION_FILE).unlink()
    before = {path.parent.name: path.read_bytes() for path in tmp_path.glob("*/run.json")}
    cli.main(["report", "--judge", str(tmp_path)], standalone_mode=False)
    out, err = capsys.readouterr()
    after = {path.parent.name: path.read_bytes() for path in tmp_path.glob("*/run.json")}
    assert [name for name in after if after[name] != before[name]] == ["otherwise"]
    assert record.decode(after["otherwise"]) == record.decode(after["as-judged"])
    assert [name for name in after if name in err] == ["without"]
    assert "otherwise/run.json: invalid, now ok" in out
