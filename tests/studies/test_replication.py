"""The replication report's pictures: from a sweep, and simulated."""

from pathlib import Path

import pytest

from harness.sweep import SUITE_SCHEMES, SUITES
from simulator.config import Config
from simulator.driver import measure_bisection
from studies import replication
from studies.replication import PICTURES
from tests.plots.sweeps import store_rates, write_sweep
from tests.studies.commands import is_png, rows, run, run_json
from traffic.patterns import REPLICATION

EXAMPLE = Path(__file__).parents[2] / "docs/examples/report.py"


def test_the_pictures_are_of_the_suite_s_runs():
    """Each workload, and each scheme, is in two of the four."""
    patterns = [one.traffic.removeprefix("replication:") for one in SUITES["replication"](None)]
    drawn = [name for which in PICTURES.values() for name in replication.list_workloads(which)]
    assert patterns == list(REPLICATION)
    assert sorted(drawn) == sorted(2 * patterns)
    assert {scheme for which in PICTURES.values() for scheme in which.schemes} == set(
        SUITE_SCHEMES["replication"].split(",")
    )


def test_a_bar_is_the_median_of_valid_trials(tmp_path):
    store_rates(
        tmp_path,
        {
            ("replication:1xstride4", "ecmp"): [90, 100, 95],
            ("replication:1xstride4", "hedera-gff"): [150, None, 152],
            ("replication:2xrandbij3", "ecmp"): [120],
            ("stride:4", "ecmp"): [50],
        },
    )
    found = run_json(replication, "2", tmp_path)
    assert [(row["scheme"], row["trials"], row["median_mbps"]) for row in found] == [
        ("ecmp", 3, 95),
        ("hedera-gff", 2, 151),
    ], "neither another number of flows nor another pattern"
    assert rows(tmp_path / "replication2.csv")[0]["workload"] == "1xstride4"
    assert is_png(tmp_path / "replication2.png")


def test_whether_hedera_is_above_is_said_with_an_interval(tmp_path):
    write_sweep(tmp_path, ["replication:1xstride4"], ("ecmp", "hedera-gff", "nonblocking"), 3)
    done = run(replication, "2", tmp_path)
    assert done.exit_code == 0, done.output
    assert "hedera-gff in 1 of 1 patterns" in " ".join(done.stdout.split())


def test_simulated(tmp_path):
    """Of a spanning tree stride2 has half of stride1, stride4 and stride8 a quarter: the report's own observation."""
    short = ("--simulated", "--engine", "maxmin", "--seeds", 2, "--seconds", 6, "--jobs", 1, "--out", tmp_path)
    found = {(row["workload"], row["scheme"]): row for row in run_json(replication, "3", *short)}
    assert len(found) == 15 * 3
    assert [found[f"1xstride{n}", "spanning-tree"]["median_mbps"] for n in (1, 2, 4, 8)] == pytest.approx(
        [160, 80, 40, 40]
    )
    assert is_png(tmp_path / "replication3_simulated.png")


@pytest.mark.slow
def test_the_report_s_faults_cost_what_its_scheduler_would_gain():
    """Without both it reaches what nine receivers can get; neither is seen where there are no collisions."""
    fields = {"engine": "maxmin", "seconds": 24, "interval_s": 2, "link_mbps": 10}
    found = {
        (name, traffic): measure_bisection(Config(f"{EXAMPLE}:{name}", f"replication:{traffic}", **fields))
        for name in ("BothFaults", "EveryEntry", "ReservedAnew", "Mended")
        for traffic in ("1xstag1111(0.2,0.3)", "1xstride1")
    }
    assert [found[one] for one in found if one[1] == "1xstride1"] == pytest.approx([160] * 4)
    assert found["Mended", "1xstag1111(0.2,0.3)"] == pytest.approx(90)
    assert found["BothFaults", "1xstag1111(0.2,0.3)"] < found["EveryEntry", "1xstag1111(0.2,0.3)"] < 88
