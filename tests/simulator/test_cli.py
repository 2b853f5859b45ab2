import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import ttest_rel

from simulator.cli import simulate
from simulator.config import Config
from simulator.driver import measure_bisection
from tests.commands import PATIENCE_S, hedera


@pytest.fixture
def alone(monkeypatch):
    """One processor: trials are simulated in this process, as no worker has to import everything."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})


def run(*arguments):
    return CliRunner().invoke(simulate, [str(a) for a in arguments])


def found_by(*arguments):
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_json_is_one_object_with_the_agreed_keys():
    found = found_by("--scheme", "hedera-gff", "--traffic", "published:rand0", "--seconds", 12)
    assert {"scheme", "traffic", "bisection_mbps", "capacity_mbps", "verdict", "reasons", "flows"} <= set(found)
    assert found["verdict"] == "ok"
    assert found["reasons"] == []
    assert found["capacity_mbps"] == 16_000
    assert {"src", "dst", "mbps"} <= set(found["flows"][0])
    assert sum(flow["mbps"] for flow in found["flows"]) == pytest.approx(found["bisection_mbps"], abs=0.1)
    expected = measure_bisection(Config("hedera-gff", "published:rand0", seconds=12.0))
    assert found["bisection_mbps"] == pytest.approx(expected, abs=0.001)
    assert len(found["total_mbps_per_second"]) == 12


def test_another_hash_is_told_by_the_scheme_s_name():
    options = ("--traffic", "published:stride4", "--seconds", 6, "--engine", "maxmin")
    found = found_by("--scheme", "ecmp", "--hash", "crc32:5-tuple", *options)
    assert found["scheme"] == "ecmp@crc32:5-tuple"
    assert found["bisection_mbps"] == found_by("--scheme", "ecmp@crc32:5-tuple", *options)["bisection_mbps"]
    for scheme, hash, says in (
        ("ecmp", "crc:all", "there is no hash 'crc:all'"),
        ("random", "xor:5-tuple", "by a hash"),
    ):
        done = run("--scheme", scheme, "--hash", hash, *options)
        assert (done.exit_code, says in done.output) == (2, True)


def test_json_of_flows_that_come_and_go_has_their_times():
    options = ("--scheme", "ecmp", "--traffic", "poisson:exponential:2000000,0.03 to randbij", "--seconds", 6)
    found = found_by(*options, "--engine", "maxmin")
    assert found["completed"] > 10
    assert found["mean_completion_s"] > 0
    ended = [flow for flow in found["flows"] if flow["end_s"] is not None]
    assert len(ended) == found["completed"]
    assert all(flow["end_s"] > flow["start_s"] for flow in ended)


def test_what_is_recorded_gives_the_same_completion_times(tmp_path):
    options = ("--scheme", "ecmp", "--seconds", 2, "--bw", 100)
    recorded = tmp_path / "flows.csv"
    traffic = "stride:4 + poisson:web-search,0.3"
    first, again = (
        found_by(*options, *more)
        for more in (("--traffic", traffic, "--record", recorded), ("--traffic", f"file:{recorded}"))
    )
    assert first["completion"] == again["completion"]
    assert first["completion"][0]["flows"] > 100
    assert first["config"]["scale_sizes"]
    assert first["flows"] == again["flows"]


def test_a_lower_link_rate_takes_its_increase_along_and_without_json_the_result_is_told_in_words():
    options = ("--scheme", "nonblocking", "--traffic", "stride:1", "--bw", 10)
    assert found_by(*options)["bisection_mbps"] == pytest.approx(125.33, abs=0.02)
    assert "125.3 Mb/s" in run(*options).stdout


def test_a_call_with_json_imports_no_drawing():
    code = (
        "import sys; from simulator.cli import simulate;"
        "simulate(['--scheme', 'ecmp', '--traffic', 'stride:1', '--seconds', '1', '--json'], standalone_mode=False);"
        "assert 'matplotlib' not in sys.modules; assert 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)


def test_large_flows_may_be_those_that_are_measured_alone():
    arguments = ["--scheme", "hedera-gff", "--traffic", "random", "--flows-per-host", 8, "--seconds", 12]
    rounds = {}
    for rule in ("measured", "measured-or-estimated"):
        found = found_by(*arguments, "--large-flows", rule)
        assert found["config"]["large_flows"] == rule
        rounds[rule] = sum(one["large"] for one in found["rounds"])
    assert 0 < rounds["measured"] < rounds["measured-or-estimated"]


@pytest.mark.usefixtures("alone")
def test_trials_are_runs_with_seeds_of_their_own_and_their_intervals(tmp_path):
    options = ("--scheme", "ecmp", "--traffic", "poisson:web-search,0.3", "--seconds", 2, "--seed", 4)
    found = found_by(*options, "--trials", 3)
    alone = [found_by(*options[:-1], seed) for seed in (4, 5, 6)]
    assert [one["flows"] for one in found["runs"]] == [one["flows"] for one in alone]
    values = [one["bisection_mbps"] for one in alone]
    assert found["bisection_mbps"] == pytest.approx(np.mean(values), abs=0.01)
    half = 4.302653 * np.std(values, ddof=1) / np.sqrt(3)
    assert found["high_bisection_mbps"] - found["bisection_mbps"] == pytest.approx(half, rel=1e-3)
    for n, row in enumerate(found["completion"]):
        assert row["p99_s"] == pytest.approx(np.mean([one["completion"][n]["p99_s"] for one in alone]))
        assert row["low_p99_s"] < row["p99_s"] < row["high_p99_s"]
    assert [row["size_class"] for row in found["completion"]] == ["all", "small", "medium", "large"]
    words = run(*options, "--trials", 3).stdout
    assert f"{1000 * found['completion'][0]['median_s']:.3g} (" in words
    assert run(*options, "--trials", 3, "--record", tmp_path / "f.csv").exit_code != 0


@pytest.mark.slow
def test_what_was_made_of_a_graph_is_said_once_not_by_every_worker(tmp_path):
    """And as a sentence, whoever says it."""
    cables = [("s", "t"), *((f"h{host}", "st"[host // 2]) for host in range(4))]
    nodes = sorted({node for cable in cables for node in cable})
    graph = {"nodes": [{"id": node} for node in nodes], "links": [{"source": a, "target": b} for a, b in cables]}
    (tmp_path / "net.json").write_text(json.dumps(graph))
    options = ("--topology", tmp_path / "net.json", "--scheme", "ecmp", "--traffic", "stride:2", "--seconds", 1)
    done = hedera("simulate", *options, "--engine", "maxmin", "--trials", 3)
    assert done.returncode == 0
    assert done.stderr.count("named so") == 1
    assert "UserWarning" not in done.stderr


@pytest.mark.usefixtures("alone")
def test_trials_of_a_collective_tell_how_many_ended():
    options = ("--scheme", "ecmp", "--traffic", "ring:4,1000000", "--engine", "maxmin", "--trials", 3)
    assert "done in 3 of 3 seeds, after 0.012 (0.012 to 0.012) s" in run(*options).stdout
    done = run(*options, "--seconds", 0.01, "--tick", 0.0001, "--interval", 0.01).stdout
    assert "done in 0 of 3 seeds;" in done


BESIDE = ("--traffic", "randbij", "--seconds", 12, "--engine", "maxmin", "--trials", 3)


@pytest.mark.usefixtures("alone")
def test_schemes_beside_each_other_are_paired_by_seed():
    (row,) = found_by("--scheme", "hedera-sa", "--against", "ecmp", *BESIDE)["rows"]
    ours, others = (
        [measure_bisection(Config(name, "randbij", seconds=12.0, engine="maxmin", seed=n)) for n in (1, 2, 3)]
        for name in ("hedera-sa", "ecmp")
    )
    interval = ttest_rel(ours, others).confidence_interval(0.95)
    assert (row["measure"], row["scheme"], row["minus"]) == ("bisection_mbps", "hedera-sa", "ecmp")
    assert (row["trials"], row["difference"]) == (3, pytest.approx(np.mean(ours) - np.mean(others)))
    assert (row["from"], row["to"]) == pytest.approx(tuple(interval))


@pytest.mark.usefixtures("alone")
def test_a_scheme_stands_beside_all_that_are_named():
    shown = run("--scheme", "hedera-sa", "--against", "ecmp,hedera-gff", *BESIDE).stdout
    assert "3 seeds, 95 % intervals" in shown
    assert [line.split()[2] for line in shown.splitlines() if "  hedera-sa  " in line][-2:] == ["ecmp", "hedera-gff"]


def test_a_scheme_beside_itself_is_refused():
    assert "no other scheme" in run("--scheme", "ecmp", "--against", "ecmp", *BESIDE).output


@pytest.mark.usefixtures("alone")
def test_beside_each_other_traffic_that_ends_is_told_by_its_completion_times():
    options = ("--traffic", "poisson:web-search,0.4", "--seconds", 2, "--bw", 100, "--engine", "maxmin")
    rows = found_by("--scheme", "hedera-gff", "--against", "ecmp", *options)["rows"]
    assert {"all_median_s", "small_p99_s"} <= {row["measure"] for row in rows}
    assert all(row["from"] is None for row in rows), "one seed has no interval"
