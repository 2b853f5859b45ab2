import pytest

from plots.load import load_sweep
from plots.report.tallies import environment, overheads, required, settings, validity
from tests.plots.sweeps import failed, rounds, run_document, store

INVALID = {"verdict": "invalid", "reasons": ["slow"]}


def test_environments_that_differ_are_counted(tmp_path):
    for trial, kernel in ((1, "6.1"), (2, "6.1"), (3, "6.2")):
        store(tmp_path, run_document(trial=trial, environment={"kernel": kernel, "tools": {"iperf": "2.1"}, "x": None}))
    runs = load_sweep(tmp_path).runs
    assert environment(runs) == [
        ("kernel", [("6.1", 2), ("6.2", 1)]),
        ("tools: iperf", [("2.1", 3)]),
        ("x", [("none", 3)]),
    ]
    assert dict(settings(runs))["--bw"] == "10"


def test_the_rules_of_a_run(tmp_path):
    rules = [{"rule": "full links", "kept": True, "found": 0.98, "least": 0.97}]
    store(tmp_path, run_document(trial=1, rules=rules))
    store(tmp_path, run_document(trial=2))
    one, other = load_sweep(tmp_path).runs
    assert required(one) == [["full links", True, 0.98, "at least 0.97", ""]]
    assert required(other) == []


def test_validity_by_scheme(tmp_path):
    idle = {"t": [1, 2], "idle_percent": [50, 20]}
    rates = {"scheme": "ecmp", "maxmin_mbps": 100.0, "cpu": idle}
    store(tmp_path, run_document(trial=1, bisection_mbps=80.0, **rates))
    store(tmp_path, run_document(trial=2, bisection_mbps=60.0, **rates, **INVALID))
    store(tmp_path, failed(scheme="ecmp", trial=3))
    (row,) = validity(load_sweep(tmp_path).runs, ["ecmp"])
    assert (row["valid"], row["runs"]) == (1, 3)
    assert row["of_maxmin"] == pytest.approx((0.6, 0.7, 0.8))
    assert row["least_idle"] == (0.2, 0.2, 0.2)


def test_overhead_over_all_runs(tmp_path):
    store(tmp_path, run_document(scheme="hedera-gff", trial=1, rounds=rounds((2, 0), (4, 9), (6, 2))))
    store(tmp_path, run_document(scheme="hedera-gff", trial=2, rounds=rounds((2, 7), (4, 0)), **INVALID))
    store(tmp_path, run_document(scheme="ecmp"))
    (found,) = overheads(load_sweep(tmp_path).runs)
    assert (found["scheme"], found["runs"], found["rounds"], found["idle_rounds"]) == ("hedera-gff", 2, 5, 2)
    assert (found["first_changes"], found["later_changes"], found["runs_with_later_changes"]) == (16, 2, 1)
    assert found["ms"]["total"].median == 10
    assert found["ms"]["polled"].maximum == 5
    assert found["interval_s"] == 2
    assert found["interval_share"] == pytest.approx(0.005)


def test_rounds_whose_times_were_not_stored(tmp_path):
    store(tmp_path, run_document(scheme="hedera-gff", rounds=[{"t": 2, "large": 3, "changed": 1}]))
    (found,) = overheads(load_sweep(tmp_path).runs)
    assert found["ms"] == {}
    assert found["interval_share"] is None
