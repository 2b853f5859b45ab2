"""One recorded workload on several backends, flow by flow."""

import json

import msgspec
import pytest
from click.testing import CliRunner

from benchmarks.flow_by_flow import compare, emulated, main
from results.parts import FlowRecord
from results.record import read
from tests.paper.commands import rows
from tests.paper.test_emulated import RUN, SETTINGS, write_run

QUICK = ("--seconds", 6, "--traffic", "poisson:fixed:200000,0.3", "--tick", 0.01)


def run(*arguments):
    return CliRunner().invoke(main, [str(one) for one in arguments])


def test_times_are_compared_by_class():
    sizes = {(0, n): size for n, size in enumerate([1e3, 1e4, 1e5, 2e5, 1e7])}
    first = {(0, 0): 2.0, (0, 1): 4.0, (0, 2): 8.0, (0, 3): 30.0}
    second = {(0, 0): 1.0, (0, 1): 2.0, (0, 2): 4.0, (0, 4): 60.0}
    every, small, medium, large = compare({"a": first, "b": second}, sizes)
    assert (every.size_class, every.both, every.first_alone, every.second_alone) == ("all", 3, 1, 1)
    assert (small.both, small.first_alone, small.second_alone) == (3, 0, 0)
    assert small.correlation == pytest.approx(1)
    assert (small.median_ratio, small.p10_ratio, small.p90_ratio) == pytest.approx((2, 2, 2))
    assert small.p90_factor == pytest.approx(2)
    assert (medium.both, medium.first_alone, medium.second_alone, medium.correlation) == (0, 1, 0, None)
    assert (large.both, large.second_alone, large.median_ratio) == (0, 1, None)


def test_slower_and_faster_are_as_far_apart():
    sizes = dict.fromkeys([(0, n) for n in range(4)], 1000.0)
    (every, _) = compare({"a": {f: 1.0 for f in sizes}, "b": {f: 2.0 + f[1] % 2 * -1.5 for f in sizes}}, sizes)
    assert every.p90_factor == pytest.approx(2)
    assert every.correlation is None, "all the same in one of them"


def test_both_engines_on_one_recorded_file(tmp_path):
    done = run(*QUICK, "--out", tmp_path)
    assert done.exit_code == 0, done.output
    flows = rows(tmp_path / "flows_compared.csv")
    assert len(flows) == len(rows(tmp_path / "flows.csv")) > 20
    assert {flow["emulated_s"] for flow in flows} == {""}
    every, medium = rows(tmp_path / "flow_by_flow.csv")
    assert (every["first"], every["second"], medium["size_class"]) == ("aimd", "maxmin", "medium")
    ratios = [float(flow["aimd_s"]) / float(flow["maxmin_s"]) for flow in flows if flow["aimd_s"] and flow["maxmin_s"]]
    assert len(ratios) == int(every["both"])
    assert float(every["p10_ratio"]) <= sorted(ratios)[len(ratios) // 2] <= float(every["p90_ratio"])
    assert "aimd / maxmin" in done.stdout


def test_an_emulated_run_of_that_file(tmp_path):
    run(*QUICK, "--out", tmp_path)
    spec = msgspec.structs.replace(SETTINGS, seconds=6)
    engines = rows(tmp_path / "flows_compared.csv")
    flows = tuple(
        FlowRecord(
            src=int(one["src"]),
            dst=0,
            src_port=int(one["src_port"]),
            start=0.0,
            mbps=1.0,
            completion_s=1.5 * float(one["maxmin_s"]),
        )
        for one in engines
        if one["maxmin_s"]
    )
    traffic = f"file:{tmp_path / 'flows.csv'}"
    write_run(
        tmp_path / "emulated/run.json",
        scheme="ecmp",
        traffic=traffic,
        spec=spec,
        flows=flows,
        window_s=(1, 5),
    )
    done = run("--run", tmp_path / "emulated", "--tick", 0.01, "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    told = {(row["first"], row["second"], row["size_class"]): row for row in json.loads(done.stdout)["rows"]}
    against = told["emulated", "maxmin", "all"]
    assert (against["both"], against["first_alone"], against["second_alone"]) == (len(flows), 0, 0)
    assert against["median_ratio"] == pytest.approx(1.5)
    assert ("emulated", "aimd", "medium") in told


def test_a_port_used_twice_cannot_be_told_apart(tmp_path):
    twice = (FlowRecord(src=0, dst=1, src_port=7, completion_s=1.0, start=0.0, mbps=1.0),) * 2
    with pytest.raises(ValueError, match="used a source port twice"):
        emulated(read(write_run(tmp_path / "run.json", flows=twice)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--run", "nowhere/run.json"), "nowhere/run.json cannot be read: No such file"),
        (("--run", "nowhere", "--emulate"), "give one of them"),
        (("--traffic", "stride:1"), "flows of stride:1 last as long as the run"),
        (("--traffic", "poisson:web,0.5"), "no law of flow sizes"),
        (("--traffic", "poisson:web-search,1.5"), "at most 1"),
        (("--traffic", "shuffle:100000"), "flows that take turns"),
        (("--traffic", "poisson:fixed:10,0.5"), "100,000 is the limit"),
        (("--scheme", "foo"), "no scheme 'foo'"),
        (("-k", 3), "k"),
        (("--seconds", 0), "--seconds must be above 0 s"),
    ],
)
def test_mistakes_are_told_in_a_sentence(arguments, words, tmp_path):
    done = run(*arguments, "--out", tmp_path)
    assert done.exit_code == 2, done.output
    assert words in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.output


def test_a_run_without_flows_that_ended(tmp_path):
    done = run("--run", write_run(tmp_path / "run.json"), "--out", tmp_path)
    assert done.exit_code == 2
    assert "has no flow that ended" in done.stderr
    assert RUN.flows == ()
